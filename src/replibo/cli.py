"""The command line: ``replibo run | fetch | collect | figure | table | claims | compare | publish |
estimate | list``. Thin, and heavy modules are imported by the command that needs them."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from replibo import files, stopping
from replibo.arguments import LISTED, parser
from replibo.errors import EXTRAS, RepliboError

if TYPE_CHECKING:
    from replibo.config.models import Config


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0; 2 where the user can mend what is wrong; 130 or 143
    after Ctrl-C or SIGTERM, with nothing left half-written."""
    commands = {
        "run": _run,
        "fetch": _fetch,
        "collect": _collect,
        "figure": _output,
        "table": _output,
        "claims": _claims,
        "compare": _compare,
        "publish": _publish,
        "estimate": _estimate,
        "list": _list,
    }
    try:
        with stopping.on_signals(stopping.unwind):
            options = parser().parse_args(arguments)
            _check_outputs(options)
            commands[options.command](options)
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
    except stopping.Stopped as stopped:
        number = signal.Signals(stopped.args[0])
        print(f"replibo: {stopping.STOPPED.format(number.name)}", file=sys.stderr)
        return 128 + number
    except MemoryError:
        print("replibo: not enough memory for these settings", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of our output (head, less) has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _check_outputs(options: argparse.Namespace) -> None:
    """Before the work starts: only a file, or nothing, may be where an output shall be."""
    outputs = getattr(options, "output", None) or []
    for path in outputs if isinstance(outputs, list) else [outputs]:
        files.check_target(path)


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
        while_querying=stopping.on_signals(stopping.exit_at_once),
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

    make = outputs.figure if options.command == "figure" else outputs.table
    make(_load(options), options.paper, options.name, options.scale, options.output)


def _claims(options: argparse.Namespace) -> None:
    from replibo.workflow import outputs

    made = outputs.claims(_load(options), options.names, options.scale, options.output)
    if not options.output:
        print(made)


def _compare(options: argparse.Namespace) -> None:
    from replibo.config import load
    from replibo.results import tables
    from replibo.workflow import compare, outputs

    outputs.check_endings(options.output, outputs.TABLE_ENDINGS)
    made = compare.table(load.load(), _load(options), options.papers, options.scale)
    if options.output:
        tables.save(made, options.output)
    else:
        print(made.md())


def _publish(options: argparse.Namespace) -> None:
    from replibo.workflow import outputs

    config = _load(options)
    for path in outputs.publish(config, options.paper, options.scale, replace=options.replace):
        print(path)


def _estimate(options: argparse.Namespace) -> None:
    from replibo.workflow.estimate import report

    config = _load(options)
    found = report.estimate(config, options.targets, options.scale, options.cores, options.by)
    print(report.in_full(found) if options.csv else report.text(found))


def _list(options: argparse.Namespace) -> None:
    from replibo.config import registry
    from replibo.workflow import listing

    config = _load(options)
    registry.check_all(config)
    said = listing.in_full if options.csv else listing.text
    print(said(config, [options.what] if options.what else LISTED))


if __name__ == "__main__":
    raise SystemExit(main())
