"""Estimates: the arithmetic, with made-up timings whose right answer is known."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replibo import cli
from replibo.config import load
from replibo.errors import RepliboError
from replibo.run import collect, identity, traces
from replibo.workflow import costs, targets
from replibo.workflow.costs import Profile
from replibo.workflow.estimate import plan as plans
from replibo.workflow.estimate import report
from replibo.workflow.estimate.plan import Job, wall_seconds

from ..results.conftest import publish_runs, published_runs
from .conftest import run_files

Law = Callable[[np.ndarray], np.ndarray]


def entry(
    cost: Law,
    *,
    initial: int = 5,
    queries: int = 60,
    runs_: int = 4,
    jobs: int = 2,
    scale: float = 1.0,
) -> dict[str, Any]:
    """The timings that `collect` keeps of runs whose search query n costs ``cost(n)`` seconds, and an
    initial one nothing."""
    timings: dict[str, Any] = {}
    for block in np.array_split(np.arange(runs_), jobs):
        found = []
        for seed in block:
            n = np.arange(1, queries + 1)
            seconds = np.where(n <= initial, 0.0, scale * cost(n.astype(float)))
            found.append(
                traces.Trace(
                    int(seed),
                    t=list(range(1, queries + 1)),
                    phase=["initial"] * initial + ["search"] * (queries - initial),
                    x=[[0.0]] * queries,
                    y=[0.0] * queries,
                    f=[0.0] * queries,
                    seconds=[[0.75 * s, 0.0, 0.25 * s] for s in seconds],
                    diagnostics=[{}] * queries,
                )
            )
        metadata = {
            "digests": {str(s): "" for s in block},
            "overhead_seconds": 1.5,
            "peak_mb": 100.0 + int(block[0]),
        }
        own = collect.timings(traces.table(found, metadata), metadata)
        timings = collect.added(timings, own) if timings else own
    return timings


def timing(found: dict[str, Any], origin: str = "x") -> costs.Timing:
    # as it comes back from a file
    return costs.timing_of(json.loads(json.dumps(found)), origin, "")


def constant(n: np.ndarray) -> np.ndarray:
    return np.full_like(n, 0.5)


def test_collect_keeps_the_seconds_by_the_number_of_the_query() -> None:
    found = entry(lambda n: n, initial=5, queries=20, runs_=4)
    assert list(found["profile"]) == ["1", "6", "8", "12", "16"]
    expected = [0.0, 6 + 7, 8 + 9 + 10 + 11, 12 + 13 + 14 + 15, 16 + 17 + 18 + 19 + 20]
    assert list(found["profile"].values()) == pytest.approx([4 * s for s in expected], rel=1e-6)
    assert sum(found["profile"].values()) == pytest.approx(found["cpu_seconds"], rel=1e-6)
    assert found["evaluate_seconds"] == pytest.approx(found["cpu_seconds"] / 4, rel=1e-6)
    assert (found["runs"], found["jobs"], found["queries"]) == (4, 2, 80)


@pytest.mark.parametrize("first_t", [1, -4])
def test_the_number_of_a_query_does_not_depend_on_how_rounds_are_counted(first_t: int) -> None:
    seconds = [[float(i), 0.0, 0.0] for i in range(8)]
    trace = traces.Trace(
        0,
        t=list(range(first_t, first_t + 8)),
        phase=["initial"] * 3 + ["search"] * 5,
        x=[[0.0]] * 8,
        y=[0.0] * 8,
        f=[0.0] * 8,
        seconds=seconds,
        diagnostics=[{}] * 8,
    )
    metadata = {"digests": {"0": ""}, "overhead_seconds": 0.0, "peak_mb": 1.0}
    found = collect.timings(traces.table([trace], metadata), metadata)
    assert found["profile"] == {"1": 3.0, "4": 7.0, "6": 11.0, "8": 7.0}


@given(
    queries=st.integers(7, 120),
    wanted=st.integers(1, 120),
    power=st.floats(0, 3),
    initial=st.integers(1, 5),
)
def test_a_run_no_longer_than_the_measured_ones_costs_what_its_queries_cost(
    queries: int, wanted: int, power: float, initial: int
) -> None:
    wanted = min(wanted, queries)
    found = timing(entry(lambda n: n**power, initial=initial, queries=queries, runs_=2))
    n = np.arange(initial + 1, wanted + 1, dtype=float)
    exact = float(np.sum(n**power))
    got = found.run(wanted)
    # a bin is cut in proportion: at worst by the growth within the last one
    last = 2.0**power * float(wanted) ** power * max(wanted / 3, 1)
    assert abs(got - exact) <= last + 1e-3
    if wanted == queries:
        assert got == pytest.approx(exact, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize(
    ("cost", "within"),
    [
        (lambda n: 0.3 + 0.0 * n, 1e-4),
        (lambda n: 0.01 * n**1.7, 0.4),  # no quadratic: 4 times as far it is a third off
        (lambda n: 0.4 + 0.0002 * n**2, 0.03),
        (lambda n: 0.1 + 0.002 * n + 0.0001 * n**2, 0.03),
    ],
    ids=["constant", "power", "fixed and square", "quadratic"],
)
def test_extrapolation_finds_the_law_it_is_made_of(cost: Law, within: float) -> None:
    found = timing(entry(cost))
    exact = float(np.sum(cost(np.arange(6, 251, dtype=float))))
    assert found.run(250) == pytest.approx(exact, rel=within)
    assert found.said(250) == "extrapolated from 60 to 250 queries, x"


def test_a_falling_cost_is_not_extrapolated_to_nothing() -> None:
    got = timing(entry(lambda n: 1 / n)).run(600)
    assert got >= (600 - 60) / 60 * 0.9


@pytest.mark.parametrize("queries", [6, 7, 9])
def test_the_shortest_profiles_can_be_extrapolated(queries: int) -> None:
    got = timing(entry(constant, initial=5, queries=queries)).run(100)
    assert got == pytest.approx(0.5 * 95, rel=1e-3)
    assert math.isfinite(timing(entry(lambda n: 0 * n, queries=queries)).run(100))


def test_timings_without_a_profile_give_the_mean_and_say_so() -> None:
    found = entry(constant, initial=5, queries=25)
    del found["profile"], found["evaluate_seconds"]
    made = timing(found, "published paper runs")
    assert made.run(50) == pytest.approx(2 * 20 * 0.5, rel=1e-4)
    assert made.said(50) == "mean query of published paper runs, 25 queries for 50: too low"
    assert made.said(25) == "published paper runs"


def test_memory_of_a_longer_run() -> None:
    found = timing(entry(constant, queries=25))
    assert found.memory(10) == found.memory(25) == 102.0
    # eight 2000 x 2000 matrices of 8 bytes
    assert found.memory(2000) == pytest.approx(102 + 256, abs=1)


def test_which_timing_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """The longer runs, then those of today's code, then the published ones. Runs here, four times as slow,
    change what is expected of nothing that was published, and of the rest by their own cost alone."""
    today = identity.code_digest(load.load().paper("go_ucb"), "f1", "gp_ei")

    def of(queries: int, scale: float, origin: str, *, current: bool = True) -> costs.Timing:
        found = timing(entry(constant, queries=queries, scale=scale), origin)
        return dataclasses.replace(found, code=today if current else "older", current=current)

    there = {
        "f1/gp_ei": of(200, 1.0, "published"),
        "f2/gp_ei": of(60, 1.0, "short"),
        "f3/gp_ei": of(60, 1.0, "older", current=False),
    }
    here = {
        **{"f1/gp_ei": of(60, 4.0, "here"), "f2/gp_ei": of(200, 4.0, "here")},
        **{"f3/gp_ei": of(60, 4.0, "here"), "f1/gp_pi": of(60, 4.0, "here")},
    }
    monkeypatch.setattr(costs, "published", lambda paper: there)
    monkeypatch.setattr(costs, "of_this_machine", lambda config, paper: here)
    found, slower = costs.measured(load.load(), ["go_ucb"])
    assert slower == pytest.approx(4.0, rel=1e-3)
    assert {key: one.origin for key, one in found["go_ucb"].items()} == {
        **{"f1/gp_ei": "published", "f2/gp_ei": "here"},
        **{"f3/gp_ei": "here", "f1/gp_pi": "here"},
    }
    for one in found["go_ucb"].values():
        assert one.run(60) == pytest.approx(55 * 0.5, rel=1e-3)
    assert costs.slowness([({}, there)]) is None


def test_published_timings_are_those_of_the_fastest_machine_by_the_start_of_their_jobs() -> None:
    """Of the same type of problem and of algorithm, which load the same libraries."""
    own = timing(entry(constant, queries=25))
    starts = {
        "ackley_10/neural_bo": 4.0,
        "levy_10/neural_bo_section_4": 1.0,
        "levy_10/gp_ts": 3.0,
        "robot_pushing/neural_bo": 2.0,
        "levy_20/neural_bo": 0.0,
    }
    known = {key: dataclasses.replace(own, start_seconds=s) for key, s in starts.items()}
    found = costs.at_one_speed(load.load().paper("neuralbo"), known)
    slow = found.pop("ackley_10/neural_bo")
    assert slow.start_seconds == 1.0
    assert slow.run(25) == pytest.approx(own.run(25) / 4)
    assert found == {key: dataclasses.replace(known[key], current=False) for key in found}


def test_published_timings_say_whether_todays_code_made_them() -> None:
    entry_of_paper = load.load().paper("go_ucb")
    today = identity.code_digest(entry_of_paper, "f1", "gp_ei")
    ours = dataclasses.replace(timing(entry(constant)), code=today)
    known = {"f1/gp_ei": ours, "f2/gp_ei": dataclasses.replace(ours, code="another")}
    found = costs.at_one_speed(entry_of_paper, known)
    assert [one.current for one in found.values()] == [True, False]


def test_published_timings_of_a_class_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("go_ucb: {algorithms: {gp_ei: {type: gp_ei.Gone}}}\n")
    changed = load.load(overlays=[tmp_path / "own.yaml"]).paper("go_ucb")
    with pytest.raises(RepliboError, match=r"^config: f1, gp_ei: type: there is no .*\.Gone$"):
        costs.at_one_speed(changed, {"f1/gp_ei": timing(entry(constant))})


def scaled(scale: float, name: str = "x", queries: int = 25) -> costs.Timing:
    return timing(entry(constant, queries=queries, scale=scale), name)


def test_a_job_and_what_was_measured_on_another_problem_only() -> None:
    known = {"q/a": scaled(1.0), "r/a": scaled(16.0)}
    own = costs.cost_of_job(known, "q", "a", 25, 3)
    assert own and own.measured and own.how == "x"
    overhead = 1.5 + costs.PROCESS_SECONDS
    assert own.seconds == pytest.approx(3 * 20 * 0.5 + overhead, rel=1e-4)
    assert own.memory_mb == 102.0
    # nothing else was run on p: the geometric mean of the others
    borrowed = costs.cost_of_job(known, "p", "a", 25, 3)
    assert borrowed and not borrowed.measured and borrowed.how == "as on 2 other problems: x"
    assert borrowed.seconds == pytest.approx(3 * 20 * 0.5 * 4 + overhead, rel=1e-4)
    assert costs.cost_of_job(known, "p", "c", 25, 3) is None
    # the runs that cover more of the queries
    known["q/a"] = scaled(1.0, "long", 60)
    borrowed = costs.cost_of_job(known, "p", "a", 60, 1)
    assert borrowed and borrowed.how == "as on q: long"


@pytest.mark.parametrize(
    ("there", "here", "expected"),
    [
        (2.0, 6.0, 3.0),  # near in cost: three times as much here
        (0.01, 0.06, 1.05),  # far: it says what an evaluation costs more here
        (20.0, 30.0, 1.5),  # dearer: in proportion, too
    ],
)
def test_what_another_algorithm_took_on_both_problems_corrects(
    there: float, here: float, expected: float
) -> None:
    known = {"q/a": scaled(1.0), "q/b": scaled(there), "p/b": scaled(here)}
    # farther in cost, so that it says nothing; and a problem on which nothing was run that p knows
    known |= {"q/c": scaled(1e3), "p/c": scaled(1e9), "r/a": scaled(1e9)}
    cost = costs.cost_of_job(known, "p", "a", 25, 1)
    assert cost and cost.how == "as on q: x"
    overhead = 1.5 + costs.PROCESS_SECONDS
    assert cost.seconds - overhead == pytest.approx(10 * expected, rel=1e-3)


def test_timings_of_todays_code_are_preferred_to_others_as_long() -> None:
    older = dataclasses.replace(scaled(9.0), current=False)
    known = {"q/a": older, "r/a": scaled(1.0, "today")}
    cost = costs.cost_of_job(known, "p", "a", 25, 1)
    assert cost and cost.current and cost.how == "as on r: today"
    known["r/a"] = scaled(1.0, "short", 15)
    cost = costs.cost_of_job(known, "p", "a", 25, 1)
    assert cost and not cost.current and cost.how == "as on q: x"
    # the same for runs that are too short, and go on as others'
    known = {"p/a": scaled(9.0, "own", 15), "q/a": older, "r/a": scaled(1.0, "today")}
    cost = costs.cost_of_job(known, "p", "a", 25, 1)
    assert cost and cost.current and cost.how == "after 15 queries as on r: today"
    # older code's own runs that are too short are left aside, but not those that are long enough
    known["p/a"] = dataclasses.replace(known["p/a"], current=False)
    cost = costs.cost_of_job(known, "p", "a", 25, 1)
    assert cost and not cost.measured and cost.how == "as on r: today"
    cost = costs.cost_of_job(known, "p", "a", 15, 1)
    assert cost and cost.measured and cost.how == "own"


def test_what_was_never_run_is_taken_to_cost_what_others_of_its_type_do(root: Path) -> None:
    entry_of_paper = load.load().paper("lb_gp_ucb")
    here, there = (
        timing(entry(constant, queries=25)),
        timing(entry(constant, queries=25, scale=9.0)),
    )
    known = {"agnp/mcmc": here, "berkenkamp/mcmc_released": there, "agnp/mle": there}

    def cost(problem: str, algorithm: str) -> costs.Cost | None:
        return costs.cost_in_paper(entry_of_paper, known, problem, algorithm, 25, 1)

    low_noise, plain = cost("agnp", "mcmc_low_noise"), cost("agnp", "mcmc")
    assert plain and plain.measured and low_noise and not low_noise.measured
    assert (low_noise.how, low_noise.seconds) == ("as mcmc: x", plain.seconds)
    # nothing of its type on the problem itself: on another one
    elsewhere = cost("crossed_barrel", "mcmc_low_noise")
    assert elsewhere and elsewhere.how == "as mcmc_released: as on berkenkamp: x"
    assert cost("agnp", "random_search") is None


def test_runs_that_are_too_short_go_on_as_those_of_the_longest_other_problem() -> None:
    """A cost that jumps late: no extrapolation can know of it, and the other problem's runs do."""

    def late(n: np.ndarray) -> np.ndarray:
        return np.where(n <= 63, 0.5, 5.0)  # a bin ends there

    short = timing(entry(late, queries=63, scale=3.0))
    known = {"p/a": short, "q/a": timing(entry(late, queries=200), "q's runs")}
    cost = costs.cost_of_job(known, "p", "a", 200, 1)
    overhead = 1.5 + costs.PROCESS_SECONDS
    exact = 3 * (58 * 0.5 + 137 * 5.0)
    assert cost and cost.seconds == pytest.approx(exact + overhead, rel=1e-3)
    assert not cost.measured and cost.how == "after 63 queries as on q: q's runs"
    # of two as long the one nearer in cost
    known["r/a"] = timing(entry(constant, queries=200, scale=2.5), "r's runs")
    cost = costs.cost_of_job(known, "p", "a", 200, 1)
    assert cost and cost.how == "after 63 queries as on r: r's runs"
    assert cost.seconds == pytest.approx(3 * 195 * 0.5 + overhead, rel=1e-3)
    # a few initial points less are as long; a quarter less is not
    for queries, nearest in ((190, "r"), (150, "q")):
        known["r/a"] = timing(entry(constant, queries=queries, scale=2.5), "r's runs")
        cost = costs.cost_of_job(known, "p", "a", 200, 1)
        assert cost and cost.how.startswith(f"after 63 queries as on {nearest}: ")
    # no other is longer: its own extrapolation
    known = {"p/a": short, "q/a": timing(entry(late, queries=63))}
    cost = costs.cost_of_job(known, "p", "a", 200, 1)
    assert cost and cost.how == "extrapolated from 63 to 200 queries, x"


