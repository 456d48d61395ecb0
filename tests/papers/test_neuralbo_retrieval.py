"""NeuralBO's retrieval task: figure, table and claim from made runs, whose numbers are known."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from replibo.papers.neuralbo import retrieval as paper
from replibo.problems.retrieval import Retrieval

from .conftest import made_paper, outcomes, output, pair, runs_of, tuples

ALGORITHMS = {"neural_bo": "blue", "gp_ucb": "vermillion", "gp_ei": "orange", "dngo": "black"}
INITIAL, HORIZON = 3, 8
ENTRY = made_paper(
    {
        "retrieval": {"type": "retrieval.Retrieval", "label": "Amazon reviews"},
        "retrieval_tfidf": {"type": "retrieval.Retrieval", "label": "Amazon reviews, tf-idf"},
        "docstrings": {"type": "docstrings.Docstrings", "label": "Docstrings"},
        "ackley_10": {"type": "synthetic.Synthetic", "label": "Ackley, 10-D"},
    },
    ALGORITHMS,
    {"horizon": HORIZON},
)
FACTS = Retrieval().recorded()


def made_runs(scores, recorded=FACTS, stand_in=""):
    """Runs from (problem, algorithm) → scores, ``seeds x queries``; or the scores and their seeds."""
    pairs, times = [], {}
    for key, runs in scores.items():
        f, seeds = runs if isinstance(runs, tuple) else (runs, None)
        pairs.append(pair(key, f, 1 - INITIAL, seeds))
        queries, cpu = len(f) * (INITIAL + HORIZON), 0.5 * len(f) * HORIZON
        times["/".join(key)] = {"runs": len(f), "queries": queries, "cpu_seconds": cpu}
    facts = {"optimal_value": 1.0, "initial_points": INITIAL, "horizon": HORIZON}
    facts |= {"stand_in": stand_in, "dim": 500, "recorded": recorded}
    return runs_of(ENTRY, pairs, {p: facts for p, _ in scores}, timings=times)


def ending(final):
    """Runs that find their best score at the last query but one, and 0 otherwise."""
    f = np.zeros((len(final), INITIAL + HORIZON))
    f[:, -2] = final
    return f


# The corpus


def test_the_papers_counts_stand_beside_ours():
    """A file of the right shape that is not the paper's says so."""
    scores = {("retrieval", "neural_bo"): ending(np.ones(2))}
    printed = {**FACTS, "rows": 40_000, "documents": 37_738, "categories": [6, 64, 464]}
    same = paper.described(made_runs(scores, recorded=printed), "retrieval")
    assert same.endswith("These are the paper's 37,738 of 40,000 and 6, 64, 464.")
    other = paper.described(made_runs(scores, recorded={**printed, "rows": 39_999}), "retrieval")
    assert "WARNING: not the paper's 37,738 of 40,000 and 6, 64, 464; another corpus." in other
    generated = paper.described(made_runs(scores, stand_in="Made numbers."), "retrieval")
    assert "paper" not in generated


def test_the_corpus_of_docstrings_is_named():
    facts = {
        "versions": {"numpy": "2.4.6", "scipy": "1.17.1"},
        "digest": "0123456789abcdef" * 4,
        "documents": 4000,
        "pool": 3900,
        "categories": [2, 30, 400],
    }
    runs = made_runs({("docstrings", "neural_bo"): ending(np.ones(2))}, recorded=facts)
    assert paper.described(runs, "docstrings") == (
        "Docstrings: 4,000 documents, 2, 30, 400 categories on the levels from 1 on; the pool is the "
        "3,900 with different bags of words, without the target; each seed has a target of its own. "
        "Docstrings of numpy 2.4.6, scipy 1.17.1 (SHA-256 0123456789abcdef…)."
    )


@given(arrays(float, (4, 7), elements=st.sampled_from([0.0, 2 / 3, 1.0])))
def test_queries_to_the_best_by_counting(f):
    expected = [
        next((t for t, value in enumerate(row) if value == 1.0), np.inf) for row in f.tolist()
    ]
    np.testing.assert_array_equal(paper.queries_to_best(np.maximum.accumulate(f, axis=1)), expected)


# The table


