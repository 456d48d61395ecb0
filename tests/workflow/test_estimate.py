"""Estimates: the arithmetic, with made-up timings whose right answer is known."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

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
from replibo.workflow.estimate import (
    SNAKEMAKE_JOB_SECONDS,
    SNAKEMAKE_SECONDS,
    Grouping,
    Job,
    estimate,
    plan,
    text,
)

from ..results.conftest import publish_runs, published_runs
from .conftest import run_files

Law = Callable[[np.ndarray], np.ndarray]


def trace(seed: int, seconds: np.ndarray, *, initial: int, first_t: int = 1) -> traces.Trace:
    """A run whose queries take these seconds."""
    n = len(seconds)
    return traces.Trace(
        seed,
        t=list(range(first_t, first_t + n)),
        phase=["initial"] * initial + ["search"] * (n - initial),
        x=[[0.0]] * n,
        y=[0.0] * n,
        f=[0.0] * n,
        seconds=[[0.75 * s, 0.0, 0.25 * s] for s in seconds],
        diagnostics=[{}] * n,
        peak_mib=[0.0] * n,
    )


def collected(runs: list[traces.Trace]) -> dict[str, Any]:
    """The timings that `collect` keeps of one file."""
    metadata = {
        "digests": {str(run.seed): "" for run in runs},
        "overhead_seconds": 1.5,
        "peak_mb": 100.0 + runs[0].seed,
    }
    return collect.timings(traces.table(runs, metadata), metadata)


def entry(
    cost: Law,
    *,
    initial: int = 5,
    queries: int = 25,
    seeds: int = 4,
    jobs: int = 2,
    scale: float = 1.0,
) -> dict[str, Any]:
    """The timings of runs whose search query n costs ``scale * cost(n)`` seconds, and an initial one
    nothing."""
    n = np.arange(1, queries + 1)
    seconds = np.where(n <= initial, 0.0, scale * cost(n.astype(float)))
    parts = [
        collected([trace(int(seed), seconds, initial=initial) for seed in block])
        for block in np.array_split(np.arange(seeds), jobs)
    ]
    return functools.reduce(collect.added, parts)


def constant(n: np.ndarray) -> np.ndarray:
    return np.full_like(n, 0.5)


def timing(cost: Law = constant, origin: str = "x", **sizes: Any) -> costs.Timing:
    """The timings of `entry` as they come back from a file."""
    return costs.timing_of(json.loads(json.dumps(entry(cost, **sizes))), origin, "")


def test_collect_keeps_the_seconds_by_the_number_of_the_query() -> None:
    found = entry(lambda n: n, initial=5, queries=20, seeds=4)
    assert list(found["profile"]) == ["1", "6", "8", "12", "16"]
    expected = [0.0, 6 + 7, 8 + 9 + 10 + 11, 12 + 13 + 14 + 15, 16 + 17 + 18 + 19 + 20]
    assert list(found["profile"].values()) == pytest.approx([4 * s for s in expected], rel=1e-6)
    assert sum(found["profile"].values()) == pytest.approx(found["cpu_seconds"], rel=1e-6)
    assert found["cpu_seconds_squared"] == pytest.approx(found["cpu_seconds"] ** 2 / 4, rel=1e-6)
    assert found["evaluate_seconds"] == pytest.approx(found["cpu_seconds"] / 4, rel=1e-6)
    assert (found["runs"], found["jobs"], found["queries"]) == (4, 2, 80)
    # however rounds are counted
    for first_t in (1, -4):
        found = collected([trace(0, np.arange(8.0), initial=3, first_t=first_t)])
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
    found = timing(lambda n: n**power, initial=initial, queries=queries, seeds=2)
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
    found = timing(cost, queries=60)
    exact = float(np.sum(cost(np.arange(6, 251, dtype=float))))
    assert found.run(250) == pytest.approx(exact, rel=within)
    assert found.said(250) == "extrapolated from 60 to 250 queries, x"


def test_extrapolations_are_positive_and_finite() -> None:
    """Also from a single bin: the config allows no runs of initial points alone, but a file may hold them."""
    falling = timing(lambda n: 1 / n, queries=60).run(600)
    assert falling >= (600 - 60) / 60 * 0.9
    for queries in (5, 6, 7, 9):
        initial = min(queries - 1, 5)
        found = timing(initial=initial, queries=queries).run(100)
        assert found == pytest.approx(0.5 * (100 - initial), rel=1e-3)
        assert math.isfinite(timing(lambda n: 0 * n, queries=queries).run(100))


def test_memory_of_a_longer_run() -> None:
    assert timing().memory(10) == timing().memory(25) == 102.0
    # eight 2000 x 2000 matrices of 8 bytes
    assert timing().memory(2000) == pytest.approx(102 + 256, abs=1)


def test_which_timing_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """The longer runs, then those of today's code, then the published ones. Runs here, four times as slow,
    change what is expected of nothing that was published, and of the rest by their own cost alone."""
    today = identity.code_digest(load.load().paper("go_ucb"), "f1", "gp_ei")

    def of(queries: int, scale: float, origin: str, *, current: bool = True) -> costs.Timing:
        found = timing(origin=origin, queries=queries, scale=scale)
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
    """Of the same type of problem and of algorithm, which load the same libraries. They say whether
    today's code made them."""
    paper = load.load().paper("neuralbo")
    starts = {
        "ackley_10/neural_bo": 4.0,
        "levy_10/neural_bo_section_4": 1.0,
        "levy_10/gp_ts": 3.0,
        "robot_pushing/neural_bo": 2.0,
        "levy_20/neural_bo": 0.0,
    }
    known = {key: dataclasses.replace(timing(), start_seconds=s) for key, s in starts.items()}
    today = identity.code_digest(paper, "robot_pushing", "neural_bo")
    known["robot_pushing/neural_bo"] = dataclasses.replace(
        known["robot_pushing/neural_bo"], code=today
    )
    found = costs.at_one_speed(paper, known)
    slow = found.pop("ackley_10/neural_bo")
    assert slow.start_seconds == 1.0
    assert slow.run(25) == pytest.approx(timing().run(25) / 4)
    assert [key for key, one in found.items() if one.current] == ["robot_pushing/neural_bo"]
    assert found == {
        key: dataclasses.replace(known[key], current=one.current) for key, one in found.items()
    }


