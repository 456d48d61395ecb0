"""The command line: ``replibo run | recompute | fetch | collect | figure | table | outputs | claims |
check | bench | compare | site | publish | estimate | status | list``. Thin: heavy modules are imported by
the command that needs them."""

from __future__ import annotations

import argparse
import io
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from replibo import files, messages, paths, stopping
from replibo.arguments import ANYWHERE, LISTED, parser
from replibo.errors import RepliboError, not_installed
from replibo.threads import one_thread

if TYPE_CHECKING:
    from replibo.config.models import Config
    from replibo.workflow.targets import OutputKind


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status. It is 0; 2 if the user can correct what is wrong;
    130 or 143 after Ctrl-C or SIGTERM, with nothing left half-written."""
    commands = {
        "run": _run,
        "recompute": _recompute,
        "fetch": _fetch,
        "collect": _collect,
        "figure": _output,
        "table": _output,
        "outputs": _outputs,
        "claims": _claims,
        "check": _check,
        "bench": _bench,
        "compare": _compare,
        "site": _site,
        "publish": _publish,
        "estimate": _estimate,
        "status": _status,
        "list": _list,
    }
    messages.open_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):  # names and paths that its encoding does not have
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        # One thread: the same bits as in the workflow, and small matrices are slower on several.
        with stopping.on_signals(stopping.unwind), one_thread():
            _check_lines(sys.argv[1:] if arguments is None else arguments)
            options = parser().parse_args(arguments)
            _check_outputs(options)
            if "cores" in options:
                from replibo.workflow.costs import check_cores

                check_cores(options.cores)
            if text := commands[options.command](options):
                messages.show(text)
    except RepliboError as error:
        for line in str(error).splitlines():
            messages.tell(f"replibo: {line}")
        return 2
    except OSError as error:
        if error.filename is None:
            raise
        messages.tell(f"replibo: {error.filename}: {files.reason(error)}")
        return 2
    except ModuleNotFoundError as error:
        messages.tell(f"replibo: {not_installed(error)}")
        return 2
    except stopping.Stopped as stopped:
        number = signal.Signals(stopped.args[0])
        messages.tell(f"replibo: {stopping.STOPPED.format(number.name)}")
        return 128 + number
    except MemoryError:
        messages.tell("replibo: not enough memory for these settings")
        return 2
    finally:  # warnings of libraries
        messages.flush_errors()
    return 0


def _check_lines(arguments: Sequence[str]) -> None:
    """Messages are lines, and repeat what was given."""
    for word in arguments:
        if len(f"{word}.".splitlines()) > 1:
            raise RepliboError(f"an argument must have no line break, got {word[:60]!r}")


def _check_outputs(options: argparse.Namespace) -> None:
    """Before the work starts: only a file, or nothing, may be where an output shall be, and traces are
    parquet files."""
    outputs = getattr(options, "output", None) or []
    for path in outputs if isinstance(outputs, list) else [outputs]:
        files.check_target(path)
        if options.command in ("run", "collect") and path.suffix != ".parquet":
            raise RepliboError(f"--output: must end with .parquet, got {path}")


def _load(options: argparse.Namespace) -> Config:
    """The config of the working folder; outside a clone, that of the package if it is enough."""
    from replibo.config import load

    shipped = paths.SHIPPED / paths.CONFIG
    outside = not paths.CONFIG.is_dir() and shipped.is_dir() and options.command in ANYWHERE
    return load.load(shipped if outside else paths.CONFIG, _overlays(options))


def _checked(options: argparse.Namespace) -> Config:
    """The config, after every class, setting and function that it names was checked."""
    from replibo.config import registry
    from replibo.papers import lookup

    config = _load(options)
    registry.check_all(config)
    lookup.check_all(config)
    return config


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
        while_querying=stopping.on_signals(stopping.exit_at_once),
    )


def _recompute(options: argparse.Namespace) -> None:
    from replibo.results import recompute

    lines = recompute.recompute(
        _load(options),
        options.paper,
        options.runs,
        options.seed,
        adopt=options.adopt,
        longest=options.longest,
        cores=options.cores,
    )
    for line in lines:
        messages.show(line)


def _fetch(options: argparse.Namespace) -> str:
    from replibo.data.fetch import fetch_all
    from replibo.data.manifest import load_manifest

    config = _load(options)
    fetched = fetch_all(
        options.files or list(load_manifest()),
        data_dir=options.data_dir or Path(config.data_dir),
        mirror=options.mirror if options.mirror is not None else config.data_mirror,
    )
    return "\n".join(map(str, fetched))


def _collect(options: argparse.Namespace) -> None:
    from replibo.run import collect, traces

    pair = (options.paper, options.scale, options.problem, options.algorithm)
    traces.write(options.output, collect.collect(_load(options), *pair))


def _output(options: argparse.Namespace) -> None:
    from replibo.workflow import outputs

    kind: OutputKind = "figures" if options.command == "figure" else "tables"
    arguments = (options.paper, options.name, options.scale, options.output)
    outputs.output(_load(options), kind, *arguments)


def _outputs(options: argparse.Namespace) -> None:
    from replibo.workflow import outputs

    outputs.every(_load(options), options.paper, options.scale)


def _claims(options: argparse.Namespace) -> str | None:
    from replibo.workflow import outputs

    text = outputs.claims(
        _load(options),
        options.names,
        options.scale,
        options.output,
        in_full=options.csv,
        judged=options.judged,
        reading=options.reading,
    )
    return None if options.output else text


def _check(options: argparse.Namespace) -> str | None:
    from replibo.workflow import check

    config = _load(options)
    arguments = (options.claim, options.reading, options.seeds, options.cores)
    plan = check.prepare(config, _overlays(options), *arguments, narrow=options.narrow)
    messages.show(check.cost(plan))
    if options.dry_run:
        return None
    check.run(plan, verbose=options.verbose)
    return "\n" + check.result(config, plan)


def _bench(options: argparse.Namespace) -> str | None:
    from replibo.workflow import bench

    config = _load(options)
    choice = {name: getattr(options, name) for name in ("papers", "problems", "seeds", "cores")}
    plan = bench.prepare(
        config, _overlays(options), options.algorithm, parameters=options.set, **choice
    )
    messages.show(bench.cost(plan))
    if options.dry_run:
        return None
    bench.run(plan, verbose=options.verbose)
    return "\n" + bench.report(config, plan)


def _compare(options: argparse.Namespace) -> str | None:
    from replibo.config import load
    from replibo.results import tables
    from replibo.workflow import compare, outputs

    outputs.check_endings(options.output, paths.TABLE_FORMATS)
    table = compare.table(load.load(), _load(options), options.papers, options.scale)
    if not options.output:
        return table.md()
    tables.save(table, options.output)
    return None


def _site(options: argparse.Namespace) -> None:
    from replibo.workflow import site

    site.write(_load(options), options.scale, options.output)


def _publish(options: argparse.Namespace) -> None:
    from replibo.results import merge

    config = _load(options)
    lines, left_out = merge.publish(config, options.paper, options.scale, replace=options.replace)
    if lines:
        messages.show("\n".join(lines))
    else:
        scale = config.scale(options.scale)
        left_out.insert(
            0,
            f"{paths.published_folder(options.paper)}: nothing is finished at scale {scale}; 'snakemake "
            f"--cores 2 {options.paper if scale == 'paper' else scale}' runs it",
        )
    if left_out:
        raise RepliboError("\n".join(left_out))


def _estimate(options: argparse.Namespace) -> str:
    from replibo.workflow import estimate

    config = _checked(options)
    costs = estimate.estimate(config, options.targets, options.scale, options.cores, options.by)
    return estimate.in_full(costs) if options.csv else estimate.text(costs)


def _status(options: argparse.Namespace) -> str:
    from replibo.workflow import status

    config = _load(options)
    if options.watch:
        status.watch(config, options.scale, options.papers, options.cores)
    survey = status.survey(config, options.scale, options.papers)
    if options.csv:
        return status.as_csv(survey)
    outputs = status.outputs(config, options.scale, survey)
    return "\n".join([status.text(survey, options.cores), *outputs])


def _list(options: argparse.Namespace) -> str:
    from replibo.workflow import listing

    config = _checked(options)
    render = listing.in_full if options.csv else listing.text
    return render(config, [options.what] if options.what else LISTED)


if __name__ == "__main__":
    raise SystemExit(main())
