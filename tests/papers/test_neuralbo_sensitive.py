"""Figure 3 of NeuralBO: detection rates against enumeration, and outputs from traces of any size."""

import math
import re
from itertools import combinations, product

import numpy as np
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import stats

from replibo.papers.neuralbo import sensitive as paper
from replibo.papers.neuralbo.tampering import by_exchange, query_rates, rates_of, subset_rates
from replibo.problems.networks.digit_classifier import PARAMETERS, DigitClassifier
from replibo.problems.sensitive_samples import detections, upscaling_operator
from replibo.results.comparisons import MissingRunsError
from replibo.results.intervals import Interval, jackknife_interval
from replibo.streams import generator

from .conftest import caption_of, drawn, made_paper, outcomes, output, pair, records, runs_of

PROBLEMS = {"sensitive": "Log-probabilities", "sensitive_softmax": "Probabilities"}
ALGORITHMS = {"neural_bo": "blue", "gp_ucb": "orange", "random_search": "grey"}
ENTRY = made_paper(
    {
        "other": {"type": "synthetic.Synthetic", "label": "O", "parameters": {"dim": 4}},
        **{
            name: {"type": "sensitive_samples.SensitiveSamples", "label": label}
            for name, label in PROBLEMS.items()
        },
    },
    ALGORITHMS,
    {"horizon": 12, "seeds": "0-11"},
)
CLASSIFIER = DigitClassifier(0.05 * generator("test", "network").standard_normal(PARAMETERS))
SD = 0.01
FACTS = {
    "parameters": CLASSIFIER.encoded(),
    "outputs": "log_softmax",
    "upscaling": "bilinear",
    "accuracy": 0.936,
    "tampering_sd": SD,
    "tampered_models": 1000,
    "tampered_accuracy": 0.8763,
    "tampered_accuracy_sd": 0.0268,
}


def made_runs(sizes, queries=15, initial=3):
    """Runs from (problem, algorithm) → seeds; x is drawn from a stream of the three, f falls with t."""
    pairs = []
    for key, seeds in sizes.items():
        for seed in seeds:
            x = generator("test", *key, seed).uniform(-0.42, 2.82, size=(queries, 49))
            f = 10.0 + seed - np.arange(queries)
            best = [row.tolist() if i < 10 else None for i, row in enumerate(x)]
            pairs.append(pair(key, f[None], 1 - initial, [seed], y=f, x=best))
    facts = {"initial_points": initial, "horizon": 12, "dim": 49, "recorded": FACTS}
    return runs_of(ENTRY, pairs, {problem: facts for problem, _ in sizes})


def sample(problem, algorithm, seed, query=0, queries=15):
    rng = generator("test", problem, algorithm, seed)
    return rng.uniform(-0.42, 2.82, size=(queries, 49))[query] @ upscaling_operator("bilinear").T


EVERYTHING = {(p, a): range(12) for p in PROBLEMS for a in ALGORITHMS}


# The rates

DETECTED = arrays(bool, array_shapes(min_dims=2, max_dims=2, max_side=7))


@given(DETECTED)
def test_subset_rates_by_enumeration(detected):
    rates = subset_rates(detected)
    assert rates.shape == (16,)
    for n in range(1, 17):
        sets = [
            detected[list(rows)].any(axis=0).mean()
            for rows in combinations(range(len(detected)), n)
        ]
        assert rates[n - 1] == pytest.approx(np.mean(sets)) if sets else math.isnan(rates[n - 1])
    assert np.all(np.diff(rates[~np.isnan(rates)]) >= -1e-12)


@given(arrays(bool, array_shapes(min_dims=3, max_dims=3, max_side=6)))
def test_query_rates_by_counting(detected):
    for n, rate in enumerate(query_rates(detected), start=1):
        assert rate == pytest.approx(np.mean([run[:n].any(axis=0).mean() for run in detected]))


