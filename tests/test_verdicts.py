"""The verdicts, on traces whose regret is known."""

from __future__ import annotations

import dataclasses
import math
import re
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from replibo import verdicts
from replibo.config import claims, load, models
from replibo.config.claims import Claim
from replibo.errors import RepliboError
from replibo.papers import lookup
from replibo.results import effects
from replibo.results.comparisons import Comparison, Undecided, Word, decided, judge, label_of_counts
from replibo.results.runs import Runs
from replibo.run import pairs
from replibo.verdicts import Judgement, Verdict
from replibo.workflow import targets

from .papers.conftest import pair, runs_of

NAMES = ("go_ucb", "gp_ei", "gp_pi", "gp_ucb")


def made_runs(
    regrets: dict[str, dict[str, np.ndarray]], scale: str = "paper", **facts: Any
) -> Runs:
    """Runs with the given regrets, ``seeds x 20`` for each problem and algorithm."""
    parts = [
        pair((problem, algorithm), 1.0 - regret)
        for problem, algorithms in regrets.items()
        for algorithm, regret in algorithms.items()
    ]
    known_facts = {"optimal_value": 1.0, "initial_points": 5, "horizon": 20, **facts}
    return runs_of(load.load().paper("go_ucb"), parts, dict.fromkeys(regrets, known_facts), scale)


def constant(mean: float, seeds: int = 100, sd: float = 0.01, key: int = 0) -> np.ndarray:
    """Regret with the given mean and independent noise over seeds and rounds."""
    rng = np.random.default_rng(key)
    return mean + sd * rng.standard_normal((seeds, 20))


def claim_of(name: str) -> Claim:
    return claims.load(load.load(), "go_ucb")[name]


def regrets(**means: float) -> dict[str, np.ndarray]:
    return {name: constant(means[name], key=i) for i, name in enumerate(NAMES)}


def judge_claim(claim: Claim, runs: Runs | None) -> Verdict:
    return verdicts.judge_claim("c", "go_ucb", claim, load.load().paper("go_ucb"), runs)


@pytest.mark.parametrize(
    ("s", "c", "k", "expected"),
    [
        (2, 0, 2, "holds"),
        (3, 1, 4, "holds with exceptions"),
        (2, 0, 4, "holds with exceptions"),
        (2, 1, 4, "mixed"),
        (1, 0, 4, "undecided"),
        (1, 3, 4, "fails"),
        (0, 2, 4, "fails"),
        (1, 2, 4, "mixed"),
        (0, 1, 4, "undecided"),
        (0, 0, 1, "undecided"),
        (0, 0, 0, "undecided"),
    ],
)
def test_the_rule(s: int, c: int, k: int, expected: str) -> None:
    """One comparison does not outweigh many, and what is left out does not count."""
    outcomes: list[Any] = ["supported"] * s + ["contradicted"] * c + ["open"] * (k - s - c)
    for more in ([], ["left out"]):
        assert judge([Comparison(outcome, "") for outcome in outcomes + more]) == expected


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30))
def test_the_label_of_the_opposite_claim_is_the_opposite_one(s: int, c: int, o: int) -> None:
    """A claim and its opposite are never both said to hold, nor both to fail."""
    label, opposite = label_of_counts(s, c, s + c + o), label_of_counts(c, s, s + c + o)
    mirrored = {"holds": "fails", "holds with exceptions": "fails"}
    assert label == opposite or opposite == mirrored.get(label) or label == mirrored.get(opposite)


P_VALUES = st.one_of(st.floats(0, 1), st.just(math.nan))


@given(st.lists(st.tuples(P_VALUES, P_VALUES), max_size=6), st.sampled_from([0.01, 0.05]))
def test_tests_are_decided_by_holms_p_values(
    pairs: list[tuple[float, float]], level: float
) -> None:
    """By Holm's definition: of m tests the one with the k-th smallest p is rejected if it and all smaller
    ones are below level/(m - k + 1). What is decided already stays, and does not count."""
    settled = Comparison("open", "was not run")
    comparisons = decided([settled, *(Undecided("x", *pair) for pair in pairs)], level)
    assert comparisons[0] is settled
    outcomes = ["open"] * len(pairs)
    for direction, outcome in enumerate(("supported", "contradicted")):
        p_values = [pair[direction] for pair in pairs]
        tests = sorted((p, i) for i, p in enumerate(p_values) if not math.isnan(p))
        for k, (p, i) in enumerate(tests):
            if not p * (len(tests) - k) < level:
                break
            outcomes[i] = outcome
    assert [comparison.outcome for comparison in comparisons[1:]] == outcomes