OVERHEAD = 1.5 + costs.PROCESS_SECONDS


def cost_of(timings: costs.Timings, problem: str, queries: int = 25, runs: int = 1) -> costs.Cost:
    """The cost of algorithm ``a``, without what a job takes besides its queries."""
    cost = costs.cost_of_job(timings, problem, "a", queries, runs)
    assert cost
    return cost._replace(seconds=cost.seconds - OVERHEAD)


def test_a_job_that_was_measured_and_one_on_a_problem_without_runs() -> None:
    timings = {f"{name}/a": timing(scale=scale) for name, scale in (("q", 1), ("r", 4), ("s", 16))}
    cost = cost_of(timings, "q", runs=3)
    assert cost.seconds == pytest.approx(3 * 20 * 0.5, rel=1e-4)
    assert (cost.measured, cost.how, cost.memory_mb) == (True, "x", 102.0)
    # nothing else was run on p: the geometric mean of the others
    cost = cost_of(timings, "p", runs=3)
    assert cost.seconds == pytest.approx(3 * 20 * 0.5 * 4, rel=1e-4)
    assert (cost.measured, cost.how) == (False, "as on 3 other problems: x")
    assert costs.cost_of_job(timings, "p", "c", 25, 3) is None
    # the runs that cover more of the queries
    timings["q/a"] = timing(origin="long", queries=60)
    assert cost_of(timings, "p", 60).how == "as on q: long"


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
    timings = {"q/a": timing(scale=1.0), "q/b": timing(scale=there), "p/b": timing(scale=here)}
    # farther in cost, so that it says nothing; and a problem on which nothing was run that p knows
    timings |= {"q/c": timing(scale=1e3), "p/c": timing(scale=1e9), "r/a": timing(scale=1e9)}
    cost = cost_of(timings, "p")
    assert cost.how == "as on q: x" and cost.seconds == pytest.approx(10 * expected, rel=1e-3)


