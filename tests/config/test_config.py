"""The config: what it resolves to, and one line for each fault."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from replibo.config import claims, load, models, registry
from replibo.config.models import SCALES, RunSettings
from replibo.errors import RepliboError
from replibo.papers import lookup
from replibo.run import build, identity
from replibo.workflow import targets

PAPERS = ("go_ucb", "bbo", "neuralbo", "lb_gp_ucb")


def parsed(overlay: str) -> models.Config:
    """The config of GO-UCB's paper alone with this laid over it."""
    return load.parse(load.read_with({"papers": ["go_ucb"], **yaml.safe_load(overlay)}))


def test_no_network_below_the_paper_scale(root: Path) -> None:
    for entry in load.load().entries.values():
        for scale in ("smoke", "quick"):
            needs_data = any(entry.problems[p].data_files for p in entry.problems_at(scale))
            assert not needs_data or entry.scales[scale].data == "stand_in"  # type: ignore[index]
        assert entry.scales["paper"].data == "real"


def test_a_more_special_word_goes_first_and_an_algorithms_own_horizon_stands_until_one() -> None:
    low = RunSettings(horizon=9, horizons={"a": 5, "b": 6})
    assert RunSettings(seeds="0").over(low) == low.model_copy(update={"seeds": "0"})
    assert RunSettings(horizons={"b": 2}).over(low).horizons == {"a": 5, "b": 2}
    assert RunSettings(horizon=3).over(low) == RunSettings(horizon=3)
    assert RunSettings(horizon=3, horizons={"c": 1}).over(low).horizons == {"c": 1}


def test_readings_run_to_a_horizon_of_their_own(root: Path) -> None:
    entry = load.load(root / "config").paper("neuralbo")
    for name, T in (("neural_bo", 2000), ("neural_bo_joint", 500)):
        assert entry.settings("paper", "ackley_10", name).horizon == T
        assert identity.run_identity(entry, "paper", "ackley_10", name)["horizon"] == T
        assert entry.settings("quick", "ackley_10", name).horizon == 12
    assert entry.horizons("paper", "ackley_10") == {100, 500, 2000}
    assert entry.horizons("quick", "ackley_10") == {12}
    assert entry.horizons("paper", "bbob_2d") == {37}


def test_the_blocks_of_a_paper_hold_every_seed_once(root: Path) -> None:
    for entry in load.load().entries.values():
        for scale in SCALES:
            for problem in entry.problems_at(scale):
                settings = entry.settings(scale, problem)
                for algorithm in settings.algorithms or []:
                    blocks = entry.blocks(scale, problem, algorithm)
                    seeds = [seed for block in blocks for seed in models.seed_list(block)]
                    special = entry.scales[scale].algorithms.get(algorithm)  # type: ignore[index]
                    assert seeds == models.seed_list(
                        str((special and special.seeds) or settings.seeds)
                    )


def test_smoke_runs_every_type_of_algorithm_of_a_paper_but_botorchs(root: Path) -> None:
    """BoTorch's fits are dear; `test_contract` runs them. The cross table has the papers' types."""
    for entry in (load.load().paper(paper) for paper in PAPERS):
        ran = {
            a
            for p in entry.problems_at("smoke")
            for a in entry.settings("smoke", p).algorithms or []
        }
        types = {a.type for a in entry.algorithms.values()}
        assert {entry.algorithms[a].type for a in ran} == {
            name for name in types if not name.startswith("gp_botorch.")
        }


def test_smoke_uses_every_function_of_figures_and_tables(root: Path) -> None:
    """What is left out differs from what is made in its runs and options alone."""
    config = load.load()
    for paper, entry in config.entries.items():
        outputs = {**entry.figures, **entry.tables}
        shown = outputs.keys() - set(entry.scales["smoke"].left_out)
        functions = {output.function for output in outputs.values()}
        assert {outputs[name].function for name in shown} == functions, paper


def test_an_algorithm_has_one_look_in_all_papers_and_no_two_of_a_figure_share_it(
    root: Path,
) -> None:
    looks: dict[str, Any] = {}
    for paper, entry in load.load().entries.items():
        for name, figure in entry.figures.items():
            problems = entry.problems if figure.problems is None else figure.problems
            ran = [a for p in problems for a in entry.settings("paper", p).algorithms or []]
            shown = [entry.algorithms[a] for a in dict.fromkeys(figure.algorithms or ran)]
            of_figure = [(a.color, a.line, a.marker) for a in shown]
            assert len(of_figure) == len(set(of_figure)), name
        if paper not in PAPERS:  # one figure holds all papers' algorithms
            continue
        for name, algorithm in entry.algorithms.items():
            look = (algorithm.color, algorithm.line, algorithm.marker)
            assert looks.setdefault(name, look) == look