BETTER = {"go_ucb": 0.0, "gp_ei": 0.2, "gp_pi": 0.2, "gp_ucb": 0.1}


@pytest.mark.parametrize(
    ("changes", "reason", "undecided"),
    [
        ({"scale": "quick"}, "quick scale", False),
        ({"stand_in": "made up"}, "stand-in data", True),
        ({"horizon": 19}, "T = 19 of 20", True),
        ({"seeds": 30}, "30 of 100 seeds", False),
        ({"changed_config": True}, "a changed config", False),
    ],
)
def test_the_verdict_of_a_smaller_run_says_so(
    changes: dict[str, Any], reason: str, undecided: bool, root: Path
) -> None:
    """Of a shorter one and one on other data there is none. Captions say so, too."""
    seeds = changes.get("seeds", 100)
    f1 = {name: values[:seeds] for name, values in regrets(**BETTER).items()}
    runs = made_runs({"f1": f1}, **changes)
    runs.metadata["changed_config"] = "changed_config" in changes
    verdict = judge_claim(claim_of("go_ucb_1_f1"), runs)
    said = "undecided (these runs alone: holds; for" if undecided else "holds (for"
    assert verdict.printed.verdict == f"{said} 3, against 0, of 3; reduced: {reason})"
    assert not verdict.replicated
    assert f"Smaller than configured at paper scale: {reason}." in runs.note(["f1"])


def test_a_claim_is_replicated_by_whole_runs_unless_it_could_hardly_fail_or_is_untested(
    root: Path,
) -> None:
    runs = made_runs({"f1": regrets(**BETTER)})
    printed = claim_of("go_ucb_1_f1")
    assert judge_claim(printed, runs).replicated and "As configured" in runs.note(["f1"])
    untested = judge_claim(printed.model_copy(update={"untested": True}), runs)
    assert untested.headline == "holds" and not untested.replicated
    rule = {"weak": "the rule lets everything pass"}
    weak = judge_claim(printed.model_copy(update=rule), runs)
    assert weak.overall == weak.headline == "holds by construction" and not weak.replicated
    assert "weak: the rule lets everything pass" in weak.summary
    assert weak.label(weak.printed) == "holds by construction" and weak.printed.word == "holds"


def test_a_reading_that_names_an_algorithm_no_more_does_not_need_its_runs(root: Path) -> None:
    claim = claims.load(load.load(), "lb_gp_ucb")["lb_gp_ucb_3_crossed_barrel_best"]
    printed, seeds = claim.readings["printed"], claim.readings["more_seeds"]
    assert ("crossed_barrel", "mcmc") in claim.needed(printed)
    assert set(claim.needed(seeds)) == {
        ("crossed_barrel_70", "lb_gp_ucb"),
        ("crossed_barrel_70", "mle"),
    }
    assert "mcmc" not in claim.under(seeds).algorithms


def test_an_option_that_names_another_algorithm_reads_other_runs(root: Path) -> None:
    claim = read_in(
        other={"source": "open", "options": {"baselines": ["gp_ei_stock"]}},
        fewer={"source": "open", "options": {"baselines": ["gp_ei"]}},
    )
    f1 = {**regrets(**BETTER), "gp_ei_stock": constant(0.5)}
    assert [reading.name for reading in verdict_of(claim, f1=f1).repeating] == ["fewer"]


def test_a_claim_that_no_setting_prints_is_judged_in_its_readings_alone(root: Path) -> None:
    fields = claim_of("go_ucb_1_f1").model_dump() | {
        "unprinted": "the paper names no model",
        "readings": {"one_model": {"source": "open"}},
    }
    whole = made_runs({"f1": regrets(**BETTER)})
    claim = Claim.model_validate(fields)
    verdict = judge_claim(claim, whole)
    printed = verdict.printed
    assert (printed.word, printed.reason) == ("not printed", "the paper names no model")
    assert verdict.readings[1].word == "holds" and not verdict.replicated
    assert (verdict.headline, verdict.overall) == ("not printed", "holds")
    assert verdict.summary == "holds (holds in 1 of 1 reading)"
    with pytest.raises(ValidationError, match=r"readings\.one_model: must replace something"):
        Claim.model_validate(fields | {"unprinted": ""})


