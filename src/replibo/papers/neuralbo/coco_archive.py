"""COCO's own data of finished runs, and cocopp's post-processing of them.

Figure 2 is computed from the traces (`replibo.papers.neuralbo.coco`). For COCO's own tools the queries
of finished runs are made again on COCO's suite under its real observer, which writes the files that
cocopp reads. The functions are noiseless, so that each value must be the trace's: a replay checks
the traces, too.

The workflow does both: ``snakemake --cores 2 results/SCALE/neuralbo/cocopp``. By hand, for each
algorithm ``python -m replibo.papers.neuralbo.coco_archive archive ALGORITHM --scale SCALE
--output FOLDER``, then
``python -m replibo.papers.neuralbo.coco_archive postprocess FOLDER... --output FOLDER``.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from replibo.config import load
from replibo.config.models import Config
from replibo.errors import RepliboError, allowed, not_installed
from replibo.files import written_whole
from replibo.problems.coco import SUITE, Bbob, member
from replibo.run import pairs, traces

PAPER = "neuralbo"
TYPE = "coco.Bbob"

# A replayed value may differ from the trace's by this share of it (or, below 1, by this much). On
# the machine of the runs it is equal to the last bit. Another one may have another mathematical
# library.
TOLERANCE = 1e-9

# cocopp asks three servers for lists of archived data as soon as it is imported. None is needed, and a
# machine whose network drops packets would wait for each: an address that refuses at once.
NO_NETWORK = "http://127.0.0.1:9"


def archived_files(config: Config, scale: str, algorithm: str) -> list[str]:
    """The files of the runs of ``algorithm`` on all bbob problems of the paper at ``scale``.

    Raises:
        RepliboError: there are none.
    """
    entry = config.paper(PAPER)
    files = [
        name
        for problem, _ in entry.pairs(scale, algorithms=[algorithm])
        if entry.problems[problem].type == TYPE
        for name in pairs.blocks(entry, PAPER, scale, problem, algorithm)
    ]
    if not files:
        raise RepliboError(
            f"{PAPER}: {algorithm!r} has no runs on bbob at scale {scale}; allowed: "
            f"{allowed(archived_algorithms(config, scale))}"
        )
    return files


def archived_algorithms(config: Config, scale: str) -> list[str]:
    """The algorithms that run on a bbob problem of the paper at ``scale``, in the config's order."""
    entry = config.paper(PAPER)
    found = {
        algorithm
        for problem, algorithm in entry.pairs(scale)
        if entry.problems[problem].type == TYPE
    }
    return [algorithm for algorithm in entry.algorithms if algorithm in found]


def archive(
    config: Config, scale: str, algorithm: str, files: Iterable[str | Path], output: Path
) -> None:
    """Replay the queries of finished runs under COCO's observer, into the folder ``output``.

    Args:
        config: the config, for the dimensions of the problems.
        scale, algorithm: of the runs; the algorithm's name is what cocopp shows.
        files: the runs' own parquet files (`archived_files`), which hold their x.
        output: the folder that cocopp shall read; it appears whole or not at all, in place of one that
            was there.

    Raises:
        RepliboError: a file is missing, damaged or of other runs; two files hold the same run; a
            replayed value differs from the trace's.
    """
    import cocoex

    found: dict[tuple[int, int, int], tuple[traces.Trace, str]] = {}
    for path in map(Path, files):
        content = traces.read(path)
        dim = _dimension(config, scale, algorithm, path, traces.read_metadata(content))
        for trace in traces.split(content):
            function, instance = member(trace.seed)
            where = f"{path}, seed {trace.seed}"
            if (dim, function, instance) in found:
                raise RepliboError(
                    f"{where}: f{function}, instance {instance}, {dim}-D is in "
                    f"{found[dim, function, instance][1]} too; allowed: each run once"
                )
            found[dim, function, instance] = trace, where
    if not found:
        raise RepliboError(f"{output}: there are no runs to archive; allowed: at least one file")

    dimensions = ",".join(str(dim) for dim in sorted({dim for dim, _, _ in found}))
    instances = ",".join(str(instance) for instance in sorted({own for _, _, own in found}))
    with written_whole(output, folder=True) as temporary, _quiet(cocoex):
        suite = cocoex.Suite(SUITE, f"instances: {instances}", f"dimensions: {dimensions}")
        observer = cocoex.Observer(
            SUITE,
            f'outer_folder: "{temporary.parent}" result_folder: {temporary.name} '
            f"algorithm_name: {algorithm}",
        )
        for (dim, function, instance), (trace, where) in sorted(found.items()):
            problem = suite.get_problem_by_function_dimension_instance(
                function, dim, instance, observer
            )
            try:
                _replay(trace, problem, Bbob(dim=dim).of_seed(trace.seed).f_opt, where)
            finally:
                problem.free()  # closes its files