def test_p_of_two_rates_by_all_exchanges():
    """Sets of 2 of 7 samples: the share of the 128 exchanges with a difference as large, either way."""
    both = np.random.default_rng(1).random((7, 2, 40)) < np.array([0.3, 0.2])[:, None]

    def difference(runs):
        return subset_rates(runs[:, 0])[1] - subset_rates(runs[:, 1])[1]

    exchanged = [
        difference(np.where(np.array(which)[:, None, None], both[:, ::-1], both))
        for which in product([False, True], repeat=7)
    ]
    interval = by_exchange(Interval.around(difference(both), 0.1, 7), both, 2)
    for sign, p in ((1, interval.p_above), (-1, interval.p_below)):
        exact = np.mean(sign * np.array(exchanged) >= sign * difference(both) - 1e-12)
        assert p == pytest.approx(exact, abs=0.05)


def test_the_jackknife_of_a_mean_is_students_interval():
    values = np.random.default_rng(0).normal(3.0, 2.0, size=(9, 4))
    interval = jackknife_interval(values, lambda v: v.mean(axis=0))
    low, high = stats.t.interval(0.95, 8, values.mean(axis=0), stats.sem(values))
    np.testing.assert_allclose([interval.low, interval.high], [low, high])
    same = jackknife_interval(np.ones((5, 2)), lambda v: v.mean(axis=0))
    np.testing.assert_array_equal([same.low, same.mean, same.high], 1.0)


def test_intervals_stay_within_0_and_1_and_end_before_the_number_of_runs():
    detected = (
        np.random.default_rng(2).uniform(size=(6, 10, 50)) < np.linspace(0, 0.9, 6)[:, None, None]
    )
    interval = rates_of(detected, "runs")
    assert np.all(np.isnan(interval.mean[6:])) and not np.any(np.isnan(interval.mean[:6]))
    assert np.all(np.isnan(interval.low[5:])) and not np.any(np.isnan(interval.low[:5]))
    assert interval.low[0] >= 0 and np.nanmax(interval.high) <= 1
    assert len(rates_of(detected, "queries").mean) == 10
    assert len(rates_of(detected[:, :7], "queries").mean) == 7  # a run that has made no more


# From traces


def test_the_samples_are_the_best_queries():
    names = ["gp_ucb", "neural_bo"]
    runs = made_runs({("sensitive", name): [3, 7] for name in names})
    detected = paper.detected_by(runs, "sensitive", names, "queries")
    of_runs = paper.detected_by(runs, "sensitive", names, "runs")
    assert detected["gp_ucb"].shape == (2, 10, 1000) and 0 < detected["gp_ucb"].mean() < 1
    for name in names:
        np.testing.assert_array_equal(of_runs[name], detected[name][:, :1])
        for seed, query in ((0, 0), (1, 1)):
            x = sample("sensitive", name, [3, 7][seed], query)[None]
            alone = detections(CLASSIFIER, SD, x)[0]
            np.testing.assert_array_equal(detected[name][seed, query], alone)


@pytest.mark.parametrize("reading", ["runs", "queries"])
def test_the_curves_of_the_figure(reading):
    runs = made_runs({key: range(9) for key in EVERYTHING})
    figure = paper.figure_3(runs, output(), reading=reading)
    assert [ax.get_title() for ax in figure.axes] == list(PROBLEMS.values())
    for ax, problem in zip(figure.axes, PROBLEMS, strict=True):
        *curves, reference, printed = ax.get_lines()
        assert [curve.get_label() for curve in curves] == [name.upper() for name in ALGORITHMS]
        detected = paper.detected_by(runs, problem, list(ALGORITHMS), reading)
        for curve, name in zip(curves, ALGORITHMS, strict=True):
            of_runs, of_queries = subset_rates(detected[name][:, 0]), query_rates(detected[name])
            rates = of_runs if reading == "runs" else of_queries
            np.testing.assert_allclose(curve.get_ydata(), rates)
        assert len(ax.collections) == 3 and len(reference.get_xdata()) == 16
        assert (printed.get_xdata()[0], printed.get_ydata()[0]) == (8, 0.9)
    caption = caption_of(figure)
    for words in (
        {"runs": "all choices of Nₛ of the runs", "queries": "the mean over the runs and"}[reading],
        "test accuracy 93.60 % (paper: 93 %)",
        "noise of sd 0.0100 on every weight and bias: 87.63 % (sd over the models 2.68 %, standard "
        "error 0.08 %; paper: 87.73 ± 0.08 %)",
    ):
        assert words in caption
    assert caption.count("test accuracy") == 1  # the same of both problems