def test_a_baseline_of_few_seeds_is_said(root: Path) -> None:
    """Baselines that may be missing stand in a claim's options alone."""
    claim = claim_of("go_ucb_1_f1").model_copy(update={"algorithms": ("go_ucb",)})
    runs = regrets(**BETTER)
    runs["gp_pi"] = runs["gp_pi"][:30]
    printed = judge_claim(claim, made_runs({"f1": runs})).printed
    assert (printed.word, printed.reduced, printed.seeds) == ("holds", "30 of 100 seeds", 30)


def test_missing_runs_are_not_run(root: Path) -> None:
    runs = made_runs({"f1": {"go_ucb": constant(0.0), "gp_ei": constant(0.2)}})
    printed = judge_claim(claim_of("go_ucb_1_f1"), runs).printed
    assert printed.ours == ("no runs of gp_pi on f1; gp_ucb on f1",)
    assert printed.verdict == "not run"
    assert printed.missing == (("f1", "gp_pi"), ("f1", "gp_ucb"))
    assert judge_claim(claim_of("go_ucb_1_f2"), None).printed.verdict == "not run"


# Readings


READINGS = {
    "stock": {"source": "open", "algorithms": {"gp_ei": "gp_ei_stock"}},
    "loud": {"source": "open", "problems": {"f1": "f1_high_noise"}},
    "last": {"source": "open", "options": {"regret": "instantaneous"}},
    "code": {"source": "code", "algorithms": {"go_ucb": "go_ucb_hessian"}},
}


def read_in(**readings: dict[str, Any]) -> Claim:
    """The claim about f1 with other readings, and one control."""
    plain = claim_of("go_ucb_1_f1").model_dump()
    controls = {"greedy": {"algorithms": {"go_ucb": "go_greedy"}}}
    return Claim.model_validate(plain | {"readings": readings, "controls": controls})


def verdict_of(claim: Claim, **runs: dict[str, np.ndarray]) -> Verdict:
    return judge_claim(claim, made_runs({"f1": regrets(**BETTER), **runs}))


def test_a_reading_substitutes_and_measures_again(root: Path) -> None:
    claim = read_in(**READINGS)
    assert list(claim.readings) == ["printed", "code", "stock", "loud", "last"]  # by their source
    bad = regrets(go_ucb=0.5, gp_ei=0.2, gp_pi=0.1, gp_ucb=0.1)
    f1 = {**regrets(**BETTER), "gp_ei_stock": constant(0.0, sd=0.0), "go_greedy": constant(0.5)}
    verdict = verdict_of(claim, f1=f1, f1_high_noise=bad)
    words = {reading.name: reading.word for reading in verdict.readings}
    assert words == {
        "printed": "holds",
        "code": "not run",
        "stock": "holds with exceptions",
        "loud": "fails",
        "last": "holds",
    }
    by_name = {reading.name: reading for reading in verdict.readings}
    assert by_name["stock"].ours[0].split("; ")[1].startswith("GP-EI, no repeats 0.0000")
    assert by_name["code"].missing == (("f1", "go_ucb_hessian"),)
    assert by_name["loud"].changes == "f1 → f1_high_noise"
    assert [reading.name for reading in verdict.repeating] == ["last"]
    assert "; on the printed runs by another rule: last" in verdict.summary
    average, last = (float(by_name[n].ours[1].split()[1]) for n in ("printed", "last"))
    for value, rounds in ((average, slice(5, None)), (last, slice(-1, None))):
        assert value == pytest.approx(f1["gp_pi"][:, rounds].mean(), abs=1e-4)
    (control,) = verdict.controls
    assert (control.word, control.source) == ("fails", None)


