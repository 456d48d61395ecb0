"""The command line: ``replibo run | fetch | collect | figure | table | claims | publish | estimate |
list``. Thin, and heavy modules are imported by the command that needs them."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from replibo import files
from replibo.errors import EXTRAS, RepliboError, allowed

if TYPE_CHECKING:
    from replibo.config.models import Config

CONFIG_VARIABLE = "REPLIBO_CONFIG"


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
        "Put all the traces of a paper into one table.",
        "replibo collect go_ucb --scale quick --output results/quick/go_ucb/runs.parquet",
    )
    sub.add_argument("paper")
    scale(sub, "published", required=True)
    sub.add_argument("--output", required=True, type=Path, help="parquet file")

    for name, function, text, example in (
        (
            "figure",
            _figure,
            "Draw one figure from a paper's table of traces.",
            "replibo figure go_ucb figure_1 --runs results/quick/go_ucb/runs.parquet "
            "--output /tmp/figure_1.png",
        ),
        (
            "table",
            _table,
            "Make one table from a paper's table of traces.",
            "replibo table go_ucb final_regret --runs results/quick/go_ucb/runs.parquet "
            "--output /tmp/final_regret.md",
        ),
    ):
        sub = command(name, function, text, example)
        sub.add_argument("paper")
        sub.add_argument("name", help=f"see 'replibo list {name}s'")
        sub.add_argument("--runs", required=True, type=Path, help="the paper's runs.parquet")
        sub.add_argument(
            "--output", required=True, type=Path, nargs="+", help="one file for each format"
        )

    sub = command(
        "claims",
        _claims,
        "Judge the papers' claims by the runs of a scale.",
        "replibo claims --scale published",
    )
    sub.add_argument(
        "papers", nargs="*", metavar="PAPER", help="all that were run where none is named"
    )
    scale(sub, "published", default="published")
    sub.add_argument("--output", type=Path, nargs="+", help="files (csv, md, tex, html)")

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
    sub.add_argument("what", nargs="?", choices=sorted(_LISTS), help="all where it is left out")
    return parser


def _load(options: argparse.Namespace) -> Config:
    from replibo.config import load

    return load.load(overlays=_overlays(options))


def _overlays(options: argparse.Namespace) -> list[Path]:
    """The files laid over the config: those given, or the one that the workflow names."""
    if options.config:
        return [Path(name) for name in options.config]
    named = os.environ.get(CONFIG_VARIABLE)
    return [Path(named)] if named else []


def _run(options: argparse.Namespace) -> None:
    started = time.process_time()
    from replibo.config import load, models
    from replibo.errors import RepliboError
    from replibo.run import identity

    config = _load(options)
    paper, problem, algorithm = options.paper, options.problem, options.algorithm
    try:
        seeds = models.seed_list(options.seeds)
    except ValueError as error:
        raise RepliboError(f"--seeds: {error}") from None
    settings = load.run_settings(config, paper, options.scale, problem, algorithm)
    entry = config.paper(paper)
    own = identity.run_identity(entry, options.scale, problem, algorithm)
    # A run that could not write its result must say so before it works for hours.
    files.check_writable(options.output)

    from replibo.run import build, loop, traces

    versions = identity.library_versions()
    folder = options.output.parent / f"journal_{paper}_{problem}_{algorithm}_{options.scale}"
    given = build.read_points(options.initial_points) if options.initial_points else None
    if given is not None:
        own["given_points"] = given.tolist()
    journal = identity.identity_digest({**own, "paper": paper, "versions": versions})
    job = build.experiment(config, paper, options.scale, problem, algorithm, given)
    overhead = time.process_time() - started
    name = f"{paper} {problem} {algorithm} seeds {options.seeds} at scale {options.scale}"
    with _on_signals(_exit_at_once):
        done = loop.run_block(
            job, seeds, journal_folder=folder, identity=journal, report=_progress(name)
        )
    metadata = {
        "paper": paper,
        "problem": problem,
        "algorithm": algorithm,
        "scale": options.scale,
        "identity": own,
        "problem_facts": {
            "optimal_value": job.problem.optimal_value,
            "noise_std": job.problem.noise_std,
            "dim": job.problem.dim,
            "stand_in": job.problem.stand_in,
            "kept_queries": job.problem.kept_queries,
            "recorded": job.problem.recorded(),
            "initial_points": job.initial_points,
            "horizon": settings.horizon,
        },
        "digests": {str(trace.seed): trace.digest() for trace in done},
        "versions": versions,
        "overhead_seconds": overhead,
        "changed_config": bool(_overlays(options)),
        **_machine(),
    }
    traces.write(options.output, traces.table(done, metadata))
    for seed in seeds:
        loop.journal_path(folder, seed).unlink(missing_ok=True)
    from replibo.run.journal import remove_folder_if_empty

    remove_folder_if_empty(folder)


def _progress(name: str) -> Any:
    """Report progress on standard error (the rule's log), at most every ten seconds."""
    last = time.monotonic()

    def report(done: int, total: int) -> None:
        nonlocal last
        if done == total or time.monotonic() - last > 10:
            last = time.monotonic()
            print(f"{name}: {done} of {total} queries", file=sys.stderr, flush=True)

    return report


def _machine() -> dict[str, Any]:
    """Machine, memory and commit, for the metadata."""
    import platform
    import subprocess

    from replibo.run.memory import peak_mib

    try:
        commit = subprocess.run(
            ["git", "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        commit = "unknown"
    return {
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "peak_mb": round(peak_mib(), 1),
        "commit": commit,
    }


def _fetch(options: argparse.Namespace) -> None:
    from replibo.data.fetch import fetch_all
    from replibo.data.manifest import load_manifest

    config = _load(options)
    mirror = options.mirror if options.mirror is not None else config.data_mirror
    paths = fetch_all(
        options.files or list(load_manifest()),
        data_dir=options.data_dir or Path(config.data_dir),
        mirror=mirror,
    )
    for path in paths:
        print(path)


def _collect(options: argparse.Namespace) -> None:
    from replibo.config.load import scale_name
    from replibo.results import publish
    from replibo.results.runs import collect
    from replibo.run import traces

    config = _load(options)
    if options.scale == "published":
        config.paper(options.paper)
        content = publish.read(Path("published", options.paper))
    else:
        content = collect(config, options.paper, scale_name(options.scale))
    traces.write(options.output, content)


def _output(options: argparse.Namespace, kind: str) -> Any:
    """Call the function that makes a figure or table; returns what it made."""
    import importlib

    from replibo.results.runs import Runs

    entry = _load(options).paper(options.paper)
    known = getattr(entry, f"{kind}s")
    if options.name not in known:
        raise RepliboError(
            f"{options.paper} has no {kind} called {options.name!r}; allowed: {allowed(known)}"
        )
    output = known[options.name]
    module = importlib.import_module(f"replibo.papers.{options.paper}")
    function = getattr(module, output.function or options.name, None)
    if function is None:
        raise RepliboError(
            f"config: {options.paper}.{kind}s.{options.name}.function: {module.__name__} has no "
            f"{output.function or options.name!r}"
        )
    runs = Runs.read(options.runs, entry)
    if not runs.problems(output.problems):
        raise RepliboError(
            f"{options.runs}: no runs of {allowed(output.problems or entry.problems)}"
        )
    try:
        return function(runs, output, **output.options)
    except TypeError as error:
        if "argument" not in str(error):
            raise
        raise RepliboError(
            f"config: {options.paper}.{kind}s.{options.name}.options: {error}"
        ) from None


def _check_formats(paths: Sequence[Path], formats: Sequence[str]) -> None:
    for path in paths:
        if path.suffix[1:] not in formats:
            raise RepliboError(f"--output {path}: allowed: files that end in {allowed(formats)}")


def _figure(options: argparse.Namespace) -> None:
    _check_formats(options.output, ("pdf", "png", "svg"))
    from replibo.results import plotting

    plotting.save(_output(options, "figure"), options.output)


def _table(options: argparse.Namespace) -> None:
    _check_formats(options.output, ("csv", "md", "tex", "html"))
    from replibo.results import tables

    tables.save(_output(options, "table"), options.output)


def _claims(options: argparse.Namespace) -> None:
    _check_formats(options.output or [], ("csv", "md", "tex", "html"))
    from replibo import verdicts
    from replibo.config.load import scale_name
    from replibo.results import publish, tables
    from replibo.results.runs import Runs
    from replibo.run import traces
    from replibo.workflow.targets import published_files

    config = _load(options)
    if options.scale != "published":
        scale_name(options.scale)
    folder = Path("results", options.scale)
    runs = {}
    for paper in options.papers or config.papers:
        entry, path = config.paper(paper), folder / paper / "runs.parquet"
        if (
            options.scale == "published"
        ):  # what is in the repository now, not what was rebuilt from it
            if not published_files(paper) and not options.papers:
                continue
            content = publish.read(Path("published", paper))
            runs[paper] = Runs(entry, traces.read_metadata(content), content)
        elif path.exists():
            runs[paper] = Runs.read(path, entry)
        elif options.papers:
            raise RepliboError(f"{path}: not found; 'snakemake --cores 2 {path}' makes it")
    if not runs:
        raise RepliboError(
            f"{folder}: no paper was run at this scale; 'snakemake --cores 2 {folder}/claims.md' does it"
        )
    table = verdicts.table(
        verdicts.judge_all(config, verdicts.load(Path("config/claims.yaml")), runs)
    )
    if options.output:
        tables.save(table, options.output)
    else:
        print(table.md())


def _publish(options: argparse.Namespace) -> None:
    from replibo.config.load import scale_name
    from replibo.results.publish import publish

    _load(options).paper(options.paper)
    source = Path("results", scale_name(options.scale), options.paper, "runs.parquet")
    for path in publish(source, Path("published", options.paper), replace=options.replace):
        print(path)


def _estimate(options: argparse.Namespace) -> None:
    from replibo.config.load import scale_name
    from replibo.workflow import estimate

    config = _load(options)
    scale = scale_name(options.scale or "paper")
    targets = options.targets or ["all" if scale == "paper" else scale]
    others = [target for target in targets if target not in config.papers]
    if options.scale and options.targets and others:
        raise RepliboError(
            f"--scale: not allowed with {others[0]}, which has a scale of its own; with papers it is"
        )
    print(estimate.text(estimate.estimate(config, targets, scale, options.cores, options.by)))


def _list(options: argparse.Namespace) -> None:
    from replibo.config import registry

    config = _load(options)
    registry.check_all(config)
    for what in [options.what] if options.what else _LISTS:
        if not options.what:
            print(f"{what}:")
        indent = "" if options.what else "  "
        for name, text in _LISTS[what](config):
            print(f"{indent}{name:<34} {text}")


def _list_papers(config: Config) -> list[tuple[str, str]]:
    return [(name, f"{e.title} ({e.reference})") for name, e in config.entries.items()]


def _list_problems(config: Config) -> list[tuple[str, str]]:
    from replibo.config.registry import summary

    return [
        (f"{paper} {name}", f"{entry.label}: {summary('problems', entry.type)}")
        for paper, e in config.entries.items()
        for name, entry in e.problems.items()
    ]


def _list_algorithms(config: Config) -> list[tuple[str, str]]:
    from replibo.config.registry import summary

    return [
        (f"{paper} {name}", f"{entry.label}: {summary('algorithms', entry.type)}")
        for paper, e in config.entries.items()
        for name, entry in e.algorithms.items()
    ]


def _list_outputs(kind: str) -> Any:
    def rows(config: Config) -> list[tuple[str, str]]:
        return [
            (f"{paper} {name}", entry.caption)
            for paper, e in config.entries.items()
            for name, entry in getattr(e, kind).items()
        ]

    return rows


def _list_scales(config: Config) -> list[tuple[str, str]]:
    return [
        ("smoke", "every rule once, about a minute, no network"),
        ("quick", "minutes on two cores, no network; stand-ins where data are needed"),
        ("paper", "every number as the paper states it, real data"),
        ("published", "figures, tables and verdicts from the traces in published/"),
    ]


def _list_data(config: Config) -> list[tuple[str, str]]:
    from replibo.data.manifest import load_manifest

    return [
        (name, f"{config.data_dir}/{file.path} ({file.licence})")
        for name, file in load_manifest().items()
    ]


_LISTS: dict[str, Any] = {
    "papers": _list_papers,
    "problems": _list_problems,
    "algorithms": _list_algorithms,
    "figures": _list_outputs("figures"),
    "tables": _list_outputs("tables"),
    "scales": _list_scales,
    "data": _list_data,
}


if __name__ == "__main__":
    raise SystemExit(main())
