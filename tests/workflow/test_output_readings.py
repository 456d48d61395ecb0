"""A reading of a figure or table: the runs and options that the claims' reading names."""

from __future__ import annotations

from pathlib import Path

import pytest

from replibo import paths
from replibo.config import claims, load
from replibo.errors import RepliboError
from replibo.workflow import outputs, targets
from replibo.workflow.estimate import plan

ROOT = Path(__file__).parents[2]


def test_a_reading_shows_the_runs_that_stand_in_for_the_printed_ones() -> None:
    config = load.load()
    printed = targets.output_pairs(config, "tables", "neuralbo", "table_2", "paper")
    taken = targets.output_pairs(config, "tables", "neuralbo", "table_2.standardised", "paper")
    words = {"neural_bo": "neural_bo_standardised", "neural_greedy": "neural_greedy_standardised"}
    assert set(taken) == {(problem, words.get(name, name)) for problem, name in printed}
    # and not a second time under their own names
    entry, standing = targets.shown(config, "figures", "neuralbo", "figure_1.standardised")
    assert len(set(standing.values())) == len(standing)
    assert "neural_bo" in (entry.algorithms or [])
    assert "neural_bo_standardised" not in (entry.algorithms or [])


def test_a_reading_may_change_problems_or_options_alone() -> None:
    config = load.load()
    pooled, _ = targets.shown(config, "tables", "neuralbo", "table_2.pooled")
    assert pooled.options == {"pooled": True}
    pairs = targets.output_pairs(config, "figures", "neuralbo", "figure_4.per_seed", "paper")
    assert {problem for problem, _ in pairs} == {"retrieval_per_seed"}
    # a file of a reading needs its own runs only
    jobs = plan(config, ["figures/paper/neuralbo/figure_4.per_seed.pdf"])
    assert {job.names[:2] for job in jobs if job.kind == "run"} == set(pairs)


def test_the_table_in_a_reading_names_what_was_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    config = load.load()
    table = outputs.made_from_own_runs(
        config, "tables", "go_ucb", "final_regret.low_noise", paths.PUBLISHED
    )
    shown = outputs.made_from_own_runs(config, "tables", "go_ucb", "final_regret", paths.PUBLISHED)
    labels = {name: config.paper("go_ucb").problems[name].label for name in ("f1_low_noise", "f1")}
    low = shown.frame[shown.frame["problem"] == labels["f1_low_noise"]]
    same = table.frame[table.frame["problem"] == labels["f1_low_noise"]]
    assert len(low) and set(low["algorithm"]) >= set(same["algorithm"]) and len(same)
    assert labels["f1"] not in set(table.frame["problem"])
    assert "f1 → f1_low_noise" in table.caption


@pytest.mark.parametrize("reading", ["pooledd", "one_run", "", "pooled.pooled"])
def test_a_wrong_reading_gets_one_line_with_what_is_allowed(reading: str) -> None:
    with pytest.raises(RepliboError) as error:
        targets.output_pairs(load.load(), "tables", "neuralbo", f"table_2.{reading}", "paper")
    assert str(error.value).startswith("neuralbo.tables.table_2: reading: must be ")
    assert "\n" not in str(error.value) and "pooled" in str(error.value)


def test_claims_agree_on_what_a_reading_replaces_on_one_problem() -> None:
    """Else an output could not be shown in it."""
    config = load.load()
    for paper in config.papers:
        found: dict[tuple[str, str, str], str] = {}
        for claim in claims.load(config, paper).values():
            for reading, variation in claim.variations.items():
                for problem in claim.problems:
                    for old, new in (variation.problems | variation.algorithms).items():
                        if old == problem or old in variation.algorithms:
                            assert found.setdefault((reading, problem, old), new) == new, reading


def test_every_configured_pair_is_read_by_a_claim_or_an_output_and_what_a_claim_needs_is_run() -> (
    None
):
    """A run that nothing reads costs time and shows nothing. (The site's curves show all runs there
    are.)"""
    config = load.load()
    for paper in config.papers:
        entry, read = config.paper(paper), set()
        for claim in claims.load(config, paper).values():
            read |= claim.all_pairs(entry)
            for name, variation in claim.variations.items():
                needed = set(claim.needed(variation))
                assert needed <= set(entry.pairs("paper")), (claim.short, name)
        for kind, names in (("figures", entry.figures), ("tables", entry.tables)):
            for name in names:
                read |= set(targets.output_pairs(config, kind, paper, name, "paper"))
                for _, standing in targets.readings(config, kind, paper, name).values():
                    read |= set(standing.values())
        assert not set(entry.pairs("paper")) - read, paper