def test_timings_of_todays_code_are_preferred_to_others_as_long() -> None:
    older = dataclasses.replace(timing(scale=9.0), current=False)
    timings = {"q/a": older, "r/a": timing(origin="today", scale=1.0)}
    alone = cost_of(timings, "p")
    assert alone.current and alone.how == "as on r: today"
    timings["p/a"] = timing(scale=9.0, queries=15)
    assert cost_of(timings, "p").how == "after 15 queries as on r: today"
    # older code's own runs that are too short are left aside, but not those that are long enough
    timings["p/a"] = dataclasses.replace(timings["p/a"], current=False)
    assert cost_of(timings, "p") == alone
    assert cost_of(timings, "p", 15).measured
    timings = {"q/a": older, "r/a": timing(origin="short", scale=1.0, queries=15)}
    cost = cost_of(timings, "p")
    assert not cost.current and cost.how == "as on q: x"


def test_what_was_never_run_is_taken_to_cost_what_others_of_its_type_do(root: Path) -> None:
    entry_of_paper = load.load().paper("lb_gp_ucb")
    here, there = timing(), timing(scale=9.0)
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


def test_runs_that_are_too_short_go_on_as_those_of_the_nearest_longer_problem() -> None:
    """A cost that jumps late: no extrapolation can know of it, and the other problem's runs do."""

    def late(n: np.ndarray) -> np.ndarray:
        return np.where(n <= 63, 0.5, 5.0)  # a bin ends there

    short = timing(late, queries=63, scale=3.0)
    timings = {"p/a": short, "q/a": timing(late, "q's runs", queries=200)}
    cost = cost_of(timings, "p", 200)
    assert cost.seconds == pytest.approx(3 * (58 * 0.5 + 137 * 5.0), rel=1e-3)
    assert not cost.measured and cost.how == "after 63 queries as on q: q's runs"
    # of two as long the one nearer in cost; a few initial points less are as long, a quarter less is not
    for queries, nearest in ((200, "r"), (190, "r"), (150, "q")):
        timings["r/a"] = timing(origin="r's runs", queries=queries, scale=2.5)
        cost = cost_of(timings, "p", 200)
        assert cost.how.startswith(f"after 63 queries as on {nearest}: ")
    # no other is longer: its own extrapolation
    timings = {"p/a": short, "q/a": timing(late, queries=63)}
    assert cost_of(timings, "p", 200).how == "extrapolated from 63 to 200 queries, x"


def test_jobs_share_the_cores_until_the_longest_ends() -> None:
    assert [costs.wall_seconds([3, 4, 5], cores) for cores in (1, 2, 3)] == [12, 6, 5]
    assert costs.wall_seconds([], 2) == 0


def jobs_of(*wanted: str, scale: str = "paper") -> set[Job]:
    return set(plan(load.load(), wanted, scale))


@pytest.mark.parametrize("target", ["all", "quick", "published"])
def test_the_target_rules(target: str, root: Path) -> None:
    config, scale = load.load(), "paper" if target == "all" else target
    jobs = jobs_of(target)
    kinds = Counter(job.kind for job in jobs)
    assert {job.scale for job in jobs} == {scale}
    papers, judged = targets.papers_at(config, scale), targets.judged_files(config, scale)
    if scale == "published":
        assert kinds == {"outputs": len(papers), "verdicts": 1}
        return
    assert kinds["run"] == sum(len(run_files(config, paper, scale)) for paper in papers)
    names = [targets.names_at(config, "figures", paper, scale) for paper in papers]
    assert kinds["figure"] == sum(map(len, names))
    blocks = [
        config.paper(p).blocks(scale, *pair)
        for p in papers
        for pair in config.paper(p).pairs(scale)
    ]
    assert kinds["collect"] == sum(len(names) > 1 for names in blocks)
    assert kinds["verdicts"] == 1 + len(judged)


def test_by_problem_the_rows_are_others_and_the_sums_the_same(root: Path) -> None:
    config = load.load()
    found = {by: estimate(config, ["bbo"], "quick", 2, by) for by in get_args(Grouping)}
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
    assert text(found["problem"]).split()[:2] == ["paper", "problem"]