def overall(*words: Any) -> Verdict:
    """A verdict of readings with these words, ``printed`` first; the effects of ``stock`` are not shown to
    be other ones."""
    claim = read_in(**READINGS)
    readings = [
        Judgement(name, reading.source, reading.changes, word, differs=name != "stock")
        for (name, reading), word in zip(claim.readings.items(), words, strict=False)
    ]
    control = Judgement("greedy", None, "", "fails")  # is never counted
    return Verdict("c", "go_ucb", claim, "paper", tuple(readings), (control,))


HOLDS, SOME, MIXED, FAILS, OPEN, ABSENT, _ = get_args(Word)


@pytest.mark.parametrize(
    ("words", "expected", "count", "decides"),
    [
        ((HOLDS, ABSENT), HOLDS, (1, 1), []),
        ((SOME, SOME), SOME, (2, 2), []),
        ((HOLDS, OPEN), SOME, (1, 2), ["code"]),
        ((HOLDS, HOLDS, HOLDS, FAILS), SOME, (3, 4), ["loud"]),
        ((FAILS, FAILS, ABSENT), FAILS, (0, 2), []),
        ((OPEN, FAILS), FAILS, (0, 2), ["code"]),
        ((OPEN, OPEN, FAILS), OPEN, (0, 3), []),
        ((HOLDS, FAILS, HOLDS), MIXED, (2, 3), ["code"]),
        ((OPEN, MIXED), MIXED, (0, 2), ["code"]),
        ((HOLDS, MIXED), MIXED, (1, 2), ["code"]),
        ((FAILS, MIXED), MIXED, (0, 2), ["code"]),
        ((ABSENT, HOLDS, FAILS), MIXED, (1, 2), []),
        ((ABSENT, ABSENT), ABSENT, (0, 0), []),
    ],
)
def test_what_the_readings_say_together(
    words: tuple[str, ...], expected: str, count: tuple[int, int], decides: list[str], root: Path
) -> None:
    verdict = overall(*words)
    assert verdict.overall == expected
    assert verdict.headline == words[0]
    assert (verdict.holding, len(verdict.counting)) == count
    assert [reading.name for reading in verdict.deciding] == decides


def test_neither_a_mend_nor_a_short_reading_counts(root: Path) -> None:
    verdict = overall(HOLDS, FAILS, FAILS, ABSENT)
    assert (verdict.overall, verdict.holding, len(verdict.counting)) == (MIXED, 1, 3)
    printed, *others = verdict.readings
    mend = dataclasses.replace(others[0], source="mend")
    short = dataclasses.replace(others[1], word=OPEN, short="T = 5 of 15")
    verdict = dataclasses.replace(verdict, readings=(printed, mend, short, others[2]))
    assert (verdict.overall, verdict.holding, verdict.counting) == (HOLDS, 1, (printed,))
    assert "(holds in 1 of 1 reading, 2 not counted, 1 not run)" in verdict.summary
    # nothing is long enough to decide
    assert dataclasses.replace(verdict, readings=(short, mend)).overall == OPEN


def test_the_effects_of_all_readings_in_one_line(root: Path) -> None:
    """Sizes beyond 20 deviations are cut; a reading whose effects have another unit hides the size. Claims of
    equality have no sign."""
    claim = read_in(**READINGS)
    f1 = {**regrets(**BETTER), "gp_ei_stock": constant(0.0)}
    bad = regrets(go_ucb=0.5, gp_ei=0.2, gp_pi=0.1, gp_ucb=0.1)
    verdict = verdict_of(claim, f1=f1, f1_high_noise=bad)
    values = [reading.effect[0] for reading in verdict.judged if reading.effect]
    assert [value > 0 for value in values] == [True, True, False, True]
    assert min(values) < -20 and np.median(values) > 20
    size = (
        "each reading's median d: from less than -20 to more than +20, in the middle more than +20"
    )
    assert verdict.multiverse == f"claimed sign in 3 of 4 readings; {size}"
    first, *others = verdict.readings
    effect = dataclasses.replace(first.comparisons[0].effect, unit="other")
    changed = dataclasses.replace(first.comparisons[0], effect=effect)
    first = dataclasses.replace(first, comparisons=(changed,))
    line = dataclasses.replace(verdict, readings=(first, *others)).multiverse
    assert line == "claimed sign in 3 of 4 readings"
    equal = [
        dataclasses.replace(
            reading,
            comparisons=tuple(
                dataclasses.replace(c, effect=dataclasses.replace(c.effect, equality=True))
                for c in reading.comparisons
                if c.effect
            ),
        )
        for reading in verdict.readings
    ]
    assert dataclasses.replace(verdict, readings=tuple(equal)).multiverse == size


