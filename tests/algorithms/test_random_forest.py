"""The forest's expected improvement against SciPy, and when it is fitted."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from replibo.algorithms.base import Space
from replibo.algorithms.dngo import Dngo
from replibo.algorithms.parts.candidates import Candidates
from replibo.algorithms.parts.refit import RefitSchedule
from replibo.algorithms.random_forest import RandomForest
from replibo.streams import RunStreams
from replibo.surrogates.forest import Forest
from replibo.surrogates.tanh_network import TanhNetwork

STREAMS = RunStreams("paper", "problem", "random_forest", 0)


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


def test_where_all_trees_agree_everywhere_the_first_candidate_is_taken(hill) -> None:
    history = hill.initial(2, 5, STREAMS)
    history.y[:] = 5.0
    algorithm = RandomForest(Space(2), STREAMS, trees=10, candidates=64)
    proposal = algorithm.ask(history, 1)
    np.testing.assert_array_equal(proposal.x, algorithm.candidates.draw(history)[0][0])
    assert proposal.diagnostics == {"mean": 0.0, "sd": 0.0}


@pytest.mark.parametrize(
    ("algorithm", "fast", "surrogate", "name"),
    [(Dngo, {"epochs": 5}, TanhNetwork, "_see"), (RandomForest, {"trees": 5}, Forest, "__init__")],
)
def test_the_surrogate_is_fitted_by_the_schedule_only(
    hill, monkeypatch, algorithm, fast, surrogate, name
) -> None:
    sizes, fit = [], getattr(surrogate, name)

    def counted(self, X, *args, **settings):
        sizes.append(len(X))
        return fit(self, X, *args, **settings)

    monkeypatch.setattr(surrogate, name, counted)
    made = algorithm(Space(2), STREAMS, refit_growth=0.5, candidates=64, **fast)
    history = hill.initial(2, 4, STREAMS)
    for t in range(1, 12):
        x = made.ask(history, t).x
        history.append(x, hill.objective(x))
    assert sizes == [4, 6, 9, 14]