@pytest.mark.parametrize(
    ("seconds", "cores", "expected"),
    [([3, 4, 5], 1, 12), ([3, 4, 5], 2, 6), ([3, 4, 5], 3, 5), ([], 2, 0)],
)
def test_jobs_share_the_cores_until_the_longest_ends(
    seconds: list[float], cores: int, expected: float
) -> None:
    assert wall_seconds(seconds, cores) == expected


def jobs_of(root: Path, *targets: str, scale: str = "paper") -> set[Job]:
    plan = plans.Plan(load.load(root / "config"))
    for target in targets:
        plan.add(target, scale)
    return set(plan.jobs)


@pytest.mark.parametrize("target", ["all", "quick", "smoke", "published"])
def test_the_target_rules(target: str, root: Path) -> None:
    config, scale = load.load(), "paper" if target == "all" else target
    jobs = jobs_of(root, target)
    runs_of = {p: run_files(config, p, scale) for p in config.papers if scale != "published"}
    assert sum(job.kind == "run" for job in jobs) == sum(map(len, runs_of.values()))
    papers, judged = targets.papers_at(config, scale), targets.judged_files(config, scale)
    figures = sum(len(targets.names_at(config, "figures", paper, scale)) for paper in papers)
    assert sum(job.kind == "figure" for job in jobs) == (figures if runs_of else 0)
    assert sum(job.kind == "outputs" for job in jobs) == (0 if runs_of else len(papers))
    several = [
        pair
        for p in runs_of
        for pair in config.paper(p).pairs(scale)
        if len(config.paper(p).blocks(scale, *pair)) > 1
    ]
    assert sum(job.kind == "collect" for job in jobs) == len(several)
    assert sum(job.kind == "verdicts" for job in jobs) == 1 + (len(judged) if runs_of else 0)
    assert {job.scale for job in jobs} == {scale}


