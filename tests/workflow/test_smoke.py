"""The whole workflow at smoke scale, from runs to verdicts and report, and what reruns what."""

from __future__ import annotations

import csv
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from replibo import cli, threads, verdicts
from replibo.config import claims, load
from replibo.config.models import seed_list
from replibo.run import traces
from replibo.workflow import outputs, targets

from ..conftest import digests
from ..results.conftest import misfits
from .browser import CHROMIUM, browsed, faults, plain
from .conftest import ROOT, Project, make_project, run_files


def config() -> load.Config:
    return load.load(ROOT / "config")


def digests_in(project: Project) -> dict[tuple[str, ...], str]:
    """The digest of every trace, by paper, problem, algorithm and seed."""
    return {
        (*path.parts[-4:-1], seed): digest
        for path in project.path.glob("results/smoke/*/*/*/seeds_*.parquet")
        for seed, digest in digests(path).items()
    }


def test_every_output_is_there(smoke: Project) -> None:
    for name in targets.outputs(config(), "smoke"):
        assert (smoke.path / name).stat().st_size > 100, name
    # no journal and no half-written file is left behind
    assert not [
        p for p in (smoke.path / "results").rglob("*") if p.name.startswith((".", "journal"))
    ]


def test_a_second_invocation_does_nothing(smoke: Project) -> None:
    done = smoke.snakemake("--cores", "2", "smoke")
    assert "Nothing to be done" in done.stdout + done.stderr


def test_every_verdict_of_a_small_run_says_that_it_is_reduced(smoke: Project) -> None:
    rows = list(csv.DictReader((smoke.path / "results/smoke/verdicts.csv").open(encoding="utf-8")))
    assert len(rows) >= 4
    for row in rows:
        assert row["verdict"] in verdicts.UNJUDGED or "reduced: smoke scale" in row["verdict"]


def test_stand_in_data_are_labelled_wherever_they_show(smoke: Project) -> None:
    for paper, entry in config().entries.items():
        stand_ins = [p for p in entry.problems_at("smoke") if entry.problems[p].data_files]
        if not stand_ins:
            continue
        for problem in stand_ins:
            path = next((smoke.path / f"results/smoke/{paper}/{problem}").glob("*/seeds_*.parquet"))
            facts = traces.read_metadata(traces.read(path))["problem_facts"]
            assert "stand in for" in facts["stand_in"]
        for name in targets.names_at(config(), "tables", paper, "smoke"):
            table = entry.tables[name]
            if table.problems and not set(stand_ins) & set(table.problems):
                continue
            text = (smoke.path / f"results/smoke/{paper}/{name}.md").read_text(encoding="utf-8")
            computed = "Computed, not from runs." in text
            # a table of runs longer than smoke's shows nothing, and says so
            empty = " 0 seeds." in text or "Run: 0 of " in text
            assert computed or empty or ("stand in for" in text and "smoke scale" in text)


