"""The verdicts, on traces whose regret is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from replibo import verdicts
from replibo.config import claims, load, models
from replibo.config.claims import Claim
from replibo.errors import RepliboError
from replibo.papers import go_ucb, lookup
from replibo.results.comparisons import Comparison, judge
from replibo.results.runs import Runs

NAMES = ("go_ucb", "gp_ei", "gp_pi", "gp_ucb")


def made_runs(
    regrets: dict[str, dict[str, np.ndarray]], scale: str = "paper", **facts: Any
) -> Runs:
    """Runs with the given regrets, ``seeds x 20`` for each problem and algorithm."""
    parts = []
    for problem, algorithms in regrets.items():
        for algorithm, regret in algorithms.items():
            seeds, rounds = regret.shape
            parts.append(
                pa.table(
                    {
                        "problem": [problem] * regret.size,
                        "algorithm": [algorithm] * regret.size,
                        "seed": np.repeat(np.arange(seeds), rounds),
                        "t": np.tile(np.arange(1, rounds + 1), seeds),
                        "f": 1.0 - regret.ravel(),
                    }
                )
            )
    known = {"optimal_value": 1.0, "initial_points": 5, "horizon": 20, "stand_in": "", **facts}
    metadata = {"scale": scale, "problems": {problem: known for problem in regrets}}
    return Runs(load.load().paper("go_ucb"), metadata, pa.concat_tables(parts))


def constant(mean: float, seeds: int = 100, sd: float = 0.01, key: int = 0) -> np.ndarray:
    """Regret with the given mean and independent noise over seeds and rounds."""
    rng = np.random.default_rng(key)
    return mean + sd * rng.standard_normal((seeds, 20))


def claim(name: str) -> Claim:
    return claims.load(load.load(), "go_ucb")[name]


def regrets(**means: float) -> dict[str, np.ndarray]:
    return {name: constant(means[name], key=i) for i, name in enumerate(NAMES)}


def test_the_rule() -> None:
    def word(*outcomes: Any) -> str:
        return judge([Comparison(outcome, "") for outcome in outcomes])

    assert word("supported", "supported") == "replicated"
    assert word("supported", "open") == word("supported", "contradicted") == "partly"
    assert word("contradicted", "open") == word("contradicted") == "not replicated"
    assert word("open") == "inconclusive"


@pytest.mark.parametrize(
    ("own", "expected"),
    [(0.0, "replicated"), (0.5, "not replicated"), (0.1, "inconclusive"), (0.15, "partly")],
)
def test_below_each_baseline(own: float, expected: str, root: Path) -> None:
    runs = made_runs({"f1": regrets(go_ucb=own, gp_ei=0.2, gp_pi=0.1, gp_ucb=0.1)})
    if expected == "inconclusive":
        runs = made_runs({"f1": {name: constant(0.1, sd=0.1, key=7) for name in NAMES}})
    found = verdicts.verdict("c", "go_ucb", claim("go_ucb_1_f1"), runs)
    assert found.verdict == expected
    assert found.seeds == 100 and all("±" in text for text in found.ours)


def test_closest_baseline(root: Path) -> None:
    close = {"go_ucb": 0.0, "gp_ei": 0.3, "gp_pi": 0.3, "gp_ucb": 0.1}
    swapped = {**close, "gp_ei": 0.1, "gp_pi": 0.1, "gp_ucb": 0.3}
    runs = made_runs({"f1": regrets(**close), "f2": regrets(**close)})
    assert verdicts.verdict("c", "go_ucb", claim("go_ucb_2"), runs).verdict == "replicated"
    runs = made_runs({"f1": regrets(**close), "f2": regrets(**swapped)})
    assert verdicts.verdict("c", "go_ucb", claim("go_ucb_2"), runs).verdict == "partly"
    runs = made_runs({"f1": regrets(**swapped), "f2": regrets(**swapped)})
    assert verdicts.verdict("c", "go_ucb", claim("go_ucb_2"), runs).verdict == "not replicated"


def test_shrinking_error_bars(root: Path) -> None:
    # independent noise: the running average's spread shrinks as 1/sqrt(t - n)
    shrinking = {name: constant(0.1, key=i) for i, name in enumerate(NAMES)}
    runs = made_runs({"f1": shrinking, "f2": shrinking})
    assert verdicts.verdict("c", "go_ucb", claim("go_ucb_3"), runs).verdict == "replicated"
    growing = {name: value * np.arange(1, 21) ** 2 for name, value in shrinking.items()}
    runs = made_runs({"f1": growing, "f2": growing})
    assert verdicts.verdict("c", "go_ucb", claim("go_ucb_3"), runs).verdict == "not replicated"
    # methods that had a spread at first, and none in the end
    spread = np.random.default_rng(0).uniform(size=(100, 1))
    vanished = {name: np.where(np.arange(20) == 5, 1.0, -1 / 14) * spread for name in NAMES}
    runs = made_runs({"f1": vanished, "f2": vanished})
    assert verdicts.verdict("c", "go_ucb", claim("go_ucb_3"), runs).verdict == "replicated"
    # no spread at any round shows nothing
    runs = made_runs({p: {name: np.zeros((100, 20)) for name in NAMES} for p in ("f1", "f2")})
    assert verdicts.verdict("c", "go_ucb", claim("go_ucb_3"), runs).verdict == "inconclusive"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"scale": "quick"}, "quick scale"),
        ({"stand_in": "made up"}, "stand-in data"),
        ({"horizon": 19}, "T = 19 of 20"),
    ],
)
def test_a_smaller_run_never_says_replicated(
    changes: dict[str, Any], reason: str, root: Path
) -> None:
    means = {"go_ucb": 0.0, "gp_ei": 0.2, "gp_pi": 0.2, "gp_ucb": 0.1}
    found = verdicts.verdict(
        "c", "go_ucb", claim("go_ucb_1_f1"), made_runs({"f1": regrets(**means)}, **changes)
    )
    assert found.verdict == f"holds ({reason})"


def test_fewer_seeds_are_said(root: Path) -> None:
    means = {"go_ucb": 0.0, "gp_ei": 0.2, "gp_pi": 0.2, "gp_ucb": 0.1}
    few = {name: value[:30] for name, value in regrets(**means).items()}
    found = verdicts.verdict("c", "go_ucb", claim("go_ucb_1_f1"), made_runs({"f1": few}))
    assert found.verdict == "holds (30 of 100 seeds)"


def test_a_baseline_of_few_seeds_is_said(root: Path) -> None:
    """Baselines that may be missing stand in a claim's options alone."""
    own = claim("go_ucb_1_f1").model_copy(update={"algorithms": ("go_ucb",)})
    runs = regrets(go_ucb=0.0, gp_ei=0.2, gp_pi=0.2, gp_ucb=0.1)
    runs["gp_pi"] = runs["gp_pi"][:30]
    found = verdicts.verdict("c", "go_ucb", own, made_runs({"f1": runs}))
    assert (found.verdict, found.seeds) == ("holds (30 of 100 seeds)", 30)