FAULTS = {
    "go_ucb: {defaults: {horizon: -3}}": r"config: go_ucb\.defaults\.horizon: must be greater than or equal to 1, got -3",
    "go_ucb: {problems: {f1: {horizons: {go_ucb: 5}}}}": "f1 has horizon 5 and 5 initial points",
    "go_ucb: {problems: {f1: {horizons: {nobody: 9}}}}": r"f1\.horizons: no algorithm is called 'nobody'",
    "go_ucb: {defaults: {horizon: 5}}": "horizon must be larger",
    "go_ucb: {defaults: {horizn: 3}}": r"defaults\.horizn: unknown key; allowed: add_algorithms, algorithms, horizon",
    "go_ucb: {defaults: {seeds: ten}}": r"seeds: must be a number or FIRST-LAST, e.g. 0-9, got 'ten'",
    "go_ucb: {defaults: {seeds: 9-0}}": "must be seeds in rising order.*got '9-0'",
    "go_ucb: {defaults: {seeds: 0-2147483647}}": "must be at most 100000 seeds",
    "go_ucb: {defaults: {seeds: true}}": "must be a number or FIRST-LAST.*got True",
    "go_ucb: {defaults: {algorithms: [nope]}}": "no algorithm is called 'nope'; allowed: bumps_explor",
    "go_ucb: {scales: {quick: {left_out: [figure_9]}}}": r"scales\.quick\.left_out: no figure or table is called 'figure_9'; allowed: estimates",
    "go_ucb: {scales: {quick: {only: [f9]}}}": r"scales\.quick\.only: no problem is called 'f9'",
    "go_ucb: {scales: {quick: {only: [g*]}}}": r"scales\.quick\.only: must be f1, .*, got 'g\*', which stands for none",
    "go_ucb: {problems: {f1: {colour: 9}}}": r"problems\.f1\.colour: unknown key; allowed: .*label",
    "go_ucb: {figures: {figure_1: {problems: [f9]}}}": r"figures\.figure_1\.problems: no problem is",
    "go_ucb: {algorithms: {new: {type: random_search.RandomSearch, label: n, color: black}}, figures: {figure_1: {add_algorithms: [new]}}}": r"figures\.figure_1\.add_algorithms: none of its problems runs 'new'; must be in the add_algorithms of",
    "go_ucb: {defaults: {algorithms: [go_ucb, go_ucb]}}": "must hold each name once, got 'go_ucb' twice",
    "go_ucb: 0": r"config: go_ucb: must be a valid dictionary .*, got 0",
    "papres: [go_ucb]": r"config: papres: unknown key; allowed: data_dir, .*go_ucb, .*papers",
    "go_ucb: {defaults: {horizon: true}}": r"defaults\.horizon: must be a valid integer, got true",
}


@pytest.mark.parametrize("overlay", FAULTS)
def test_a_fault_is_said_in_one_line(overlay: str, root: Path) -> None:
    with pytest.raises(RepliboError, match=FAULTS[overlay]) as caught:
        parsed(overlay)
    assert all(line.startswith("config: ") for line in str(caught.value).splitlines())
    assert len(str(caught.value).splitlines()) <= 2


PARAMETERS = {
    "{algorithms: {go_ucb: {parameters: {learning_rate: fast}}}}": "algorithms.go_ucb.parameters."
    "learning_rate: must be a valid number, got 'fast'",
    "{algorithms: {go_ucb: {parameters: {model_domain: 3}}}}": "algorithms.go_ucb.parameters."
    "model_domain: must be a list, got 3",
    "{algorithms: {go_ucb: {parameters: {V: 3}}}}": "algorithms.go_ucb.parameters."
    "V: is unknown; must be U, family, gradient_steps",
    "{problems: {f1: {type: go_ucb.F9}}}": "problems.f1.type: must be berkenkamp.Berkenkamp",
    "{problems: {f1: {parameters: {noise_std: -1}}}}": "problems.f1.parameters."
    "noise_std: must be greater than or equal to 0, got -1",
}


@pytest.mark.parametrize("overlay", PARAMETERS)
def test_a_wrong_type_or_parameter_is_said_in_one_line(overlay: str, root: Path) -> None:
    """By a run of the pair itself, and by the check of the whole config before a workflow."""
    config = parsed(f"go_ucb: {overlay}")
    for check in (
        lambda: build.experiment(config, "go_ucb", "quick", "f1", "go_ucb").make_algorithm(
            None,  # type: ignore[arg-type]
            None,  # type: ignore[arg-type]
        ),
        lambda: registry.check_all(config),
    ):
        with pytest.raises(RepliboError) as caught:
            check()
        assert str(caught.value).startswith(f"go_ucb.{PARAMETERS[overlay]}")
        assert "\n" not in str(caught.value)