def test_an_effect_of_seeds_that_hardly_differ_is_cut() -> None:
    effect = effects.Effect(31.0, 12.0, 50.0, (5,), 1.0, 4)
    assert str(effect) == "d more than +20 [+12.00, more than +20]"
    assert str(dataclasses.replace(effect, low=21.0)) == "d more than +20"
    assert str(dataclasses.replace(effect, unit="difference of means")).startswith(
        "difference of means +31.00 [+12.00, +50.00]"
    )


def test_the_summary_names_the_readings_of_each_label(root: Path) -> None:
    assert overall(HOLDS, FAILS, HOLDS, ABSENT).summary == (
        "mixed (holds in 2 of 3 readings, 1 not run): holds as printed, stock; fails as code"
    )
    assert overall(HOLDS, HOLDS).summary == "holds (holds in 2 of 2 readings)"


def test_a_claim_reads_the_runs_of_all_its_readings(root: Path) -> None:
    config = load.load()
    entry, claim = config.paper("go_ucb"), read_in(**READINGS)
    assert claim.all_pairs(entry) == {
        *(("f1", name) for name in (*NAMES, "gp_ei_stock", "go_ucb_hessian", "go_greedy")),
        *(("f1_high_noise", name) for name in NAMES),
    }
    # and at a scale no more than the scale runs: quick has no GO-UCB with the Hessian on f1_high_noise
    at_quick = pairs.among(config, "go_ucb", "quick", claim.all_pairs(entry))
    assert set(at_quick) <= set(entry.pairs("quick")) and ("f1_high_noise", "gp_pi") not in at_quick


def test_a_reading_needs_what_stands_in_for_the_claims_own_algorithm(root: Path) -> None:
    """A baseline's is an open cell where it was not run, unless nothing else is another one."""
    claim = claims.load(load.load(), "neuralbo")["neuralbo_1_ackley_10"]
    needed = {
        name: {algorithm for _, algorithm in claim.needed(claim.variations[name])}
        for name in ("printed", "uniform", "tuned_beta")
    }
    assert needed == {
        "printed": {"neural_bo"},
        "uniform": {"neural_bo_uniform"},
        "tuned_beta": {"neural_bo", "gp_ucb_tuned"},
    }


def test_a_reading_is_judged_at_the_horizon_of_its_own_runs(root: Path) -> None:
    f1 = {**regrets(**BETTER), "gp_ei_stock": constant(0.4)}
    cut, whole = made_runs({"f1": f1}, horizon=10), made_runs({"f1": f1})
    cut.metadata["pairs"] = {
        f"f1/{name}": {"horizon": 10 if name == "gp_ei_stock" else 20} for name in f1
    }
    asked: list[Any] = []

    def alone(pairs: Any) -> Runs:
        asked.append(pairs)
        return whole

    claim, cut = read_in(stock=READINGS["stock"]), dataclasses.replace(cut, read_alone=alone)
    verdict = judge_claim(claim, cut)
    assert [{name for _, name in pairs} for pairs in asked] == [set(NAMES)]  # not as stock
    assert [reading.reduced for reading in verdict.readings] == ["", "T = 10 of 20"]


@pytest.mark.parametrize("scale", ["quick", "smoke", "paper"])
def test_verdicts_ask_for_no_runs_beside_those_of_the_scale(scale: str, root: Path) -> None:
    config = load.load()
    for paper in config.papers:
        made = pairs.files(config, paper, scale, config.paper(paper).pairs(scale))
        assert set(targets.verdict_files(config, paper, scale)) <= set(made)


TITLES = {"go_ucb": "GO-UCB", "bbo": "BBO", "neuralbo": "NeuralBO", "lb_gp_ucb": "LB-GP-UCB"}


