import inspect
import re

from replibo import forked, paths
from replibo.config import claims, load, models, registry
from replibo.data.manifest import load_manifest
from replibo.papers import lookup
from replibo.run import code, pairs
from replibo.workflow import progress_line, targets

CONFIG = one_line(load.parse)(config)
if workflow.is_main_process:  # a job checks its own problem and algorithm
    one_line(registry.check_all)(CONFIG)
    one_line(lookup.check_all)(CONFIG)
    # Snakemake has not read its targets yet.
    one_line(targets.check_scales)(CONFIG, sys.argv[1:])
one_line(targets.export)(CONFIG, config)

MANIFEST = load_manifest()
DATA_NAMES = {file.path: name for name, file in MANIFEST.items()}


# The scales that are run, in the words of `wildcard_constraints`.
MADE = "|".join(map(CONFIG.scale, models.SCALES))


# A figure or table, and the reading that may follow it: table_2.pooled
OUTPUT, READING = "[a-z][a-z0-9_]*", r"\.[a-z][a-z0-9_]*"


wildcard_constraints:
    scale="|".join(targets.scales(CONFIG)),
    paper="|".join(CONFIG.papers),
    problem="[a-z][a-z0-9_]*",
    algorithm="[a-z][a-z0-9_]*",
    block=r"\d+(-\d+)?",
    figure=rf"(?!verdict_map\b){OUTPUT}({READING})?",
    table=f"{OUTPUT}({READING})?",
    claim="[a-z][a-z0-9_]*",
    reading="[a-z][a-z0-9_]*",


def of(function, *first, **wildcard_of):
    """An input or parameter of a rule: ``function`` of the config, of the values ``first``, and of
    wildcards, which are called as its other arguments or as ``wildcard_of`` says."""
    names = list(inspect.signature(function).parameters)[1 + len(first) :]

    def of_wildcards(wildcards):
        words = [wildcards[wildcard_of.get(name, name)] for name in names]
        return one_line(function)(CONFIG, *first, *words)

    return of_wildcards


@one_line
def data_of_run(wildcards):
    targets.check_block(CONFIG, **dict(wildcards.items()))
    return targets.data_files(
        CONFIG, wildcards.paper, wildcards.scale, wildcards.problem
    )


@one_line
def published_files(paper):
    return pairs.files(
        CONFIG, paper, paths.PUBLISHED, pairs.at(CONFIG, paper, paths.PUBLISHED)
    )


def map_for_report(path, papers, scale, caption):
    return report(
        path,
        caption=caption,
        category="1. Claims",
        labels={"claims": f"map, {papers}", "scale": scale},
    )


def figure_for_report(path, scale, paper, name, caption):
    return report(
        path,
        caption=caption,
        category="2. Figures",
        subcategory=paper,
        labels={"figure": name, "scale": scale},
    )


def table_for_report(path, scale, paper, name):
    return report(
        path,
        category="3. Tables",
        subcategory=paper,
        labels={"table": name, "scale": scale},
    )


@one_line
def published_outputs(paper):
    scale, files = paths.PUBLISHED, []
    for name in targets.names_at(CONFIG, "figures", paper, scale):
        pdf, png, caption = paths.figure(scale, paper, name)
        shown = figure_for_report(png, scale, paper, name, f"../../{caption}")
        files += [pdf, shown, caption]
    for name in targets.names_at(CONFIG, "tables", paper, scale):
        *others, html = paths.table(scale, paper, name)
        files += [*others, table_for_report(html, scale, paper, name)]
    if claims.load(CONFIG, paper):
        pdf, png, caption = paths.paper_map(scale, paper)
        shown = map_for_report(png, paper, scale, f"../../{caption}")
        files += [pdf, shown, caption, paths.judged(scale, paper)]
    return files
