"""The forest's expected improvement against SciPy. (Its contract:
test_sampled_contract.)"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from replibo.algorithms.base import Space
from replibo.algorithms.parts.candidates import Candidates
from replibo.algorithms.parts.refit import RefitSchedule
from replibo.algorithms.random_forest import RandomForest
from replibo.streams import RunStreams
from replibo.surrogates.forest import Forest

STREAMS = RunStreams("paper", "problem", "random_forest", 0)
FAST = {"trees": 20, "candidates": 64}


def test_proposal_is_the_maximiser_of_expected_improvement(hill) -> None:
    """EI by SciPy, of the forest fitted three observations ago; the incumbent is one of those three."""
    history = hill.initial(3, 10, STREAMS)
    for x in np.random.default_rng(5).random((11, 3)):
        history.append(x, hill.objective(x))
    history.append(np.full(3, 0.37), 0.0)
    proposal = RandomForest(Space(3), STREAMS, trees=50, candidates=64, refit_growth=0.9).ask(
        history, 13
    )
    size = RefitSchedule(0.9).in_force(22, 10)
    assert size == 19
    y = history.y[:size]
    standardised = (y - y.mean()) / y.std(ddof=1)
    forest = Forest(history.X[:size], standardised, trees=50, rng=STREAMS.surrogate_at(size))
    X, _ = Candidates(Space(3), STREAMS, count=64, local_fraction=0.5).draw(history)
    mean, sd = forest.moments(X)
    gain = mean - (0.0 - y.mean()) / y.std(ddof=1) - 0.01
    improvement = gain * norm.cdf(gain / sd) + sd * norm.pdf(gain / sd)
    best = int(improvement.argmax())
    assert improvement[best] > 0
    np.testing.assert_array_equal(proposal.x, X[best])
    assert proposal.candidate == -1
    assert proposal.diagnostics == {
        "mean": pytest.approx(mean[best], rel=1e-9),
        "sd": pytest.approx(sd[best], rel=1e-9),
    }


def test_it_climbs(hill) -> None:
    """The best of four runs' 40 queries lies at half the height of the best initial point."""
    before, after = [], []
    for seed in range(4):
        streams = RunStreams("paper", "problem", "random_forest", seed)
        history = hill.initial(2, 5, streams)
        algorithm = RandomForest(Space(2), streams, trees=50)
        for t in range(1, 41):
            x = algorithm.ask(history, t).x
            history.append(x, hill.objective(x))
        before.append(history.y[:5].max())
        after.append(history.y.max())
        assert history.y[-10:].mean() > history.y[:5].mean()
    assert np.mean(after) > 0.5 * np.mean(before)