def test_missing_runs_are_not_run(root: Path) -> None:
    runs = made_runs({"f1": {"go_ucb": constant(0.0), "gp_ei": constant(0.2)}})
    found = verdicts.verdict("c", "go_ucb", claim("go_ucb_1_f1"), runs)
    assert found.verdict == "not run" and "no runs of gp_pi on f1, gp_ucb on f1" in found.ours[0]
    assert verdicts.verdict("c", "go_ucb", claim("go_ucb_1_f2"), runs).verdict == "not run"
    assert verdicts.verdict("c", "go_ucb", claim("go_ucb_1_f2"), None).verdict == "not run"


@pytest.mark.parametrize("paper", load.load(Path(__file__).parents[1] / "config").papers)
def test_every_claim_names_a_measure_and_runs_that_exist(paper: str, root: Path) -> None:
    config = load.load()
    entry, found = config.paper(paper), claims.load(config, paper)
    assert found
    for name, own in found.items():
        lookup.load("claims", paper, own.measure, own.options, name)
        for problem in own.problems:
            settings = entry.settings("paper", problem)
            full = own.seeds if isinstance(own.seeds, int) else own.seeds[problem]
            assert len(models.seed_list(str(settings.seeds))) >= full, name
            assert (settings.horizon or 0) >= own.horizon, name


def test_a_claim_reads_what_its_options_name(root: Path) -> None:
    entry = load.load().paper("neuralbo")
    own = claims.load(load.load(), "neuralbo")["neuralbo_7"]
    problems, algorithms = own.reads(entry)
    assert problems == {"robot_pushing", "robot_memory"}
    assert algorithms == {"gp_ucb", "neural_bo", "neural_bo_printed", "neural_greedy"}


CLAIM = """
a: {where: w, statement: s, paper_value: v, measure: final_regret, problems: [f1], algorithms: [go_ucb],
    seeds: 1, horizon: 1, rule: r}
"""


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("where: w", "wher: w", r"go_ucb\.yaml: a\.where: Field required"),
        ("[f1]", "[f9]", r"go_ucb\.yaml: a\.problems: must be f1, .*, got 'f9'"),
        ("[go_ucb]", "[sgd]", r"go_ucb\.yaml: a\.algorithms: must be .*, got 'sgd'"),
    ],
)
def test_a_fault_in_the_claims_file_is_said(
    old: str, new: str, line: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = load.load()
    (tmp_path / "config/claims").mkdir(parents=True)
    (tmp_path / "config/claims/go_ucb.yaml").write_text(CLAIM.replace(old, new))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RepliboError, match=line):
        claims.load(config, "go_ucb")


