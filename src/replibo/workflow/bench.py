"""``replibo bench``: an algorithm of the reader's against the published runs of all papers.

Initial points and noise come from streams that leave the algorithm out (`replibo.streams`). So a new
algorithm starts where the published runs started, and only its own seeds are run.
"""

from __future__ import annotations

import base64
import html
import inspect
import io
import itertools
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from replibo import files, paths
from replibo.config import registry
from replibo.config.models import Config, PaperEntry, block_name
from replibo.errors import RepliboError, meant
from replibo.messages import counted
from replibo.run import pairs
from replibo.run.published import of_paper
from replibo.workflow import snakemake, targets, terminal

if TYPE_CHECKING:
    from replibo.results.runs import Runs
    from replibo.results.standings import Duel
    from replibo.results.tables import Table

BASELINE = "random_search"
"""Its published runs say what a problem costs, and which seeds there are."""
TRAINED = "mnist"
"""Problems that read these data files train networks."""
QUERIES_PER_JOB = 20_000


@dataclass(frozen=True)
class Task:
    """One problem on which the new algorithm is run.

    Attributes:
        seeds: in their order, without gaps.
        horizon: the largest of the published runs.
        others: the published algorithms that it is compared with.
    """

    paper: str
    problem: str
    seeds: tuple[int, ...]
    horizon: int
    others: tuple[str, ...]


@dataclass(frozen=True)
class Bench:
    """The runs of a bench.

    Attributes:
        label: the class's name.
        name: of the algorithm in the config of `variant`.
        tasks: the problems.
        left_out: for each ``PAPER PROBLEM`` that is left out the reason.
        seconds: CPU seconds that random search took for the same runs.
        queries: of all runs.
    """

    label: str
    name: str
    tasks: list[Task]
    left_out: dict[str, str]
    seconds: float
    queries: int
    variant: snakemake.Variant
    cores: int

    @property
    def page(self) -> Path:
        """The page with the results."""
        return Path("results", self.variant.scale, "bench.html")

    def tasks_of(self, paper: str) -> list[Task]:
        """The problems of one paper."""
        return [task for task in self.tasks if task.paper == paper]

    @property
    def papers(self) -> list[str]:
        """The papers of the problems."""
        return list(dict.fromkeys(task.paper for task in self.tasks))


def prepare(
    config: Config,
    overlays: Sequence[Path],
    named: str,
    *,
    papers: Sequence[str] = (),
    problems: Sequence[str] = (),
    seeds: str | None = None,
    parameters: Sequence[str] = (),
    cores: int = 1,
) -> Bench:
    """Check the algorithm, and find the problems. The arguments are the command's; ``overlays`` are files
    laid over the config."""
    settings = _settings(parameters)
    asked = None if seeds is None else targets.seeds_in(seeds, "--seeds")
    published_problems = {
        paper: dict.fromkeys(problem for problem, _ in pairs.at(config, paper, paths.PUBLISHED))
        for paper in papers or targets.papers_at(config, paths.PUBLISHED)
    }
    every = [*itertools.chain.from_iterable(published_problems.values())]
    for problem in problems:
        if problem not in every:
            more = meant(problem, every) or "; 'replibo list problems' lists all problems"
            where = f" in {' and '.join(papers)}" if papers else ""
            raise RepliboError(f"--problems: {problem!r} is not published{where}{more}")
    try:
        cls = registry.load("algorithms", named)
    except RepliboError as error:
        raise RepliboError(str(error).removeprefix("type: ")) from None
    from replibo.run.build import missing_data
    from replibo.workflow import contract

    contract.check(cls, settings)
    finite_fault = ""
    try:
        contract.check(cls, settings, finite=True)
    except RepliboError as error:
        finite_fault = str(error)
    tasks: list[Task] = []
    left_out: dict[str, str] = {}
    total, queries = 0.0, 0
    for paper, its_problems in published_problems.items():
        entry = config.paper(paper)
        published = of_paper(paper)
        for problem in its_problems:
            where = f"{paper} {problem}"
            if problems and problem not in problems:
                continue
            others = [  # what follows a comma in a label names a variant
                name
                for name, algorithm in entry.algorithms.items()
                if f"{problem}/{name}" in published and "," not in algorithm.label
            ]
            baseline = f"{problem}/{BASELINE}"
            if baseline not in published or len(others) < 2:
                why = "no published random search, or no other method, to compare with"
                if problem in problems:
                    raise RepliboError(f"--problems: {problem}: {why}")
                left_out[where] = why
                continue
            timing = published[baseline].timing
            if not problems and any(
                name.startswith(TRAINED) for name in entry.problems[problem].data_files
            ):
                left_out[where] = "trains networks; --problems takes it"
                continue
            if finite_fault and _is_finite(entry.problems[problem].type):
                left_out[where] = "finite, and the algorithm asks for points outside the candidates"
                continue
            if missing := missing_data(config, entry.problems[problem]):
                left_out[where] = f"no data here; 'replibo fetch {' '.join(missing)}' gets them"
                continue
            wanted = sorted(published[baseline].seeds)
            if asked is not None:
                wanted = [seed for seed in wanted if seed in asked]
            if not wanted:
                left_out[where] = f"has the seeds {block_name(sorted(published[baseline].seeds))}"
                continue
            row = [seed for i, seed in enumerate(wanted) if seed == wanted[0] + i]
            beyond = [seed for seed in asked or () if seed not in row]
            if beyond and problem in problems:
                left_out[f"{where}, seeds {block_name(beyond)}"] = "not published"
            horizon = max(published[f"{problem}/{name}"].horizon for name in others)
            tasks.append(Task(paper, problem, tuple(row), horizon, tuple(others)))
            share = len(row) / timing["runs"]
            total += timing["import_seconds"] / timing["jobs"] + timing["cpu_seconds"] * share
            queries += round(timing["queries"] * share)
    if not tasks:
        reasons = "; ".join(f"{name}: {why}" for name, why in left_out.items())
        raise RepliboError(f"no problem is left ({reasons})")
    file = registry.split(named)
    where = f"{file[0].resolve()}:{file[1]}" if file else named
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()
    change = _change(config, tasks, f"new_{name}", where, cls.__name__, settings)
    variant = snakemake.Variant(config, overlays, f"bench_{name}", change)
    return Bench(*(cls.__name__, f"new_{name}", tasks, left_out, total, queries), variant, cores)