def _dimension(
    config: Config, scale: str, algorithm: str, path: Path, metadata: dict[str, Any]
) -> int:
    """The dimension of the runs in one file, after a look at whether they are what they shall be."""
    for key, value, wanted in (
        ("paper", metadata["paper"], PAPER),
        ("scale", metadata["scale"], scale),
        ("algorithm", metadata["algorithm"], algorithm),
    ):
        if value != wanted:
            raise RepliboError(f"{path}: holds runs of {key} {value}; allowed: {wanted}")
    entry = config.paper(PAPER).problems.get(metadata["problem"])
    if entry is None or entry.type != TYPE:
        raise RepliboError(f"{path}: holds runs of {metadata['problem']}; allowed: a bbob problem")
    parameters = metadata["identity"]["problem_parameters"]
    if parameters != entry.parameters:
        raise RepliboError(
            f"{path}: holds runs with {parameters}, not {entry.parameters}; delete it, and its rule "
            "makes it again"
        )
    return int(entry.parameters["dim"])


def _replay(trace: traces.Trace, problem: Any, f_opt: float, where: str) -> None:
    """Query an observed problem of COCO's at the trace's points, and compare the values."""
    for query, (x, f) in enumerate(zip(trace.x, trace.f, strict=True), start=1):
        replayed = f_opt - float(problem(x))
        if not abs(replayed - f) <= TOLERANCE * max(1.0, abs(f)):
            raise RepliboError(
                f"{where}, query {query}: COCO's value is {replayed!r}, the trace's {f!r}; allowed: "
                "equal values (delete the file, and its rule makes it again)"
            )


def postprocess(folders: Sequence[Path], output: Path) -> None:
    """Let cocopp compare the archived algorithms; its pages start at ``output/index.html``.

    cocopp runs in a process of its own, since it changes settings of matplotlib, warnings and NumPy's
    global generator. Its messages are kept in ``output/cocopp.log``. It unpacks its reference data
    beside its own modules when it is used first.

    Args:
        folders: what `archive` made, one for each algorithm.
        output: a folder; it appears whole or not at all, in place of one that was there.

    Raises:
        RepliboError: there is no folder, one of them is missing or empty, or cocopp fails.
    """
    if not folders:
        raise RepliboError("folders: none are given; allowed: at least one")
    for folder in folders:
        if not any(Path(folder).glob("*.info")):
            raise RepliboError(
                f"{folder}: holds no data of COCO's observer (no *.info); allowed: a folder that "
                "'python -m replibo.papers.neuralbo.coco_archive archive' made"
            )
    environment = {**os.environ, "http_proxy": NO_NETWORK, "https_proxy": NO_NETWORK}
    with written_whole(output, folder=True) as temporary:
        temporary.mkdir()
        log = temporary / "cocopp.log"
        command = [sys.executable, "-m", "cocopp", "-o", str(temporary), *map(str, folders)]
        with log.open("w", encoding="utf-8") as file:
            status = subprocess.run(
                command,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=environment,
                stdin=subprocess.DEVNULL,
                check=False,
            ).returncode
        if status:
            lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise RepliboError(f"cocopp failed: {lines[-1] if lines else f'status {status}'}")


@contextlib.contextmanager
def _quiet(cocoex: Any) -> Iterator[None]:
    """Without the suite's and the observer's remarks on standard output; warnings stay."""
    before = cocoex.log_level("warning")
    try:
        yield
    finally:
        cocoex.log_level(before)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line; the workflow names a changed config by ``REPLIBO_CONFIG``."""
    parser = argparse.ArgumentParser(prog="python -m replibo.papers.neuralbo.coco_archive")
    commands = parser.add_subparsers(required=True, dest="command")
    one = commands.add_parser(
        "archive", help="replay the runs of one algorithm under COCO's observer"
    )
    one.add_argument("algorithm")
    one.add_argument("--scale", required=True)
    one.add_argument("--output", type=Path, required=True)
    all_of_them = commands.add_parser("postprocess", help="cocopp's pages of archived algorithms")
    all_of_them.add_argument("folders", type=Path, nargs="+")
    all_of_them.add_argument("--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    if options.command == "postprocess":
        postprocess(options.folders, options.output)
        return
    config = load.load(overlays=load.overlays_of_workflow())
    scale = config.scale(options.scale)
    files = archived_files(config, scale, options.algorithm)
    archive(config, scale, options.algorithm, files, options.output)


if __name__ == "__main__":
    try:
        main()
    except RepliboError as error:
        sys.exit(f"replibo: {error}")
    except ModuleNotFoundError as error:
        sys.exit(f"replibo: {not_installed(error)}")