@pytest.mark.parametrize(
    ("kind", "name", "line"),
    [
        (
            "figures",
            "nope",
            "must be final_regret or regret_panels of replibo.papers.go_ucb, got 'nope'",
        ),
        ("figures", "Runs", "got 'Runs'"),  # a class, imported
        ("figures", "allowed", "got 'allowed'"),  # a function, imported
        (
            "claims",
            "_interval",
            "must be below_each_baseline, closest_baseline or shrinking_error_bars",
        ),
        ("claims", "final_regret", "got 'final_regret'"),  # makes a table
        ("tables", "tables.final_regret", "must be a function of replibo.papers.go_ucb"),
    ],
)
def test_only_a_modules_own_public_functions_are_offered(kind: Any, name: str, line: str) -> None:
    with pytest.raises(RepliboError) as caught:
        lookup.load(kind, "go_ucb", name, {}, "here")
    assert line in str(caught.value) and "\n" not in str(caught.value)


def test_wrong_options_are_said() -> None:
    with pytest.raises(RepliboError, match=r"here\.options: must be regret, got 'regrets'"):
        lookup.load("figures", "go_ucb", "regret_panels", {"regrets": "average"}, "here")
    with pytest.raises(RepliboError, match=r"here\.options: algorithm is missing"):
        lookup.load("claims", "go_ucb", "below_each_baseline", {"problem": "f1"}, "here")


def test_average_regret_is_of_phase_two_only(root: Path) -> None:
    regret = np.concatenate([np.full((3, 5), 9.0), np.arange(15.0) + np.zeros((3, 1))], axis=1)
    runs = made_runs({"f1": {"go_ucb": regret}})
    t, values = go_ucb.phase_two_regret(runs, "f1", "go_ucb")
    np.testing.assert_array_equal(t, np.arange(6, 21))
    np.testing.assert_allclose(values[0], np.arange(15) / 2)
    _, total = go_ucb.phase_two_regret(runs, "f1", "go_ucb", "cumulative")
    assert total[0, -1] == pytest.approx(105)


def test_a_changed_config_never_says_replicated(root: Path) -> None:
    means = {"go_ucb": 0.0, "gp_ei": 0.2, "gp_pi": 0.2, "gp_ucb": 0.1}
    runs = made_runs({"f1": regrets(**means)})
    runs.metadata["changed_config"] = True
    assert (
        verdicts.verdict("c", "go_ucb", claim("go_ucb_1_f1"), runs).verdict
        == "holds (a changed config)"
    )


def test_paired_tests_use_the_seeds_that_all_have(root: Path) -> None:
    close = {"go_ucb": 0.0, "gp_ei": 0.3, "gp_pi": 0.3, "gp_ucb": 0.1}
    some = regrets(**close)
    some["gp_ei"] = some["gp_ei"][:50]
    runs = made_runs({"f1": some, "f2": regrets(**close)})
    found = verdicts.verdict("c", "go_ucb", claim("go_ucb_2"), runs)
    assert found.verdict == "holds (50 of 100 seeds)" and found.seeds == 50
    own, other = go_ucb.paired_final_regret(runs, "f1", ["go_ucb", "gp_ei"])
    assert len(own) == len(other) == 50


def test_wrong_options_of_a_claim_are_said_in_one_line(root: Path) -> None:
    means = {"go_ucb": 0.0, "gp_ei": 0.2, "gp_pi": 0.2, "gp_ucb": 0.1}
    wrong = claim("go_ucb_1_f1").model_copy(update={"options": {"problme": "f1"}})
    with pytest.raises(
        RepliboError, match=r"go_ucb\.yaml: c\.options: must be .*problem, got 'problme'"
    ):
        verdicts.verdict("c", "go_ucb", wrong, made_runs({"f1": regrets(**means)}))


def test_captions_say_in_what_the_runs_are_less_than_the_papers(root: Path) -> None:
    few = {"f1": {"go_ucb": constant(0.0, seeds=30)}}
    assert "reduced" not in made_runs({"f1": {"go_ucb": constant(0.0)}}).note(["f1"])
    assert "30 of 100 seeds" in made_runs(few).note(["f1"])
    assert "T = 10 of 20" in made_runs(few, horizon=10).note(["f1"])
    assert "quick scale" in made_runs(few, scale="quick").note(["f1"])
    assert "stand-in data" in made_runs(few, stand_in="Made up.").note(["f1"])