def test_a_single_seed_is_enough():
    small = made_runs({("sensitive_softmax", "gp_ucb"): [4]}, queries=7, initial=4)
    for make in (paper.figure_3, paper.sensitive_images):
        assert "1 seed. Smaller than" in caption_of(drawn(make(small, output())))
    row = records(paper.detection(small, output()))[0]
    assert row["runs"] == 1 and row["Nₛ = 1"] is not None
    assert row["Nₛ = 1, low"] is None and row["Nₛ = 2"] is None
    assert row["objective, mean"] == 14.0 and row["objective, mean, low"] is None


def test_the_images_are_the_upscaled_samples():
    sizes = {("sensitive", name): range(2) for name in ALGORITHMS}
    figure = paper.sensitive_images(
        made_runs({**sizes, ("sensitive_softmax", "gp_ucb"): [0]}), output()
    )
    assert len(figure.axes) == 4 * paper.IMAGES
    assert figure.axes[paper.IMAGES].get_title("left") == "GP_UCB, Log-probabilities"
    second = figure.axes[paper.IMAGES + 1]  # gp_ucb, the second run
    x = sample("sensitive", "gp_ucb", 1)
    np.testing.assert_allclose(second.get_images()[0].get_array().ravel(), x)
    share = detections(CLASSIFIER, SD, x[None]).mean()
    (below,) = second.texts
    assert below.get_text() == f"{CLASSIFIER.labels(x[None])[0]}: {100 * share:.0f} %"


def test_the_table():
    runs = made_runs(EVERYTHING)
    timings = {"cpu_seconds": 36.0, "runs": 12, "queries": 12 * (12 + 3)}
    runs.metadata["timings"] = {"sensitive/neural_bo": timings}
    table = paper.detection(runs, output())
    assert len(table.frame) == 8
    first, reference = (records(table)[i] for i in (0, 3))
    cells = {"problem": "Log-probabilities", "algorithm": "NEURAL_BO", "runs": 12, "T": 12}
    assert list(first.items())[:5] == [*cells.items(), ("Nₛ = 1", first["Nₛ = 1"])]
    detected = paper.detected_by(runs, "sensitive", ["neural_bo"], "runs")["neural_bo"][:, 0]
    for n in (1, 2, 4, 8):
        assert first[f"Nₛ = {n}"] == pytest.approx(subset_rates(detected)[n - 1])
        assert first[f"Nₛ = {n}, low"] <= first[f"Nₛ = {n}"] <= first[f"Nₛ = {n}, high"]
    interval = stats.t.interval(0.95, 11, 15.5, stats.sem(10.0 + np.arange(12)))
    objective = [first[f"objective, mean{end}"] for end in ("", ", low", ", high")]
    assert objective == pytest.approx([15.5, *interval])
    assert first["CPU s a query"] == pytest.approx(0.25)
    assert reference["algorithm"] == "200 images at random" and 0 < reference["Nₛ = 1"] < 1


