"""The arguments of the command line's commands."""

from __future__ import annotations

import argparse
import math
import os
import sys
from pathlib import Path
from typing import Any, NoReturn

from replibo import __version__, messages
from replibo.errors import meant

LISTED = ("papers", "problems", "algorithms", "figures", "tables", "scales", "data")
"""What ``replibo list`` knows."""

ANYWHERE = ("run", "fetch", "collect", "list")
"""The commands that need no clone: outside one they read the config that the package brings."""


class Parser(argparse.ArgumentParser):
    """One that says what is wrong in one line, as all other errors are said."""

    def error(self, message: str) -> NoReturn:
        """Say it, and where to read on; exit status 2."""
        self.exit(2, f"replibo: {message}; see '{self.prog} --help'\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            error.message += meant(str(value), list(action.choices or ()))
            raise

    def _print_message(self, message: str, file: Any = None) -> None:
        """argparse passes over a help that it could not print."""
        (messages.show if file is sys.stdout else messages.tell)(message.removesuffix("\n"))


def parser() -> argparse.ArgumentParser:
    """The parser of all commands; ``command`` is the name of the given command."""
    root = Parser(
        prog="replibo",
        description="Replication of four Bayesian-optimisation papers. The workflow (snakemake) "
        "calls these commands; each can be repeated by hand, in the root folder of a clone. "
        f"These work in any folder: {', '.join(ANYWHERE)}.",
        epilog="'replibo list' shows what there is; 'replibo COMMAND --help' explains a command.",
    )
    root.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = root.add_subparsers(
        title="commands", dest="command", required=True, metavar="COMMAND"
    )

    def command(name: str, text: str, example: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(
            name,
            help=text,
            description=text,
            epilog=f"example:\n  {example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        sub.add_argument(
            "--config",
            action="append",
            default=[],
            metavar="FILE",
            help="YAML file laid over config/; may be given several times",
        )
        return sub

    def scale(
        sub: argparse.ArgumentParser, *more: str, help_text: str = "", **options: Any
    ) -> None:
        names = ", ".join(["smoke", "quick", "paper", *more])
        sub.add_argument("--scale", help=f"{help_text}one of {names}", **options)

    def cores(sub: argparse.ArgumentParser, work: str) -> None:
        default = os.cpu_count() or 1
        sub.add_argument("--cores", type=int, default=default, help=f"cores to share {work}")

    def named(sub: argparse.ArgumentParser, *kinds: str) -> None:
        for kind in kinds:
            sub.add_argument(kind, help=f"see 'replibo list {kind}s'")

    def own_runs(sub: argparse.ArgumentParser) -> None:
        cores(sub, "the work")
        sub.add_argument(
            "-n", "--dry-run", action="store_true", help="say the cost, and run nothing"
        )
        sub.add_argument(
            "-v", "--verbose", action="store_true", help="show all that Snakemake says"
        )

    sub = command(
        "run",
        "Run a block of seeds of one problem with one algorithm; a killed run goes on where it was.",
        "replibo run go_ucb f1 go_ucb --seeds 0-9 --scale quick --output /tmp/f1.parquet",
    )
    named(sub, "paper", "problem", "algorithm")
    sub.add_argument("--seeds", required=True, help="one seed or a range: 3 or 0-9")
    scale(sub, default="paper")
    sub.add_argument("--output", required=True, type=Path, help="parquet file for the traces")
    sub.add_argument(
        "--initial-points",
        type=Path,
        metavar="FILE",
        help="CSV file with a header and one point a row, native coordinates: start from these "
        "points (to compare with another code), the same for every seed",
    )

    sub = command(
        "recompute",
        "Run one seed of published runs again, and say whether it is equal bit for bit.",
        "replibo recompute lb_gp_ucb agnp/lb_gp_ucb berkenkamp",
    )
    named(sub, "paper")
    sub.add_argument(
        "runs",
        nargs="*",
        metavar="PROBLEM[/ALGORITHM]",
        help="names or patterns in quotes; all where none is named: hours",
    )
    sub.add_argument("--seed", type=int, help="the smallest published one where none is given")
    sub.add_argument(
        "--adopt",
        action="store_true",
        help="only what other code made: where every bit is equal, count it as of today's code",
    )
    sub.add_argument(
        "--longest",
        type=float,
        default=math.inf,
        metavar="SECONDS",
        help="skip what took more CPU seconds a run",
    )
    cores(sub, "the runs")

    sub = command(
        "fetch",
        "Fetch data files (all where none is named) and verify them.",
        "replibo fetch crossed_barrel agnp --mirror /path/to/folder",
    )
    sub.add_argument("files", nargs="*", metavar="FILE", help="see 'replibo list data'")
    sub.add_argument("--mirror", help="folder or URL that is asked first")
    sub.add_argument(
        "--data-dir", type=Path, help="folder of the data files (default: the config's)"
    )

    sub = command(
        "collect",
        "Put the blocks of runs of one problem and algorithm into one table.",
        "replibo collect go_ucb f1 gp_ei --scale quick --output /tmp/runs.parquet",
    )
    named(sub, "paper", "problem", "algorithm")
    scale(sub, required=True)
    sub.add_argument("--output", required=True, type=Path, help="parquet file")

    for kind, verb, example in (
        ("figure", "Draw", "go_ucb figure_1 --scale published --output /tmp/figure_1.png"),
        ("table", "Make", "go_ucb final_regret --scale published --output /tmp/final_regret.md"),
    ):
        text = f"{verb} one {kind} from the runs of its problems and algorithms."
        sub = command(kind, text, f"replibo {kind} {example}")
        named(sub, "paper")
        sub.add_argument("name", help=f"see 'replibo list {kind}s'")
        scale(sub, "published", required=True)
        sub.add_argument(
            "--output", required=True, type=Path, nargs="+", help="one file for each format"
        )

    sub = command(
        "outputs",
        "Make every figure, table and verdict of a paper, in figures/ and results/, from its runs.",
        "replibo outputs go_ucb --scale published",
    )
    named(sub, "paper")
    scale(sub, "published", default="published")

    sub = command(
        "claims",
        "Judge the papers' claims by the runs of a scale, in every reading.",
        "replibo claims neuralbo_1_ackley_10 --scale published",
    )
    sub.add_argument(
        "names",
        nargs="*",
        metavar="PAPER|CLAIM",
        help="all papers where none is named; of a claim everything is shown",
    )
    scale(sub, "published", default="published")
    sub.add_argument("--reading", default="all", help="one reading or control; all by default")
    group = sub.add_mutually_exclusive_group()
    group.add_argument(
        "--output",
        type=Path,
        nargs="+",
        default=[],
        help="files: tables (csv, md, tex, html), maps (pdf, png, svg), the verdicts themselves (json)",
    )
    group.add_argument("--csv", action="store_true", help="a row for each reading in full, as CSV")
    sub.add_argument(
        "--judged",
        type=Path,
        nargs="+",
        default=[],
        help="verdicts (json) that stand as they are: nothing is judged again",
    )

    sub = command(
        "check",
        "Run what one claim needs, judge it, and show the published verdict beside yours.",
        "replibo check go_ucb_1_f1 --reading printed --seeds 0-19",
    )
    sub.add_argument("claim", help="see 'replibo claims'")
    sub.add_argument(
        "--reading",
        default="printed",
        help="a reading or control of the claim, or all of them (all)",
    )
    sub.add_argument(
        "--seeds", help="one seed, a range (0-19) or all; the first twenty if it is left out"
    )
    sub.add_argument(
        "--narrow", action="store_true", help="leave out the problems that the claim need not have"
    )
    own_runs(sub)

    sub = command(
        "bench",
        "Run an algorithm of yours, and lay it over the published runs: curves, tests, ranks.",
        "replibo bench mine.py:EpsilonGreedy --papers lb_gp_ucb neuralbo",
    )
    sub.add_argument(
        "algorithm", metavar="FILE.py:CLASS", help="a subclass of Algorithm (CONTRIBUTING.md)"
    )
    sub.add_argument("--papers", nargs="+", default=[], help="all if it is left out")
    sub.add_argument(
        "--problems", nargs="+", default=[], help="all that need no training if it is left out"
    )
    sub.add_argument("--seeds", help="one seed or a range; all published ones if it is left out")
    sub.add_argument(
        "--set", nargs="+", default=[], metavar="NAME=VALUE", help="settings of the class"
    )
    own_runs(sub)

    sub = command(
        "compare",
        "Show a variant (a changed config with a name) beside the base, run by run.",
        "replibo compare --config my.yaml --scale quick",
    )
    sub.add_argument("papers", nargs="*", metavar="PAPER", help="all where none is named")
    scale(sub, default="quick")
    sub.add_argument(
        "--output", type=Path, nargs="+", default=[], help="files (csv, md, tex, html)"
    )

    sub = command(
        "site",
        "Write the site, static HTML, from the figures, tables and verdicts of a scale.",
        "replibo site --scale published --output results/published/site/index.html",
    )
    scale(sub, "published", default="published")
    sub.add_argument(
        "--output", required=True, type=Path, help="its index.html; all other files go beside it"
    )

    sub = command(
        "publish",
        "Merge a paper's finished runs, thinned, into published/: of each pair the largest set.",
        "replibo publish go_ucb --scale paper",
    )
    named(sub, "paper")
    scale(sub, default="paper")
    sub.add_argument(
        "--replace",
        action="store_true",
        help="also where more than these runs, or another scale's, are published already",
    )

    sub = command(
        "estimate",
        "Say what targets need: jobs, core hours, wall time, memory, disk, from measured traces.",
        "replibo estimate figures/paper/lb_gp_ucb/figure_3.pdf --cores 8",
    )
    sub.add_argument(
        "targets",
        nargs="*",
        metavar="TARGET",
        help="what snakemake would be asked for (all, quick, a figure's file), or a paper; all papers "
        "where none is named",
    )
    scale(sub, help_text="scale of targets that are papers: ")
    cores(sub, "the work")
    sub.add_argument(
        "--by",
        choices=("method", "problem"),
        default="method",
        help="what the rows are of; the problems of a figure are those of its entry in the config",
    )
    sub.add_argument("--csv", action="store_true", help="all columns in full, as CSV")

    sub = command(
        "status",
        "Say what of a scale's runs is finished, runs, failed and is left, in core hours.",
        "replibo status lb_gp_ucb --scale paper --cores 8",
    )
    sub.add_argument("papers", nargs="*", metavar="PAPER", help="all where none is named")
    scale(sub, default="paper")
    cores(sub, "what is left")
    group = sub.add_mutually_exclusive_group()
    group.add_argument("--watch", action="store_true", help="again every half minute, until Ctrl-C")
    group.add_argument("--csv", action="store_true", help="every problem and algorithm, as CSV")

    sub = command(
        "list",
        "Show what there is: papers, problems, algorithms, figures, tables, scales, data.",
        "replibo list algorithms",
    )
    sub.add_argument("what", nargs="?", choices=LISTED, help="all where it is left out")
    sub.add_argument("--csv", action="store_true", help="all columns in full, as CSV")
    return root