def test_every_wrong_function_is_said_before_a_workflow(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the target: a run of days must not end at the figure."""
    figure = "figures: {figure_1: {function: os.system}, figure_1_all: {options: {regret: best}}}"
    table = "tables: {final_regret: {options: {nope: 1}}}"
    read = claims.read_yaml
    wrong = {
        "go_ucb_1_f1": {"measure": "nope"},
        "go_ucb_1_f2": {"readings": {"instantaneous": {"options": {"nope": 1}}}},
    }

    def with_wrong_claims(path: Path) -> dict[str, Any]:
        return load.merge(read(path), wrong) if path.stem == "go_ucb" else read(path)

    monkeypatch.setattr(claims, "read_yaml", with_wrong_claims)
    with pytest.raises(RepliboError) as caught:
        lookup.check_all(parsed(f"go_ucb: {{{figure}, {table}}}"))
    places = [
        "config: go_ucb.figures.figure_1.function: must be a function of replibo.papers.go_ucb, got 'os",
        "config: go_ucb.figures.figure_1_all.options.regret: must be 'average' or 'instantaneous'",
        "config: go_ucb.tables.final_regret.options: must be ",
        "config/claims/go_ucb.yaml: go_ucb_1_f1.measure: must be ",
        "config/claims/go_ucb.yaml: go_ucb_1_f2.readings.instantaneous.options: must be ",
    ]
    for line, place in zip(str(caught.value).splitlines(), places, strict=True):
        assert line.startswith(place)


@pytest.mark.parametrize("name", ["base.Algorithm", "neural_bo", "parts.Seen", "gp_ts.GpSampled"])
def test_what_is_no_algorithm_is_refused(name: str) -> None:
    with pytest.raises(RepliboError, match=r"^type: must be a_gp_ucb\.AGpUcb, .*, got '"):
        registry.load("algorithms", name)


TRAPS = {
    "a: 1\nb: [\n": "a.yaml, line 3: not YAML",
    "- 1\n": "must hold a mapping",
    "a: 1\nb: 2\na: 3": "line 3: not YAML (the key 'a' must stand there once)",
    "seeds: 010": "line 1: not YAML (must be a plain number, true or false, or a text in quotes, got 010)",
    "seeds: 1:30": "text in quotes, got 1:30)",
    f"horizon: {'9' * 5000}": "text in quotes, got 9999",
    "label: no": "text in quotes, got no)",
    "a: " + "[" * 5000: "must be nested at most 30 levels deep",
    "a: &a [*a]": "an alias must not stand for itself, nor for too much",
    "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
    + "".join(
        f"{new}: &{new} [{','.join(f'*{old}' for _ in range(9))}]\n"
        for old, new in zip("abcdefgh", "bcdefghi", strict=True)
    ): "nor for too much",
    "a: !!python/object:os.system x": "must have no tag, got tag:yaml.org,2002:python/object:os.system",
    "? [a]\n: 1": "a key must be a text",
    "a: \0": "characters are not allowed",
    "---\na: 1\n---\nb: 1": "but found another document",
    "": "must hold a mapping of keys to values",
}


@pytest.mark.parametrize("text", TRAPS)
def test_what_yaml_reads_otherwise_than_a_reader_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    with pytest.raises(RepliboError) as caught:
        load.read_yaml(path)
    message = str(caught.value)
    assert message.startswith(str(path)) and TRAPS[text] in message and "\n" not in message


def test_what_is_plain_yaml_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(
        "a: &a [1, -2, 0, 1.5, .5, -1.0e-3, .inf, true, null, ~, text, '010', 2020-01-01]\nb: *a\n"
    )
    values = [
        1,
        -2,
        0,
        1.5,
        0.5,
        -1e-3,
        float("inf"),
        True,
        None,
        None,
        "text",
        "010",
        "2020-01-01",
    ]
    assert load.read_yaml(path) == {"a": values, "b": values}


def test_a_config_that_is_not_utf_8_or_no_file(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"a: \xff\n")
    with pytest.raises(RepliboError, match=r"a\.yaml: cannot be read \(not UTF-8\)"):
        load.read_yaml(tmp_path / "a.yaml")
    with pytest.raises(RepliboError, match="must be a file, got a folder"):
        load.read_yaml(tmp_path)


def test_a_config_type_is_a_public_class_that_can_be_loaded() -> None:
    for kind in ("problems", "algorithms"):
        for name in registry.names(kind):  # type: ignore[arg-type]
            assert registry.load(kind, name).__name__ == name.partition(".")[2]  # type: ignore[arg-type]
            assert registry.summary(kind, name)  # type: ignore[arg-type]


def test_every_key_of_the_config_is_explained(root: Path) -> None:
    text = (root / "config" / "README.md").read_text(encoding="utf-8")
    for model in (*models.Model.__subclasses__(), models.ProblemEntry):
        for key in {*model.model_fields} - {"entries"}:
            assert f"`{key}`" in text, f"config/README.md does not explain {key}"


def test_jobs_get_a_changed_config_in_its_own_order(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    overlay = elsewhere / "mine.yaml"
    entry = "{type: random_search.RandomSearch, label: Mine, color: grey}"
    overlay.write_text(f"go_ucb: {{algorithms: {{second: {entry}, first: {entry}}}}}\n")
    raw = load.read(overlays=[overlay])
    monkeypatch.setenv("PATH", os.environ["PATH"])
    monkeypatch.setenv(load.OVERLAY_VARIABLE, "")
    targets.export(load.parse(raw), raw)
    config = load.load(overlays=load.overlays_of_workflow())
    assert list(config.paper("go_ucb").algorithms)[-2:] == ["second", "first"]


def test_an_algorithms_own_seeds_change_what_captions_say(root: Path) -> None:
    seeds = parsed("go_ucb: {scales: {paper: {algorithms: {gp_ei: {seeds: 0-4}}}}}")
    digests = {
        targets.output_digest(config, "figures", "go_ucb", "figure_1")
        for config in (seeds, parsed("{}"))
    }
    assert len(digests) == 2


def test_a_grid_stands_for_every_combination_and_a_later_entry_is_laid_over(root: Path) -> None:
    config = parsed("""
      go_ucb:
        algorithms:
          "x_{U}_{line}":
            type: go_ucb.GoUcb
            label: "U = {U}, {line}"
            color: blue
            parameters: {learning_rate: 0.5, U: "{U}"}
            grid: {U: [1, 2], line: {plain: {}, dots: {label: dotted, line: dotted, parameters: {C: 3}}}}
          x_2_dots: {parameters: {C: 4}}
      """)
    cells = {
        name: (entry.label, entry.line, entry.parameters)
        for name, entry in config.paper("go_ucb").algorithms.items()
        if name.startswith("x_")
    }
    assert cells == {
        "x_1_plain": ("U = 1, plain", "solid", {"learning_rate": 0.5, "U": 1}),
        "x_1_dots": ("U = 1, dotted", "dotted", {"learning_rate": 0.5, "U": 1, "C": 3}),
        "x_2_plain": ("U = 2, plain", "solid", {"learning_rate": 0.5, "U": 2}),
        "x_2_dots": ("U = 2, dotted", "dotted", {"learning_rate": 0.5, "U": 2, "C": 4}),
    }


def test_a_name_with_a_star_stands_for_those_that_it_fits() -> None:
    entry = parsed("""
      go_ucb:
        defaults:
          algorithms: [gp_ucb, "gp_*", go_ucb]
          horizons: {"g*": 30, gp_*: 31, gp_ei: 32}
        scales: {paper: {only: ["f*_noise"], algorithms: {"*_ei": {seeds: 0-3}}}}
      """).paper("go_ucb")
    variants = [f"gp_{name}_{how}" for name in ("ei", "pi", "ucb") for how in ("stock", "ten")]
    assert entry.defaults.algorithms == ["gp_ucb", "gp_ei", "gp_pi", *variants, "go_ucb"]
    T = entry.defaults.horizons
    assert (T["go_greedy"], T["gp_pi"], T["gp_ei"]) == (30, 31, 32)
    assert "random_search" not in T
    assert entry.problems_at("paper") == [
        f"{f}_{level}_noise" for level in ("low", "high") for f in ("f1", "f2")
    ]
    assert entry.seeds("paper", "f1_low_noise", "gp_ei") == [0, 1, 2, 3]


GRIDS = {
    '"x_{U}": {grid: [1]}': "grid: must be a mapping of axes, got",
    '"x_{U}": {label: "{U}", grid: {U: 1}}': "grid.U: must be a list of different values, or a mapping of values to",
    '"x_{U}": {label: "{U}", grid: {U: {a: 1}}}': "grid.U: must be a list of different values, or a mapping of",
    'x_1: {}, "x_{U}": {label: "{U}", grid: {U: [1]}}': "grid: must make what stands nowhere above, got x_1",
    '"x_{U}": {grid: {V: [1]}}': "grid: the entry's name and its label must have {V} in them",
}


@pytest.mark.parametrize("entry", GRIDS)
def test_a_fault_in_a_grid_is_said(entry: str) -> None:
    with pytest.raises(RepliboError) as caught:
        parsed(f"go_ucb: {{problems: {{{entry}}}}}")
    assert str(caught.value).startswith(f"config: go_ucb.problems.x_{{U}}.{GRIDS[entry]}")
    assert "\n" not in str(caught.value)
