"""The command line: ``replibo run | fetch | collect | figure | table | claims | publish | estimate |
list``. Thin, and heavy modules are imported by the command that needs them."""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from replibo import files
from replibo.errors import EXTRAS, RepliboError

if TYPE_CHECKING:
    from replibo.config.models import Config

LISTED = ("papers", "problems", "algorithms", "figures", "tables", "scales", "data")
"""What `replibo list` knows."""

STOPPED = "stopped by {}; the same command goes on from here"


class _Stopped(BaseException):
    """SIGTERM (which SLURM sends before it kills) or Ctrl-C; its argument is the signal."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0; 2 where the user can mend what is wrong; 130 or 143
    after Ctrl-C or SIGTERM, with nothing left half-written."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        _check_outputs(options)
        with _on_signals(_unwind):
            options.function(options)
    except RepliboError as error:
        for line in str(error).splitlines():
            print(f"replibo: {line}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
        extra = f"pip install 'replibo[{EXTRAS[error.name]}]'"
        print(f"replibo: {error.name} must be installed for this task: {extra}", file=sys.stderr)
        return 2
    except _Stopped as stopped:
        number = signal.Signals(stopped.args[0])
        print(f"replibo: {STOPPED.format(number.name)}", file=sys.stderr)
        return 128 + number
    except BrokenPipeError:  # the reader of our output (head, less) has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _check_outputs(options: argparse.Namespace) -> None:
    """Before the work starts: only a file, or nothing, may be where an output shall be."""
    outputs = getattr(options, "output", None) or []
    for path in outputs if isinstance(outputs, list) else [outputs]:
        files.check_target(path)


@contextlib.contextmanager
def _on_signals(handler: Any) -> Iterator[None]:
    """``handler`` for SIGTERM and Ctrl-C within the block (where signals can be handled at all: in the
    main thread)."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def _unwind(number: int, frame: FrameType | None) -> NoReturn:
    """End the command as an exception does, so that temporary files are removed on the way."""
    raise _Stopped(number)