def test_by_problem_the_rows_are_others_and_the_sums_the_same(root: Path) -> None:
    config = load.load()
    found = {by: report.estimate(config, ["bbo"], "quick", 2, by) for by in ("method", "problem")}  # type: ignore[arg-type]
    entry = config.paper("bbo")
    outputs = "figures, tables, verdicts"
    problems, algorithms = (set(names) for names in zip(*entry.pairs("quick"), strict=True))
    assert {line.name for line in found["problem"].lines} == {*problems, outputs}
    assert {line.name for line in found["method"].lines} == {*algorithms, outputs}
    for name in ("jobs", "runs", "queries", "disk_bytes"):
        sums = [sum(getattr(line, name) for line in own.lines) for own in found.values()]
        assert sums[0] == sums[1] > 0
    expected = [own.cpu for own in found.values()]
    assert expected[0] == pytest.approx(expected[1])
    assert report.text(found["problem"]).split()[:2] == ["paper", "problem"]


def test_single_files_and_papers(root: Path) -> None:
    assert len(jobs_of(root, "results/quick/go_ucb/f1/gp_ei/seeds_0-2.parquet")) == 1
    paper = jobs_of(root, "go_ucb", scale="smoke")
    assert paper < jobs_of(root, "smoke") and {job.scale for job in paper} == {"smoke"}
    collected = jobs_of(root, "results/paper/go_ucb/f1/gp_ei/runs.parquet")
    assert collected < jobs_of(root, "go_ucb", scale="paper")
    assert sorted(job.kind for job in collected) == ["collect", *4 * ["run"]]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ("nothing",),
            "no target is called 'nothing'; allowed: all, published, quick, smoke, a paper",
        ),
        (("figures/paper/go_ucb/figure_9.pdf",), "no figure called 'figure_9'; allowed: figure_1"),
        (("figures/paper/go_ucb/figure_1.jpg",), "no target is called"),
        (
            ("figures/huge/go_ucb/figure_1.pdf",),
            "one of paper, published, quick or smoke, got 'huge'",
        ),
        (("figures/paper/nope/figure_1.pdf",), "no paper is called 'nope'"),
        (("results/paper/go_ucb/f9/gp_ei/seeds_0.parquet",), "no problem called 'f9'"),
        (
            ("results/paper/go_ucb/f1/gp_ei/seeds_abc.parquet",),
            "seeds_abc.parquet: must be a number or FIRST-LAST, e.g. 0-9, got",
        ),
        (
            ("results/paper/go_ucb/f1/gp_ei/seeds_90-100.parquet",),
            "must be seeds of the config (0-99), got 90-100",
        ),
        (
            ("go_ucb", "--scale", "huge"),
            "must be one of paper, quick or smoke, got 'huge'",
        ),
        (
            ("all", "--scale", "quick"),
            "--scale: must be left out with all, which has a scale of its own",
        ),
        (("quick", "--cores", "0"), "--cores: must be a number >= 1, got 0"),
        (("go_ucb", "--cores", "-3"), "--cores: must be a number >= 1, got -3"),
    ],
    ids=str,
)
def test_bad_input(
    arguments: tuple[str, ...], line: str, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["estimate", *arguments]) == 2
    error = capsys.readouterr().err
    assert line in error and error.count("\n") == 1