@pytest.mark.parametrize("paper", TITLES)
def test_every_reading_has_its_row_in_readings_and_the_other_way_round(
    paper: str, root: Path
) -> None:
    """A row says ``reading `name```, and stands in the paper's own part."""
    text = (root / "READINGS.md").read_text(encoding="utf-8")
    part = text.partition(f"\n## {TITLES[paper]}\n")[2].partition("\n## ")[0]
    named = {
        name
        for words in re.findall(
            r"(?:reading|control)s? ((?:`[a-z0-9_]+`(?:, | and )?)+)", part, re.I
        )
        for name in re.findall(r"`([a-z0-9_]+)`", words)
    }
    loaded = claims.load(load.load(), paper).values()
    names_of_readings = {name for claim in loaded for name in claim.variations}
    assert named == names_of_readings - {"printed"}


# The claims' files


@pytest.mark.parametrize("paper", TITLES)
def test_every_claim_names_runs_that_exist(paper: str, root: Path) -> None:
    config = load.load()
    entry, loaded = config.paper(paper), claims.load(config, paper)
    assert loaded
    for name, claim in loaded.items():
        for problem in claim.problems:
            settings = entry.settings("paper", problem)
            full = claim.seeds if isinstance(claim.seeds, int) else claim.seeds[problem]
            assert len(models.seed_list(str(settings.seeds))) >= full, name
            assert (settings.horizon or 0) >= claim.horizon, name


def test_a_claim_reads_what_its_options_name(root: Path) -> None:
    entry = load.load().paper("neuralbo")
    claim = claims.load(load.load(), "neuralbo")["neuralbo_7"]
    problems, algorithms = claim.reads(entry)
    assert problems == {"robot_pushing", "robot_memory"}
    assert algorithms == {"gp_ucb", "gp_ei", "gp_ts", "neural_bo_printed", "neural_greedy"}


CLAIM = """
a: {short: s, where: w, statement: s, paper_value: v, measure: final_regret, problems: [f1],
    algorithms: [go_ucb], seeds: 1, horizon: 1, rule: r,
    readings: {other: {source: open, algorithms: {go_ucb: go_greedy}}}, controls: {}}
"""


CLAIM_FAULTS = [
    ("where: w", "wher: w", r"go_ucb\.yaml: a\.where: missing"),
    ("[f1]", "[f9]", r"go_ucb\.yaml: a\.problems: must be f1, .*, got 'f9'"),
    ("[go_ucb]", "[sgd]", r"go_ucb\.yaml: a\.algorithms: must be .*, got 'sgd'"),
    ("{go_ucb: go", "{gp_ei: go", r"a\.readings\.other\.algorithms: must be go_ucb, got 'gp_ei'"),
    ("go_greedy", "greedy", r"a\.readings\.other\.algorithms: must be .*, got 'greedy'"),
    ("algorithms: {go_ucb", "problems: {f2", r"other\.problems: must be f1, got 'f2'"),
    ("algorithms: {go_ucb: go_greedy}", "options: {}", r"readings\.other: must replace something"),
    ("seeds: 1", "seeds: 0-19", r"a\.seeds: must be a whole number above 0, .*, got '0-19'"),
    ("seeds: 1", "seeds: {f2: 1}", r"a\.seeds: must be of f1, all of them, got f2"),
    ("other: {", "printed: {", r"readings\.printed: must be .* and replace nothing"),
    ("controls: {}", "controls: {other: {options: {a: 1}}}", r"controls: must have other names"),
    (
        "controls: {}",
        "options: {own: [go_ucb]}, controls: {x: {options: {own: [gp_ei]}}}",
        r"a\.controls\.x\.options: must name go_ucb, names none",
    ),
]

SHARED = """
readings: {cold: {source: open, algorithms: {go_ucb: go_ucb_cold_start, gp_ei: gp_ei_ten}}}
a: &a {short: s, where: w, statement: s, paper_value: v, measure: final_regret, problems: [f1],
    algorithms: [go_ucb], seeds: 1, horizon: 1, rule: r, readings: {cold}}
b: {<<: *a, algorithms: [gp_ei], readings: {cold: {words: ten}}}
"""