def _exit_at_once(number: int, frame: FrameType | None) -> NoReturn:
    """End the process while queries are made.

    Not by an exception: a library may swallow one (in a callback, a destructor, a bare ``except``) and
    go on with half a computation, whose outcome would then stand in the journal. Nothing needs to be
    unwound here: a journal's record is written whole before the next query begins (one cut off in the
    middle is dropped when it is read), and its lock ends with the process.
    """
    name = signal.Signals(number).name
    with contextlib.suppress(OSError):
        os.write(2, f"replibo: {STOPPED.format(name)}\n".encode())
    os._exit(128 + number)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="replibo",
        description="Replication of four Bayesian-optimisation papers. The workflow (snakemake) "
        "calls these commands; each can be repeated by hand, in the project's root folder.",
        epilog="'replibo list' shows what there is; 'replibo COMMAND --help' explains a command.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    version = importlib.metadata.version("replibo")
    parser.add_argument("--version", action="version", version=f"%(prog)s {version}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def command(name: str, function: Any, text: str, example: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(
            name,
            help=text,
            description=text,
            epilog=f"example:\n  {example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        sub.set_defaults(function=function)
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

    sub = command(
        "run",
        _run,
        "Run a block of seeds of one problem with one algorithm; a killed run goes on where it was.",
        "replibo run go_ucb f1 go_ucb --seeds 0-9 --scale quick --output /tmp/f1.parquet",
    )
    sub.add_argument("paper", help="see 'replibo list papers'")
    sub.add_argument("problem", help="see 'replibo list problems'")
    sub.add_argument("algorithm", help="see 'replibo list algorithms'")
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
        "fetch",
        _fetch,
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
        _collect,
        "Put the blocks of runs of one problem and algorithm into one table.",
        "replibo collect go_ucb f1 gp_ei --scale quick --output /tmp/runs.parquet",
    )
    for name in ("paper", "problem", "algorithm"):
        sub.add_argument(name)
    scale(sub, required=True)
    sub.add_argument("--output", required=True, type=Path, help="parquet file")

    for kind, verb, example in (
        ("figure", "Draw", "go_ucb figure_1 --scale published --output /tmp/figure_1.png"),
        ("table", "Make", "go_ucb final_regret --scale published --output /tmp/final_regret.md"),
    ):
        text = f"{verb} one {kind} from the runs of its problems and algorithms."
        sub = command(kind, _output, text, f"replibo {kind} {example}")
        sub.set_defaults(kind=kind)
        sub.add_argument("paper")
        sub.add_argument("name", help=f"see 'replibo list {kind}s'")
        scale(sub, "published", required=True)
        sub.add_argument(
            "--output", required=True, type=Path, nargs="+", help="one file for each format"
        )

    sub = command(
        "claims",
        _claims,
        "Judge the papers' claims by the runs of a scale.",
        "replibo claims --scale published",
    )
    sub.add_argument("papers", nargs="*", metavar="PAPER", help="all where none is named")
    scale(sub, "published", default="published")
    sub.add_argument(
        "--output", type=Path, nargs="+", default=[], help="files (csv, md, tex, html)"
    )

    sub = command(
        "publish",
        _publish,
        "Keep a paper's traces, thinned, in published/.",
        "replibo publish go_ucb --scale paper",
    )
    sub.add_argument("paper")
    scale(sub, default="paper")
    sub.add_argument(
        "--replace",
        action="store_true",
        help="also where more than these runs is published already",
    )

    sub = command(
        "estimate",
        _estimate,
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
    sub.add_argument(
        "--cores", type=int, default=os.cpu_count() or 1, help="cores to share the work"
    )
    sub.add_argument(
        "--by",
        choices=("method", "problem"),
        default="method",
        help="what the rows are of; the problems of a figure are those of its entry in the config",
    )

    sub = command(
        "list",
        _list,
        "Show what there is: papers, problems, algorithms, figures, tables, scales, data.",
        "replibo list algorithms",
    )
    sub.add_argument("what", nargs="?", choices=LISTED, help="all where it is left out")
    return parser


def _load(options: argparse.Namespace) -> Config:
    from replibo.config import load

    return load.load(overlays=_overlays(options))


def _overlays(options: argparse.Namespace) -> list[Path]:
    """The files laid over the config: those given, or the one that the workflow names."""
    from replibo.config import load

    return [Path(name) for name in options.config] or load.overlays_of_workflow()


def _run(options: argparse.Namespace) -> None:
    from replibo.run import block

    block.run(
        _load(options),
        options.paper,
        options.problem,
        options.algorithm,
        seeds=options.seeds,
        scale=options.scale,
        output=options.output,
        initial_points=options.initial_points,
        changed_config=bool(_overlays(options)),
        while_querying=_on_signals(_exit_at_once),
    )


def _fetch(options: argparse.Namespace) -> None:
    from replibo.data.fetch import fetch_all
    from replibo.data.manifest import load_manifest

    config = _load(options)
    paths = fetch_all(
        options.files or list(load_manifest()),
        data_dir=options.data_dir or Path(config.data_dir),
        mirror=options.mirror if options.mirror is not None else config.data_mirror,
    )
    for path in paths:
        print(path)


def _collect(options: argparse.Namespace) -> None:
    from replibo.run import collect, traces

    pair = (options.paper, options.scale, options.problem, options.algorithm)
    traces.write(options.output, collect.collect(_load(options), *pair))


def _output(options: argparse.Namespace) -> None:
    from replibo.workflow import outputs

    make = outputs.figure if options.kind == "figure" else outputs.table
    make(_load(options), options.paper, options.name, options.scale, options.output)


def _claims(options: argparse.Namespace) -> None:
    from replibo.workflow import outputs

    made = outputs.claims(_load(options), options.papers, options.scale, options.output)
    if not options.output:
        print(made)


def _publish(options: argparse.Namespace) -> None:
    from replibo.workflow import outputs

    config = _load(options)
    for path in outputs.publish(config, options.paper, options.scale, replace=options.replace):
        print(path)


def _estimate(options: argparse.Namespace) -> None:
    from replibo.workflow.estimate import report

    config = _load(options)
    print(
        report.text(
            report.estimate(config, options.targets, options.scale, options.cores, options.by)
        )
    )


def _list(options: argparse.Namespace) -> None:
    from replibo.config import registry
    from replibo.workflow import listing

    config = _load(options)
    registry.check_all(config)
    print(listing.text(config, options.what))


if __name__ == "__main__":
    raise SystemExit(main())