def publish(entries: dict[str, dict[str, Any]], **changes: Any) -> None:
    """Publish a row for each pair, with these timings."""
    columns = {"seed": np.zeros(1, np.int32), "t": np.zeros(1, np.int32), "f": np.zeros(1)}
    for key, timing in entries.items():
        problem, algorithm = key.split("/")
        runs = published_runs(1, problem=problem, algorithm=algorithm, timing=timing, **changes)
        publish_runs(runs, pa.table(columns))
    costs._published.cache_clear()
    costs._published_cost.cache_clear()


def test_sums(elsewhere: Path) -> None:
    """One problem of two algorithms, of which one was measured."""
    publish({"f1/gp_ei": entry(constant, initial=5, queries=20, runs_=100, jobs=4)})
    targets = [
        "results/paper/go_ucb/f1/gp_ei/seeds_0-24.parquet",
        "results/paper/go_ucb/f1/gp_ei/seeds_25-49.parquet",
        "results/paper/go_ucb/f1/random_search/seeds_0-99.parquet",
    ]
    found = report.estimate(load.load(), targets, cores=2)
    job = 25 * 15 * 0.5 + 1.5 + costs.PROCESS_SECONDS
    start, each = report.SNAKEMAKE_SECONDS, report.SNAKEMAKE_JOB_SECONDS
    assert found.cpu == pytest.approx(2 * job + start + 3 * each, rel=1e-4)
    # two jobs side by side, and the third, of which nothing is known
    assert found.wall_seconds == pytest.approx(start + job + 1.5 * each, rel=1e-4)
    assert (found.jobs, found.unknown) == (3, 1)
    assert found.memory_mb == 2 * 175.0
    measured, unknown = found.lines
    assert (measured.jobs, measured.runs, measured.queries) == (2, 50, 1000)
    assert measured.longest == pytest.approx(job, rel=1e-4)
    assert list(measured.how) == ["published paper runs (older code)"]
    assert found.older_seconds == pytest.approx(2 * job, rel=1e-4)
    hours = f"{found.older_seconds / 3600:.2f} of the core hours rest on timings of older code"
    assert hours in " ".join(report.text(found).split())
    assert list(unknown.how) == ["never run, not in the sums"]
    assert "1 jobs are not in these sums" in " ".join(report.text(found).split())
    assert "Longest job: 3 min (go_ucb, gp_ei)." in report.text(found)
    assert report.estimate(load.load(), targets).wall_seconds == pytest.approx(
        start + 2 * job + 3 * each, rel=1e-4
    )