SHARED_FAULTS = [
    ("{cold}", "{cole}", r"a\.readings\.cole: must say what it replaces.*: cold; did you mean"),
    (
        "go_ucb: go_ucb_cold_start, gp_ei: gp_ei_ten",
        '"*": "*_warm"',
        r"ithms: must be .*'\*', which",
    ),
    ("gp_ei: gp_ei_ten", "gp_eo: gp_ei_ten", r"readings\.cold\.algorithms: must be .*'gp_eo'"),
    ("gp_ei: gp_ei_ten", "gp_ei: gp_ei", r"readings\.cold: must replace gp_ei by another, got it"),
    (
        "readings: {cold}",
        "readings: {cold, x: {source: open, algorithms: {go_ucb: go_ucb_cold_start}}}",
        r"a\.readings\.x: must replace something else than cold, got the same",
    ),
    ("[go_ucb]", "[gp_pi]", r"a: readings\.cold: must replace something"),
    ("\na: ", "\ncontrols: {x: {options: {a: 1}}}\na: ", r"controls\.x: must be named by a claim"),
]


GRID = """
defaults: {seeds: 5, horizon: 9}
"c_{f}_{t}":
  {short: "{f} at {t}", where: w, statement: s, measure: final_regret, rule: "{f}", readings: {}, seeds: 3,
   options: {problem: "{f}", algorithms: [gp_ei, go_ucb], t: "{t}"},
   grid: {f: {f1: {label: Easy}, f2: {label: Hard, also: [f1]}}, t: [10, 20]}}
c_f2_20: {horizon: 20, algorithms: [go_ucb]}
"""


GRID_FAULTS = [
    (
        'short: "{f} at {t}"',
        'short: "{f}"',
        r"c_\{f\}_\{t\}\.grid: .* its short must have \{t\} in",
    ),
    ("f2: {label", "f2: {lable: x, label", r"c_f2_10\.lable: unknown key"),
    ('"{f} at {t}"', '"{f} at {t} {ff}"', r"_\{t\}\.grid: must be of the axes f or t, got \{ff\}"),
    ("label: Easy", "label: [Easy]", r"grid\.f\.f1\.label: must be text, got \['Easy'\]"),
    ("[10, 20]", "[10, 10]", r"grid\.t: must be a list of different values, .*, got \[10, 10\]"),
    ("[10, 20]", "[{a: 1}]", r"grid\.t: must be a list of different values"),
    ("\nc_f2_20", "\nc_f2_21", r"c_f2_21: must have a short, .* above; did you mean .* c_f2_20"),
    ("horizon: 20", "horizon: 20, rule: '{f}'", r"c_f2_20: has \{f\}, but no grid"),
    ('"{f}", algo', "f3, algo", r"c_f1_10\.options\.problem: must be .*, got 'f3'"),
    ("[gp_ei, go_ucb]", "[gp_ei, go_ubc]", r"options\.algorithms: must be .*, got 'go_ubc'"),
    ("horizon: 9", "horizn: 9", r"ucb\.yaml: defaults: must be .*, got 'horizn'; did you mean ho"),
]