def _settings(parameters: Sequence[str]) -> dict[str, Any]:
    settings = {}
    for text in parameters:
        name, equals, value = text.partition("=")
        if not equals:
            raise RepliboError(f"--set: must be NAME=VALUE, got {text!r}")
        try:
            settings[name] = yaml.safe_load(value)
        except yaml.YAMLError:
            raise RepliboError(f"--set: {name} must be a value of YAML, got {value!r}") from None
    return settings


def _is_finite(name: str) -> bool:
    """Whether a class of problems sets candidates; by its source, for some take long to be made."""
    bases = registry.load("problems", name).__mro__
    sources = (
        inspect.getsource(cls)
        for cls in bases
        if cls.__module__ != "replibo.problems.base" and cls is not object
    )
    return any(re.search(r"self\.candidates\b.* = ", source) for source in sources)


def _change(
    config: Config,
    tasks: Sequence[Task],
    name: str,
    where: str,
    label: str,
    settings: dict[str, Any],
) -> dict[str, Any]:
    """The change of the config that adds the algorithm to the problems of the tasks."""
    change: dict[str, Any] = {"papers": list(dict.fromkeys(task.paper for task in tasks))}
    for paper in change["papers"]:
        entry = {"type": where, "label": label, "color": "black", "parameters": settings}
        problems = {
            task.problem: {
                "seeds": block_name(list(task.seeds)),
                "seeds_per_job": max(QUERIES_PER_JOB // task.horizon, 1),
                "horizon": task.horizon,
                "algorithms": [name],
            }
            for task in tasks
            if task.paper == paper
        }
        change[paper] = {
            "algorithms": {name: entry},
            "scales": {"paper": {"only": list(problems), "problems": problems}},
        }
    return change


def cost(bench: Bench) -> str:
    """A few lines that announce the runs."""
    from replibo.results import standings
    from replibo.run.progress import duration
    from replibo.verdict_tables import wrapped

    runs = sum(len(task.seeds) for task in bench.tasks)
    least = [standings.least_seeds(len(task.others)) for task in bench.tasks]
    few = [
        f"{task.paper} {task.problem}"
        for task, seeds in zip(bench.tasks, least, strict=True)
        if len(task.seeds) < seeds
    ]
    needed = " to ".join(map(str, sorted({min(least), max(least)})))
    lines = [
        f"{bench.label}: keeps the contract (unit cube, deterministic, resumes, no global random state).",
        f"Cost: {counted(runs, 'run')}, {bench.queries:,} queries on "
        f"{counted(len(bench.tasks), 'problem')}. Random search took {duration(bench.seconds)} of CPU "
        "time for them; yours takes its time for choosing besides. The same command runs none again.",
        f"A win takes at least {needed} seeds (Wilcoxon's test with Holm's correction)"
        f"{'; none is possible on ' + ', '.join(few) if few else ''}.",
    ]
    reasons: dict[str, list[str]] = {}
    for problem, why in bench.left_out.items():
        reasons.setdefault(why, []).append(problem)
    lines += [f"Left out: {', '.join(names)} ({why})." for why, names in reasons.items()]
    return "\n".join(text for line in lines for text in wrapped("", line))


def run(bench: Bench, *, verbose: bool = False) -> None:
    """Make the runs."""
    config, scale = bench.variant.config, bench.variant.scale
    files_of_runs = [
        pairs.file(config.paper(task.paper), task.paper, scale, task.problem, bench.name)
        for task in bench.tasks
    ]
    bench.variant.make(files_of_runs, bench.cores, verbose=verbose)


Ranks = dict[str, dict[str, float]]
"""By problem, the mean rank of each algorithm."""


def compare(config: Config, bench: Bench, paper: str) -> tuple[list[Duel], Ranks, Runs, Runs]:
    """The comparisons with each other algorithm on each of one paper's problems, the ranks, and the runs:
    new ones, and published ones."""
    import numpy as np

    from replibo.results import standings
    from replibo.results.runs import read

    tasks = bench.tasks_of(paper)
    new_pairs = [(task.problem, bench.name) for task in tasks]
    mine = read(bench.variant.config, paper, bench.variant.scale, new_pairs, "")
    wanted = [(task.problem, name) for task in tasks for name in task.others]
    published = read(config, paper, paths.PUBLISHED, wanted, "")
    duels, ranks = [], {}
    for task in tasks:
        new = mine.by_seed(task.problem, bench.name)
        others = {name: published.by_seed(task.problem, name) for name in task.others}
        duels += standings.against(paper, task.problem, new, others)
        ranks[task.problem] = standings.ranks({bench.name: new, **others})
        start, old = mine.initial_points(task.problem), others[BASELINE]
        for seed in new.keys() & old.keys():
            if not np.allclose(new[seed][:start], old[seed][:start], rtol=1e-9, atol=1e-12):
                raise RepliboError(
                    f"{paper}: the new runs do not start at the published points; the config's "
                    "problems were changed"
                )
    return duels, ranks, mine, published


COLUMNS = (
    *("paper", "problem", "against", "n", "queries", "mean", "mean of the other", "difference"),
    *("low", "high", "p", "p (Holm)", "result"),
)


def report(config: Config, bench: Bench) -> str:
    """Compare, write the page and the CSV file, and return a summary for the terminal."""
    import numpy as np

    from replibo.results import standings
    from replibo.results.tables import Table, p_value, save

    parts, every, counts, relative = [], [], [], []
    for paper in bench.papers:
        duels, ranks, mine, published = compare(config, bench, paper)
        every += duels
        counted_duels = _counted(config, duels)
        counts += [(paper, *row) for row in counted_duels]
        relative += [
            (row[bench.name] - 1) / (len(row) - 1) for row in ranks.values() if len(row) > 1
        ]
        figure = _figure(bench, paper, mine, published)
        parts.append(_section(config.paper(paper), bench, counted_duels, ranks, figure))
    rows = [
        (
            *(duel.paper, config.paper(duel.paper).problems[duel.problem].label),
            *(_label(config, duel), duel.n, duel.queries, duel.mine, duel.other),
            *map(float, (duel.difference.mean, duel.difference.low, duel.difference.high)),
            *(duel.p, duel.p_holm, duel.result),
        )
        for duel in every
    ]
    table = Table.of(
        rows,
        f"{bench.label} against the published runs: best noise-free value at the end (maximised) over "
        "common seeds; difference with Student's 95 % interval; p two-sided by Wilcoxon's signed ranks, "
        "Holm over the algorithms of a problem.",
        {**dict.fromkeys(COLUMNS[5:10], ".4g"), "p": p_value, "p (Holm)": p_value},
        COLUMNS,
    )
    save(table, [bench.page.with_suffix(".csv")])
    won, tied, lost = standings.counts(every)
    summary = (
        f"{bench.label}: {counted(won, 'win')}, {counted(tied, 'tie')} and {lost} "
        f"loss{'es' * (lost != 1)} in {counted(len(every), 'comparison')} on "
        f"{counted(len(bench.tasks), 'problem')}"
    )
    if relative:
        rank = f"{np.mean(relative):.2f}"
        summary += f"; mean relative rank {rank} (0: always the best, 1: always the last)"
    summary += "."
    with files.written_whole(bench.page) as temporary:
        temporary.write_text(_page(bench, summary, parts, table), encoding="utf-8")
    names = ("paper", *AGAINST)
    shown = terminal.table(names, [tuple(map(str, row)) for row in counts], names[2:])
    lines = "\n".join(textwrap.wrap(summary, terminal.WIDTH))
    return f"{shown}\n\n{lines}\npage: {bench.page}\ntable: {bench.page.with_suffix('.csv')}"


def _label(config: Config, duel: Duel) -> str:
    return config.paper(duel.paper).algorithms[duel.other_name].label


AGAINST = ("against", "win", "tie", "loss")


def _counted(config: Config, duels: Sequence[Duel]) -> list[tuple[object, ...]]:
    """`AGAINST`: wins, ties and losses against each other algorithm, by its label."""
    from replibo.results import standings

    by_label: dict[str, list[Duel]] = {}
    for duel in duels:
        by_label.setdefault(_label(config, duel), []).append(duel)
    return [(label, *standings.counts(group)) for label, group in by_label.items()]


def _figure(bench: Bench, paper: str, mine: Runs, published: Runs) -> Any:
    from replibo.results import curves

    panels = {
        published.problem_label(task.problem): [
            *curves.of_runs(published, task.problem, task.others, task.seeds),
            *curves.of_runs(mine, task.problem, [bench.name], task.seeds, bold=True),
        ]
        for task in bench.tasks_of(paper)
    }
    return curves.best_so_far(panels, f"{bench.label} over the published runs of {paper}")


def _section(
    entry: PaperEntry, bench: Bench, counts: Sequence[tuple[object, ...]], ranks: Ranks, figure: Any
) -> str:
    """A paper's part of the page: curves, wins and losses, ranks."""
    import pandas as pd

    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=120)
    image = base64.b64encode(content.getvalue()).decode()
    labels = {name: algorithm.label for name, algorithm in entry.algorithms.items()}
    ranked = pd.DataFrame.from_dict(ranks, "index").reindex([*ranks])
    ranked = ranked.map(lambda rank: "–" if pd.isna(rank) else f"{rank:.1f}")
    ranked = ranked.rename(columns={**labels, bench.name: bench.label})
    ranked.insert(0, "problem", [entry.problems[problem].label for problem in ranked.index])
    won = pd.DataFrame(counts, columns=[*AGAINST])
    return (
        f"<h2>{html.escape(entry.title)}</h2>\n"
        f'<img alt="curves on the problems of {html.escape(entry.label)}" '
        f'src="data:image/png;base64,{image}">\n'
        "<h3>Wins and losses</h3>\n<p>Of each comparison over the paper's problems: significant at 5 % "
        f"after Holm's correction.</p>\n{won.to_html(index=False, border=0)}\n"
        "<h3>Ranks</h3>\n<p>The mean rank over the seeds that all algorithms have, at the end of the "
        f"shortest runs; 1 is the best.</p>\n{ranked.to_html(index=False, border=0)}\n"
    )