def test_the_objective_reached_and_its_difference():
    sizes = {("sensitive", "neural_bo"): range(9), ("sensitive", "gp_ucb"): range(3, 12)}
    runs = made_runs(sizes)
    f = pc.add(runs.table["f"], np.random.default_rng(0).normal(size=len(runs.table)))
    runs.table = runs.table.set_column(runs.table.column_names.index("f"), "f", f)
    first, second = records(paper.objective(runs, output()))
    neural_bo, gp_ucb = (runs.f(*key).max(axis=1) for key in sizes)
    assert first["objective, mean"] == pytest.approx(neural_bo.mean())
    assert first["difference, mean"] is None
    interval = stats.ttest_rel(gp_ucb[:6], neural_bo[3:]).confidence_interval(0.95)
    assert (second["difference, low"], second["difference, high"]) == pytest.approx(interval)


# The claim

OPTIONS = {"algorithm": "neural_bo", "baselines": ["gp_ucb", "random_search"], "samples": 8}


def detecting(monkeypatch, shares, seeds):
    """Runs whose samples detect each model with the probability ``shares[problem][algorithm]``, and the
    mean rate of eight of these runs."""
    of_each = {
        (p, name): seeds[name] if isinstance(seeds, dict) else seeds
        for p, of_problem in shares.items()
        for name in of_problem
    }
    runs = made_runs(of_each)

    def detected_by(runs, problem, algorithms, reading):
        return {
            name: generator("test", problem, name).uniform(size=(12, 10, 1000))[
                : len(runs.seeds(problem, name))
            ]
            < shares[problem][name]
            for name in algorithms
        }

    def rate(problem, name):
        return subset_rates(detected_by(runs, problem, [name], "runs")[name][:, 0])[7]

    monkeypatch.setattr(paper, "detected_by", detected_by)
    return runs, rate


def compare(monkeypatch, shares, seeds=range(12), **options):
    runs, _ = detecting(monkeypatch, {"sensitive": shares}, seeds)
    return paper.detection_at(
        runs, **{"problems": ["sensitive"], "rate": 0.9, **OPTIONS, **options}
    )


def test_over_classifiers_the_classifiers_are_the_sample(monkeypatch):
    shares = {
        "sensitive": {"neural_bo": 0.32, "gp_ucb": 0.1},
        "sensitive_softmax": {"neural_bo": 0.29, "gp_ucb": 0.1},
        "other": {"neural_bo": 0.31},
    }
    runs, rate = detecting(monkeypatch, shares, range(10))
    comparisons = paper.detection_at(runs, problems=[*shares], rate=0.9, **OPTIONS)
    level, other, missing = comparisons
    levels = [rate(p, "neural_bo") for p in shares]
    low, high = stats.t.interval(0.95, 2, np.mean(levels), stats.sem(levels))
    assert (level.outcome, missing.outcome) == ("supported", "open")
    assert f"detects {np.mean(levels):.3f} [{low:.3f}, {min(high, 1):.3f}] with 8" in level.ours
    assert f"3 classifiers, from {min(levels):.3f} to {max(levels):.3f}" in level.ours
    difference = np.mean([rate(p, "neural_bo") - rate(p, "gp_ucb") for p in [*shares][:2]])
    assert f"difference {difference:+.3f} [" in other.ours and "2 classifiers" in other.ours
    assert "has 9 runs on 0 of 3 classifiers" in missing.ours
    assert paper.detection_at(runs, problems=[*shares], **OPTIONS) == [other, missing]
    with pytest.raises(MissingRunsError, match="NEURAL_BO has 9 runs on 1 of 2 classifiers"):
        few = made_runs({("sensitive", "neural_bo"): range(10), ("other", "neural_bo"): range(8)})
        paper.detection_at(few, problems=["sensitive", "other"], rate=0.9, **OPTIONS)


def test_the_table_over_classifiers():
    runs = made_runs({(p, name): range(9) for p in PROBLEMS for name in ("neural_bo", "gp_ucb")})
    rows = records(paper.classifiers(runs, output()))
    assert [row["problem"] for row in rows] == [
        *PROBLEMS.values(),
        *(
            f"Log-probabilities: {statistic}"
            for statistic in ("mean", "low", "high", "classifiers")
        ),
    ]
    rates = [row["NEURAL_BO"] for row in rows[:2]]
    detected = paper.detected_by(runs, "sensitive", ["neural_bo"], "runs")["neural_bo"]
    assert rates[0] == pytest.approx(subset_rates(detected[:, 0])[7])
    interval = stats.t.interval(0.95, 1, np.mean(rates), stats.sem(rates))
    expected = np.clip([np.mean(rates), *interval], 0, 1)
    assert [row["NEURAL_BO"] for row in rows[2:]] == pytest.approx([*expected, 2])