def test_the_table():
    final = np.array([1.0, 1.0, 2 / 3, 1 / 3, 1.0, 2 / 3, 1.0, 1.0, 1.0, 0.0])
    scores = {
        ("retrieval", "neural_bo"): ending(final),
        ("retrieval", "gp_ucb"): ending(np.full(10, 2 / 3)),
        ("retrieval", "dngo"): ending([1.0]),
    }
    table = paper.retrieval_final(made_runs(scores), output())
    first, second, third = tuples(table)
    assert first[:4] == ("Amazon reviews", "NEURAL_BO", 10, HORIZON)
    assert first[4:6] == pytest.approx((final.mean(), final.std(ddof=1)))
    interval = scipy.stats.ttest_1samp(final, 0).confidence_interval(0.95)
    assert first[6:8] == pytest.approx((interval.low, 1.0)) and interval.high > 1.0  # cut off
    wilson = scipy.stats.binomtest(6, 10).proportion_ci(0.95, method="wilson")
    assert first[8:11] == pytest.approx((0.6, wilson.low, wilson.high))
    assert first[11:] == (HORIZON - 1, 0.5)  # six of ten at the last query but one
    assert second[11] is None
    assert second[4:9] == pytest.approx((2 / 3, 0.0, 2 / 3, 2 / 3, 0.0), abs=1e-12)
    assert third[2:9] == (1, HORIZON, 1.0, None, None, None, 1.0)
    assert table.shown().iloc[0, 8:].tolist() == ["60%", "31%", "83%", "7", "0.5"]
    assert "1 to 10 seeds" in table.caption and "documents" in table.caption


# The claim


NEURAL_BO, GP_UCB = ("retrieval", "neural_bo"), ("retrieval", "gp_ucb")
THIRDS = st.sampled_from([0.0, 1 / 3, 2 / 3, 1.0])


def compare(scores, baselines=("gp_ucb",)):
    options = {"problems": ["retrieval"], "algorithm": "neural_bo", "baselines": baselines}
    return paper.best_score_above(made_runs(scores), **options)


@given(arrays(float, st.tuples(st.just(2), st.integers(2, 10)), elements=THIRDS))
def test_the_outcome_is_that_of_a_paired_t_test(final):
    scores, rival = final
    (comparison,) = compare({NEURAL_BO: ending(scores), GP_UCB: ending(rival)})
    difference = scores - rival
    if np.ptp(difference) < 1e-9:
        expected = np.sign(np.round(difference[0], 9))
    else:
        p = scipy.stats.ttest_rel(scores, rival).pvalue / 2  # of one side
        expected = np.sign(difference.mean()) if p < 0.05 else 0.0
    assert comparison.outcome == {1.0: "supported", -1.0: "contradicted", 0.0: "open"}[expected]


def test_the_numbers_of_the_claim_and_what_was_not_run():
    scores = np.array([1.0, 1.0, 1.0, 2 / 3, 1.0, 1.0, 2 / 3, 1.0, 1.0, 1.0])
    comparisons = compare(
        {
            NEURAL_BO: ending(scores),
            GP_UCB: ending(scores - 1 / 3),
            ("retrieval", "dngo"): (ending(scores[:2]), [9, 10]),
        },
        baselines=("gp_ucb", "gp_ei", "dngo"),
    )
    assert outcomes(comparisons) == ["supported", "open", "open"]
    assert comparisons[0].ours == (
        "Amazon reviews: NEURAL_BO 0.933, GP_UCB 0.600, difference +0.333 [+0.333, +0.333] "
        "(10 seeds), p < 0.0001"
    )
    assert comparisons[1].ours == "Amazon reviews: GP_EI was not run"
    assert comparisons[2].ours.endswith("DNGO and NEURAL_BO have fewer than two common seeds")


def test_seeds_are_paired_and_only_common_ones():
    (comparison,) = compare(
        {
            NEURAL_BO: (ending([1.0, 2 / 3, 1 / 3, 0.0]), [4, 5, 6, 9]),
            # stored by seed: 1, 4, 5, 6 have 1, 2/3, 1/3 and 0
            GP_UCB: (ending([1.0, 0.0, 1 / 3, 2 / 3]), [1, 6, 5, 4]),
        }
    )
    assert comparison.outcome == "supported"
    assert "difference +0.333 [+0.333, +0.333] (3 seeds), p " in comparison.ours