STYLE = """
body { font: 15px/1.5 sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; color: #111 }
img { max-width: 100% } table { border-collapse: collapse; font-size: 13px }
th, td { padding: .2em .7em; text-align: left; border-bottom: 1px solid #ddd }
"""


def _page(bench: Bench, summary: str, parts: Sequence[str], table: Table) -> str:
    left_out = "".join(
        f"<li>{html.escape(name)}: {html.escape(why)}</li>" for name, why in bench.left_out.items()
    )
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{bench.label}</title>\n'
        f"<style>{STYLE}</style>\n<h1>{html.escape(bench.label)} against the published runs</h1>\n"
        f"<p><b>{html.escape(summary)}</b></p>\n"
        "<p>All algorithms start from the same points and see the same noise. In the curves, bands "
        "(the new algorithm) and bars at the end (the others) are 95 % intervals of the mean over the "
        f'seeds. <a href="bench.csv">All comparisons as CSV</a>.</p>\n{"".join(parts)}'
        f"<h2>All comparisons</h2>\n<p>{html.escape(table.caption)}</p>\n"
        f"{table.shown().to_html(index=False, border=0)}\n"
        + (f"<h2>Left out</h2>\n<ul>{left_out}</ul>\n" if left_out else "")
        + "</html>\n"
    )