def test_single_files_and_papers(root: Path) -> None:
    assert len(jobs_of("results/quick/go_ucb/f1/gp_ei/seeds_0-2.parquet")) == 1
    paper = jobs_of("go_ucb", scale="smoke")
    assert paper < jobs_of("smoke") and {job.scale for job in paper} == {"smoke"}
    collected = jobs_of("results/paper/go_ucb/f1/gp_ei/runs.parquet")
    assert collected < jobs_of("go_ucb", scale="paper")
    assert sorted(job.kind for job in collected) == ["collect", *4 * ["run"]]


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
    publish({"f1/gp_ei": entry(constant, initial=5, queries=20, seeds=100, jobs=4)})
    targets = [
        "results/paper/go_ucb/f1/gp_ei/seeds_0-24.parquet",
        "results/paper/go_ucb/f1/gp_ei/seeds_25-49.parquet",
        "results/paper/go_ucb/f1/random_search/seeds_0-99.parquet",
    ]
    found = estimate(load.load(), targets, cores=2)
    job = 25 * 15 * 0.5 + 1.5 + costs.PROCESS_SECONDS
    start, each = SNAKEMAKE_SECONDS, SNAKEMAKE_JOB_SECONDS
    assert found.cpu == pytest.approx(2 * job + start + 3 * each, rel=1e-4)
    # two jobs side by side, and the third, of which nothing is known
    assert found.wall_seconds == pytest.approx(start + job + 1.5 * each, rel=1e-4)
    assert (found.total("jobs"), found.total("unknown")) == (3, 1)
    assert found.memory_mb == 2 * 175.0
    measured, unknown = found.lines
    assert (measured.jobs, measured.runs, measured.queries) == (2, 50, 1000)
    assert measured.longest == pytest.approx(job, rel=1e-4)
    assert list(measured.how) == ["published paper runs (older code)"]
    assert found.older_seconds == pytest.approx(2 * job, rel=1e-4)
    hours = f"{found.older_seconds / 3600:.2f} of the core hours rest on timings of older code"
    assert hours in " ".join(text(found).split())
    assert list(unknown.how) == ["never run, not in the sums"]
    assert "nothing like it was ever run: 1 job." in " ".join(text(found).split())
    assert "Longest job: 3 min (go_ucb, gp_ei)." in text(found)
    assert estimate(load.load(), targets).wall_seconds == pytest.approx(
        start + 2 * job + 3 * each, rel=1e-4
    )


def test_resources(elsewhere: Path) -> None:
    slow = entry(constant, initial=5, queries=20, seeds=100, jobs=4, scale=100.0)
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


def test_runs_of_this_machine_count_for_estimates_but_not_for_resources(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    publish({})
    config, pair = load.load(), ("f1", "random_search")
    before = costs.resources(config, "go_ucb", "smoke", *pair, "0-1")
    output = "results/smoke/go_ucb/f1/random_search/seeds_0-1.parquet"
    run = ["run", "go_ucb", *pair, "--seeds", "0-1", "--scale", "smoke"]
    assert cli.main([*run, "--output", output]) == 0
    found = costs.measured(config, ["go_ucb"])[0]["go_ucb"]["f1/random_search"]
    assert (found.origin, found.current) == ("smoke runs here", True)
    assert (found.queries, found.first) == (8, (1, 6, 8))
    capsys.readouterr()
    assert cli.main(["estimate", output, "--csv"]) == 0
    assert "smoke runs here" in capsys.readouterr().out
    costs._published.cache_clear()
    costs._published_cost.cache_clear()
    after = costs.resources(config, "go_ucb", "smoke", *pair, "0-1")
    assert after == before == (config.memory_mb, config.runtime_minutes)


def test_published_runs_without_timings(elsewhere: Path) -> None:
    publish({"f1/gp_ei": {"queries": 1}})
    with pytest.raises(RepliboError, match="go_ucb: holds no timings; publish the paper again"):
        costs.resources(load.load(), "go_ucb", "paper", "f1", "gp_ei", "0")