@pytest.mark.parametrize(
    ("text", "old", "new", "line"),
    [
        (text, *fault)
        for text, faults in ((CLAIM, CLAIM_FAULTS), (SHARED, SHARED_FAULTS), (GRID, GRID_FAULTS))
        for fault in faults
    ],
)
def test_a_fault_in_the_claims_file_is_said(
    text: str,
    old: str,
    new: str,
    line: str,
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(RepliboError, match=line):
        of_file(text.replace(old, new), tmp_path, monkeypatch)


def of_file(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, claims.Claim]:
    """The claims of GO-UCB if their file has this text."""
    config = load.load()
    (folder / "config/claims").mkdir(parents=True)
    (folder / "config/claims/go_ucb.yaml").write_text(text)
    monkeypatch.chdir(folder)
    return claims.load(config, "go_ucb")


def test_a_claim_has_of_a_shared_reading_what_it_reads_and_its_own_keys_count(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = of_file(SHARED, tmp_path, monkeypatch)
    a, b = (loaded[name].readings["cold"] for name in "ab")
    assert (a.algorithms, a.words) == ({"go_ucb": "go_ucb_cold_start"}, "")
    assert (b.algorithms, b.words) == ({"gp_ei": "gp_ei_ten"}, "ten")


def test_a_grid_of_claims_has_labels_in_sentences_and_the_values_elsewhere(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = of_file(GRID, tmp_path, monkeypatch)
    assert list(loaded) == ["c_f1_10", "c_f1_20", "c_f2_10", "c_f2_20"]
    first, last = loaded["c_f1_10"], loaded["c_f2_20"]
    assert (first.short, first.rule, first.options["t"]) == ("Easy at 10", "Easy", 10)
    # what is left out: of the defaults, and what the options name
    assert (first.seeds, first.horizon, first.paper_value) == (3, 9, "no number in the text")
    assert (first.problems, first.algorithms, first.also) == (["f1"], ["gp_ei", "go_ucb"], [])
    assert (last.horizon, last.problems, last.algorithms) == (20, ["f2"], ["go_ucb"])
    assert last.also == ["f1"]


@pytest.mark.parametrize(
    ("kind", "name", "line"),
    [
        (
            "figures",
            "nope",
            "must be estimates, final_regret, regret_panels, returned or scaling of replibo.papers.go_ucb",
        ),
        ("figures", "Runs", "got 'Runs'"),  # a class, imported
        ("figures", "allowed", "got 'allowed'"),  # a function, imported
        (
            "claims",
            "_interval",
            "must be below_each_baseline, larger_lead, less_regret, order_of_regret, performs_similarly ",
        ),
        ("claims", "final_regret", "got 'final_regret'"),  # makes a table
        ("tables", "tables.final_regret", "must be a function of replibo.papers.go_ucb"),
    ],
)
def test_only_a_modules_own_public_functions_are_offered(kind: Any, name: str, line: str) -> None:
    with pytest.raises(RepliboError) as caught:
        lookup.load(kind, "go_ucb", name, {}, "here")
    assert line in str(caught.value) and "\n" not in str(caught.value)


def test_a_missing_option_is_said() -> None:
    with pytest.raises(RepliboError, match=r"here\.options: algorithm is missing"):
        lookup.load("claims", "go_ucb", "below_each_baseline", {"problem": "f1"}, "here")


@pytest.mark.parametrize(
    ("kind", "paper", "name", "option", "value", "line"),
    [
        ("claims", "bbo", "claims.advised_horizon", "power", 3, "1 or 2, got 3"),
        ("claims", "bbo", "claims.advised_horizon", "constant", -1, "greater than 0, got -1"),
        ("claims", "bbo", "convex.smaller_regret", "rivals", "gp_ei", 'a list, got "gp_ei"'),
        ("figures", "lb_gp_ucb", "figures.figure_1", "points", [0.5], "have at least 2 items"),
        ("claims", "neuralbo", "sensitive.detection_at", "samples", "eight", ".* integer, got"),
        ("claims", "neuralbo", "claims.comparable_or_better", "pooled", "maybe", ".* boolean"),
    ],
)
def test_an_options_value_is_checked_by_the_functions_annotation(
    kind: Any, paper: str, name: str, option: str, value: Any, line: str
) -> None:
    others = dict.fromkeys(lookup.options_of(kind, paper, name, ""), "")
    with pytest.raises(
        RepliboError, match=rf"^here\.options\.{option}: must (be )?{line}"
    ) as caught:
        lookup.load(kind, paper, name, {option: value} | others | {option: value}, "here")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"main_claims": ["bbo_1"]},
            r"bbo\.main_claims: must be claims, got 'bbo_1'; did you mean",
        ),
        ({"tables": {"ei_20": {"claims": ["bbo_99_*"]}}}, r"ei_20\.claims: must be claims, got"),
    ],
)
def test_the_config_names_claims_that_there_are(
    changes: dict[str, Any], line: str, root: Path
) -> None:
    with pytest.raises(RepliboError, match=line):
        lookup.check_all(load.parse(load.read_with({"bbo": changes})))


def test_wrong_options_of_a_claim_are_said_in_one_line(root: Path) -> None:
    wrong = claim_of("go_ucb_1_f1").model_copy(update={"options": {"problme": "f1"}})
    for faulty, line in (
        (wrong, r"go_ucb\.yaml: c\.options: must be .*problem.*, got 'problme'"),
        (
            read_in(sum={"source": "open", "options": {"regrte": "instantaneous"}}),
            r"c\.readings\.sum\.options: must be .*regret, got 'regrte'",
        ),
    ):
        with pytest.raises(RepliboError, match=line):
            judge_claim(faulty, made_runs({"f1": regrets(**BETTER)}))