def test_no_figure_of_stand_ins_is_cut_or_overprinted(
    smoke: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their titles are longer. `test_own_runs` looks at all published figures."""
    monkeypatch.chdir(smoke.path)
    monkeypatch.delenv("REPLIBO_CONFIG", raising=False)
    drawn = 0
    for paper, entry in config().entries.items():
        for name in targets.names_at(config(), "figures", paper, "smoke"):
            shown = targets.output_pairs(config(), "figures", paper, name, "smoke")
            if any(entry.problems[problem].data_files for problem, _ in shown):
                figure = outputs.made_from_own_runs(config(), "figures", paper, name, "smoke")
                assert misfits(figure) == [], (paper, name)
                drawn += 1
    assert drawn > 4


def test_the_report_is_one_file_with_the_claims_first(smoke: Project) -> None:
    smoke.snakemake("smoke", "--report", "report.html")
    html = (smoke.path / "report.html").read_text(encoding="utf-8")
    # nothing is loaded from anywhere: no script, style sheet, picture or font by address
    loaded = re.findall(
        r"""(?:<script[^>]*\bsrc|<link[^>]*\bhref|<img[^>]*\bsrc)\s*=\s*["'](https?:[^"']+)""", html
    )
    assert loaded == []
    categories = [html.index(f'"{name}"') for name in ("1. Claims", "2. Figures", "3. Tables")]
    assert categories == sorted(categories)


@pytest.fixture(scope="module")
def site(smoke: Project, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, moved to another place."""
    smoke.snakemake("--cores", "2", "results/smoke/site/index.html")
    moved = tmp_path_factory.mktemp("moved") / "site"
    return shutil.copytree(smoke.path / "results/smoke/site", moved)


def test_the_site_is_a_folder_of_its_own(smoke: Project, site: Path) -> None:
    """Every link resolves and nothing comes from elsewhere."""
    assert faults(site) == []
    start = (site / "index.html").read_text(encoding="utf-8")
    assert "too small to decide" in start
    assert (site / "cross" / "figures.html").is_file()  # an entry without claims
    for paper, entry in config().entries.items():
        if not entry.main_claims:
            continue
        assert all(f'href="{paper}/{name}.html"' in start for name in entry.main_claims)
        page = (site / paper / "index.html").read_text(encoding="utf-8")
        for verdict in verdicts.read_written(smoke.path / f"results/smoke/{paper}/verdicts.json"):
            assert f'href="{verdict.name}.html"' in page
            shown = plain(site / paper / f"{verdict.name}.html")
            for row in (*verdict.readings, *verdict.controls):
                assert f"{row.name}" in shown and " ".join(row.verdict.split()) in shown
            if len(verdict.judged) > 1:
                assert not verdict.counting and "None of them counts" in shown
            assert "The reading printed follows the paper's text" in shown
            assert all(meaning in shown for meaning in verdict.units.values())
            assert f"replibo check {verdict.name}" in shown
            assert verdicts.read_written(site / paper / f"{verdict.name}.json") == [verdict]
    # the stand-ins say so, beside their figures
    assert "stand in for" in plain(site / "neuralbo" / "figures.html")


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: the site is not opened")
def test_the_site_in_a_browser(site: Path, tmp_path: Path) -> None:
    pages = (
        *("index", "go_ucb/go_ucb_1_f1", "go_ucb/curves", "bbo/curves", "cross/figures"),
        *("readings", "glossary", "reference/library"),
    )
    shown, console = browsed(site, pages, tmp_path / "profile", (1440, 390))
    assert console == []
    for page, frames in shown.items():
        for width, (taken, _) in zip((1440, 390), frames, strict=True):
            assert taken <= width, page  # nothing is cut off at the right
    # the curves are drawn, from the script of the first problem
    html = shown["go_ucb/curves"][0][1]
    assert "GO-UCB (2 seeds)" in html and "scatterlayer" in html


def test_the_last_words_of_make_quick_fit_on_a_screen(smoke: Project) -> None:
    said = smoke.run(sys.executable, "-m", "replibo.workflow.summary", "smoke").stdout
    lines = said.splitlines()
    assert len(lines) <= 25 and max(map(len, lines)) <= 100
    assert all(paper in said for paper in targets.judged_papers(config(), "smoke"))
    assert "make site" in said
    # every claim is counted, as printed and over all readings: none stands in a column that is cut off
    table = "\n".join(lines[3 : lines.index("")])
    count = sum(len(claims.load(config(), paper)) for paper in config().papers)
    for numbers in zip(*re.findall(r"(\d+) / (\d+)", table), strict=True):
        assert sum(map(int, numbers)) == count


def test_cores_order_and_blocks_do_not_change_a_trace(smoke: Project, tmp_path: Path) -> None:
    other = make_project(tmp_path / "other")
    (other.path / "blocks.yaml").write_text(
        "".join(
            f"{paper}:\n  scales:\n    smoke:\n      defaults: {{seeds_per_job: 1}}\n"
            "  algorithms:\n"
            + "".join(f"    {a}: {{seeds_per_job: 1}}\n" for a in entry.algorithms)
            for paper, entry in config().entries.items()
        )
    )
    # One problem and algorithm of each paper (`test_contract` has the others), one seed a job, on one core,
    # asked for in another order.
    entries = config().entries
    targets = [
        f"results/smoke/{paper}/{problem}/{algorithm}/seeds_{seed}.parquet"
        for paper, entry in entries.items()
        for problem in entry.problems_at("smoke")[:1]
        for algorithm in (entry.settings("smoke", problem).algorithms or [])[:1]
        for block in entry.blocks("smoke", problem, algorithm)
        for seed in seed_list(block)
    ]
    done = other.snakemake(
        "--cores", "1", *reversed(targets), "--configfile", "blocks.yaml", "--verbose"
    )
    expected, found = digests_in(smoke), digests_in(other)
    assert len(found) == len(targets) > 4
    assert found == {name: expected[name] for name in found}
    # The scheduler looks at the ready jobs once for each that ends.
    assert (done.stdout + done.stderr).count("Ready jobs: ") == len(targets)


def test_what_a_change_reruns(smoke: Project) -> None:
    """A changed algorithm: its runs, and what is made from them; a changed parameter of one algorithm in the
    config: its runs only; a changed plot or colour: figures of its paper, and no run; a comment and a
    docstring: nothing."""
    edits = (
        ("src/replibo/algorithms/scikit_optimize.py", '"xi": 0.01', '"xi": 0.02'),
        ("config/go_ucb.yaml", "C: 1.0", "C: 2.0"),
        ("src/replibo/papers/lb_gp_ucb/figures.py", '"round $t$"', '"round"'),
        ("config/bbo.yaml", "color: orange", "color: brown"),
        ("src/replibo/algorithms/go_ucb.py", "# The algorithm:", "# Algorithm 1:"),
        ("src/replibo/run/loop.py", "The ask-tell loop", "The loop"),
    )
    kept = {smoke.path / name: (smoke.path / name).read_text() for name, _, _ in edits}
    for edit in edits:
        smoke.edit(*edit)
    try:
        planned = smoke.planned("smoke")
    finally:
        for path, text in kept.items():
            path.write_text(text)
    runs = {name for paper in config().papers for name in run_files(config(), paper, "smoke")}
    changed = re.compile(r"/go_ucb/[^/]+/(gp_(ei|pi|ucb)|go_ucb_hessian/)")
    again = {name for name in runs if changed.search(name)}
    assert planned & runs == again and len(again) == 6
    assert "figures/smoke/lb_gp_ucb/figure_3.pdf" in planned
    assert "figures/smoke/bbo/performance.pdf" in planned
    assert not [name for name in planned if "/neuralbo/" in name]


def test_a_killed_workflow_goes_on_and_ends_with_the_same_traces(
    smoke: Project, tmp_path: Path
) -> None:
    other = make_project(tmp_path / "killed")
    pairs = ("f1/go_ucb", "f1/gp_ei", "f2/gp_ei")
    made = [f"results/smoke/go_ucb/{pair}/seeds_0-1.parquet" for pair in pairs]
    process = subprocess.Popen(
        [sys.executable, "-m", "snakemake", "--cores", "2", *made],
        cwd=other.path,
        env=other.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    # one run is finished, another in the middle
    while not list(other.path.glob("results/smoke/go_ucb/*/*/seeds_*.parquet")):
        assert process.poll() is None, "the workflow had ended before the kill"
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)  # Snakemake and all its jobs, at once
    process.wait()
    other.snakemake("--unlock")
    other.snakemake("--cores", "2", *made)
    expected, found = digests_in(smoke), digests_in(other)
    assert found == {name: expected[name] for name in found} and len(found) == 6


def test_by_hand_as_by_the_workflow_whatever_the_number_of_threads(
    project: Project, tmp_path: Path, root: Path
) -> None:
    """Bit for bit. With more threads than one, these rounds end in other bits on most machines."""
    pair = ("lb_gp_ucb", "berkenkamp", "mle")
    target = f"results/quick/{'/'.join(pair)}/seeds_0.parquet"
    project.snakemake("--cores", "1", target)
    by_workflow = digests(project.path / target)
    command = ["run", *pair, "--seeds", "0", "--scale", "quick"]
    four = ["-m", "replibo", *command, "--output", str(tmp_path / "four.parquet")]
    environment = project.environment() | dict.fromkeys(threads.VARIABLES, "4")
    subprocess.run([sys.executable, *four], cwd=project.path, env=environment, check=True)
    assert digests(tmp_path / "four.parquet") == by_workflow
    # In a process whose libraries were loaded with one thread (tests/conftest.py).
    assert os.environ["OMP_NUM_THREADS"] == "1"
    assert cli.main([*command, "--output", str(tmp_path / "one.parquet")]) == 0
    assert digests(tmp_path / "one.parquet") == by_workflow


@pytest.mark.real_data
def test_paper_scale_fetches_through_the_mirror_and_runs(project: Project) -> None:
    mirror = Path(os.environ["REPLIBO_DATA_MIRROR"])
    target = "results/paper/lb_gp_ucb/agnp/random_search/seeds_0-19.parquet"
    project.snakemake("--cores", "1", target, "--config", f"data_mirror={mirror}")
    content = traces.read(project.path / target)
    facts = traces.read_metadata(content)["problem_facts"]
    assert facts["stand_in"] == ""
    assert facts["optimal_value"] == pytest.approx(-0.14836082, abs=1e-9)
    assert len(content) == 20 * 260


def test_a_missing_file_at_paper_scale_names_url_digest_and_place(project: Project) -> None:
    path = "data/materials/crossed_barrel.csv"
    options = ("--cores", "1", "--retries", "0", "--config", "data_mirror=no_such_folder")
    done = project.snakemake(path, *options, check=False)
    said = done.stdout + done.stderr
    assert done.returncode != 0 and "https://raw.githubusercontent.com/" in said and path in said
    assert "2c01f875f3c210e986ca6142bf20f417884c2ad7d6f008c2fc574b44a3d5f606" in said


def test_all_outputs_of_a_paper_in_one_process_are_those_of_the_rules(
    smoke: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the published ones are made, to the last byte."""
    monkeypatch.chdir(smoke.path)
    monkeypatch.delenv("REPLIBO_CONFIG", raising=False)
    names = targets.of_paper(config(), "neuralbo", "smoke")
    by_rules = {Path(name): Path(name).read_bytes() for name in names if ".parquet" not in name}
    for path in by_rules:
        path.unlink()
    assert cli.main(["outputs", "neuralbo", "--scale", "smoke"]) == 0
    assert {path: path.read_bytes() for path in by_rules} == by_rules and by_rules