def test_runs_of_this_machine_are_read(elsewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    costs._published.cache_clear()
    costs._published_cost.cache_clear()
    overlay = elsewhere / "one.yaml"
    overlay.write_text(
        "go_ucb: {scales: {smoke: {only: [f1], problems: {f1: {algorithms: [random_search]}}}}}\n"
    )
    common = ["--scale", "smoke", "--config", str(overlay)]
    output = "results/smoke/go_ucb/f1/random_search/seeds_0-1.parquet"
    run = ["run", "go_ucb", "f1", "random_search", "--seeds", "0-1", "--output", output]
    assert cli.main([*run, *common]) == 0
    config = load.load(overlays=[overlay])
    found = costs.measured(config, ["go_ucb"])[0]["go_ucb"]["f1/random_search"]
    assert (found.origin, found.current, found.runs, found.queries) == (
        "smoke runs here",
        True,
        2,
        8,
    )
    assert found.profile is not None and found.profile.first == (1, 6, 8)
    capsys.readouterr()
    assert cli.main(["estimate", "go_ucb", "--csv", *common]) == 0
    assert "smoke runs here" in capsys.readouterr().out


def test_resources(elsewhere: Path) -> None:
    slow = entry(constant, initial=5, queries=20, runs_=100, jobs=4, scale=100.0)
    slow["peak_mb"] = 1000.0
    tiny = entry(constant, initial=5, queries=20, scale=1e-3)
    publish({"f1/gp_ei": slow, "f1/go_ucb": tiny, "f2/gp_pi": tiny})
    config = load.load()

    def of(problem: str, algorithm: str, block: str, scale: str = "paper") -> tuple[int, int]:
        return costs.resources(config, "go_ucb", scale, problem, algorithm, block)

    # 25 runs of 15 queries of 50 s; three times that in minutes, and five more
    minutes = (25 * 15 * 50 + 1.5 + costs.PROCESS_SECONDS) * 3 / 60 + 5
    assert of("f1", "gp_ei", "0-24") == (1900, math.ceil(minutes))
    assert of("f1", "gp_ei", "0") < of("f1", "gp_ei", "0-24")
    assert of("f1", "go_ucb", "0") == (
        costs.MEMORY_FLOOR_MB,
        costs.RUNTIME_FLOOR_MINUTES,
    )
    # measured on another problem only: no less than the config's
    assert of("f1", "gp_pi", "0") == (config.memory_mb, config.runtime_minutes)
    assert of("f2", "gp_ei", "0-24") == (1900, math.ceil(minutes))
    # never measured
    assert of("f1", "random_search", "0-99") == (config.memory_mb, config.runtime_minutes)
    with pytest.raises(RepliboError, match="no problem called 'f9'"):
        of("f9", "gp_ei", "0")


def test_resources_do_not_depend_on_results(elsewhere: Path) -> None:
    publish({})
    config = load.load()
    before = costs.resources(config, "go_ucb", "smoke", "f1", "random_search", "0-1")
    output = "results/smoke/go_ucb/f1/random_search/seeds_0-1.parquet"
    run = ["run", "go_ucb", "f1", "random_search", "--seeds", "0-1", "--scale", "smoke"]
    assert cli.main([*run, "--output", output]) == 0
    assert "f1/random_search" in costs.of_this_machine(config, "go_ucb")
    costs._published.cache_clear()
    costs._published_cost.cache_clear()
    after = costs.resources(config, "go_ucb", "smoke", "f1", "random_search", "0-1")
    assert after == before == (config.memory_mb, config.runtime_minutes)


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        (
            b"PAR1",
            b"PAR2",
            r"f1/gp_ei\.parquet: holds no traces written by replibo \(no whole parq",
        ),
        (
            b"replibo",
            b"replica",
            r"f1/gp_ei\.parquet: holds no traces written by replibo \(no meta",
        ),
        (
            b'"timing"',
            b'"timink"',
            r"f1/gp_ei\.parquet: damaged \(its checksum is wrong or missing\)",
        ),
        (b"", b"", "go_ucb: holds no timings; publish the paper again"),
    ],
)
def test_damaged_published_metadata(
    before: bytes, after: bytes, line: str, elsewhere: Path
) -> None:
    publish({"f1/gp_ei": {"queries": 1}})
    path = Path("published/go_ucb/f1/gp_ei.parquet")
    path.write_bytes(path.read_bytes().replace(before, after))
    with pytest.raises(RepliboError, match=line):
        costs.resources(load.load(), "go_ucb", "paper", "f1", "gp_ei", "0")


def test_a_profile_of_one_bin() -> None:
    """Runs of nothing but initial points are not allowed by the config, but a file may hold them."""
    assert Profile((1,), (3.0,), 3).run(6) == pytest.approx(6.0)
