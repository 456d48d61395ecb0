"""Random streams: every random number of a run comes from here.

A stream is named by words (paper, problem, role, seed), and its generator is seeded by the SHA-256
digest of the name; neither ``hash()`` nor a global generator is ever used. So a stream depends on
nothing but its name: not on the number of cores, the order of the runs or the block of seeds.

Roles:

``initial``
    the initial points; the algorithm is left out of the name, so that every algorithm starts from
    the same points;
``noise``
    the observation noise, one number per query; shared by all algorithms too (common random
    numbers);
``candidates``
    the points among which a sampled acquisition is maximised; shared by all algorithms, so that none
    searches better candidates than another (what they do with the incumbent is theirs);
``algorithm``
    everything that an algorithm draws; its name is part of the stream's name;
``surrogate``
    what a surrogate draws when it is fitted (initial weights, batches, bootstrap samples), so that a
    fit can be made again without the queries that followed it; the algorithm's name is part of it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np


def generator(*name: object) -> np.random.Generator:
    """The NumPy generator of the stream called ``name`` (any words and integers)."""
    digest = hashlib.sha256("\x1f".join(str(word) for word in name).encode()).digest()
    words = np.frombuffer(digest, dtype="<u4")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(words.tolist())))


@dataclass(frozen=True)
class RunStreams:
    """The random streams of one run."""

    paper: str
    problem: str
    algorithm: str
    seed: int

    def initial(self) -> np.random.Generator:
        """The stream of the initial points."""
        return generator(self.paper, self.problem, "initial", self.seed)

    def noise(self, query: int) -> np.random.Generator:
        """The stream of the noise of the ``query``-th query (0, 1, …; initial points included)."""
        return generator(self.paper, self.problem, "noise", self.seed, query)

    def algorithm_at(self, query: int) -> np.random.Generator:
        """The algorithm's stream for choosing the ``query``-th query (0, 1, …)."""
        return generator(self.paper, self.problem, "algorithm", self.algorithm, self.seed, query)

    def candidates(self, query: int) -> np.random.Generator:
        """The stream of the candidates among which the ``query``-th query is chosen."""
        return generator(self.paper, self.problem, "candidates", self.seed, query)

    def surrogate_at(self, n: int) -> np.random.Generator:
        """The stream of the fit of a surrogate to the first ``n`` observations (0: before any)."""
        return generator(self.paper, self.problem, "surrogate", self.algorithm, self.seed, n)