@pytest.mark.parametrize("reading", ["runs", "queries"])
def test_the_outcomes_of_the_claim(monkeypatch, reading):
    shares = {"neural_bo": 0.25, "gp_ucb": 0.2, "random_search": 0.25}
    comparisons = compare(monkeypatch, shares, reading=reading)
    assert outcomes(comparisons) == ["supported", "supported", "open"]
    assert compare(monkeypatch, shares, reading=reading, baselines=[]) == comparisons[:1]
    assert compare(monkeypatch, shares, reading=reading, rate=None) == comparisons[1:]
    level = float(
        re.match(r"Log-probabilities: NEURAL_BO detects (\S+) \[", comparisons[0].ours)[1]
    )
    assert level == pytest.approx(1 - 0.75**8, abs=0.015)
    assert "with 8 samples (12 runs, 0.85 or more is about 0.9)" in comparisons[0].ours
    other = float(re.match(r"Log-probabilities: GP_UCB (\S+), ", comparisons[1].ours)[1])
    assert other == pytest.approx(1 - 0.8**8, abs=0.02)
    difference = float(re.search(r"difference (\S+) \[", comparisons[1].ours)[1])
    assert difference == pytest.approx(level - other, abs=1.6e-3)
    assert "(12 runs), p " in comparisons[1].ours

    shares = {"neural_bo": 0.1, "gp_ucb": 0.2, "random_search": 0.05}
    comparisons = compare(monkeypatch, shares, reading=reading)
    assert outcomes(comparisons) == ["contradicted", "contradicted", "supported"]
    # with a lower level asked for; an estimate above it is not enough
    for rate, outcome in ((0.55, "supported"), (0.62, "open")):
        assert compare(monkeypatch, shares, reading=reading, rate=rate)[0].outcome == outcome


def test_a_level_below_that_might_be_above_is_open(monkeypatch):
    # the samples of three runs detect nothing, which leaves an interval that reaches 0.80
    shares = {"neural_bo": np.repeat([0.9, 0.0], [9, 3])[:, None, None], "gp_ucb": 0.1}
    comparisons = compare(monkeypatch, shares, baselines=["gp_ucb"], samples=1, rate=0.85)
    assert comparisons[0].outcome == "open"


def test_only_common_seeds_are_compared(monkeypatch):
    shares = {"neural_bo": 0.3, "gp_ucb": 0.2, "random_search": 0.2}
    seeds = {"neural_bo": range(12), "gp_ucb": range(2, 12), "random_search": range(5, 12)}
    comparisons = compare(monkeypatch, shares, seeds)
    assert outcomes(comparisons) == ["supported", "supported", "open"]
    assert "(10 runs), p " in comparisons[1].ours
    assert comparisons[2].ours.endswith("RANDOM_SEARCH has 7 of the seeds, fewer than the 9 needed")


def test_too_few_runs_and_too_few_queries_are_said(monkeypatch):
    few = made_runs({("sensitive", name): [0, 1] for name in ALGORITHMS}, queries=5)
    with pytest.raises(MissingRunsError, match="5 queries of a run are kept, 8 needed"):
        paper.detection_at(few, problems=["sensitive"], reading="queries", **OPTIONS)
    message = "sensitive: 8 samples with their interval need 9 runs of neural_bo; there are 8"
    with pytest.raises(MissingRunsError, match=message):
        compare(monkeypatch, {"neural_bo": 0.2, "gp_ucb": 0.2}, range(8))
