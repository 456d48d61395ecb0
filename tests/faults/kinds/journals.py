"""Journals that are damaged, foreign, or no files."""

from __future__ import annotations

import shutil
from pathlib import Path

from bench import ALGORITHMS, BLOCKS, Case, FaultError

from kinds.base import ODD, cut, drawn, flipped, journals_of, kind, put, with_journals


@kind("journals: cut", 5)
def _(case: Case) -> None:
    algorithm, block = drawn(case)
    for path in with_journals(case, algorithm, block):
        cut(case, path)
    case.must_be_rerun(algorithm, block)


def rerun_or_refused(case: Case, algorithm: str, block: str, path: Path) -> None:
    """The run goes on to the undisturbed trace; or says that a journal must go, and then does."""
    outcome = case.run(algorithm, block)
    if outcome.status != 0:
        case.must_be_refused(outcome, str(path.relative_to(case.folder)))
        if "delete the file" not in outcome.said:
            raise FaultError(f"does not say what to do: {outcome.said}")
        path.unlink()
        case.must_be_done(case.run(algorithm, block))
    case.must_be_undisturbed(algorithm, block)


@kind("journals: a flipped byte", 5)
def _(case: Case) -> None:
    algorithm, block = drawn(case)
    path = case.rng.choice(with_journals(case, algorithm, block))
    flipped(case, path)
    rerun_or_refused(case, algorithm, block, path)


@kind("journals: lines lost, doubled, swapped, foreign", 6)
def _(case: Case) -> None:
    algorithm, block = drawn(case)
    first, second = with_journals(case, algorithm, block)
    lines = first.read_bytes().splitlines(keepends=True)
    place = case.rng.randrange(len(lines) - 1)
    other = case.rng.randrange(len(lines))
    match case.rng.randrange(4):
        case 0:
            del lines[place : place + case.rng.randint(1, 3)]
        case 1:
            lines.insert(other, lines[place])
        case 2:
            lines[place], lines[other] = lines[other], lines[place]
        case _:
            lines[place] = second.read_bytes().splitlines(keepends=True)[place]
    first.write_bytes(b"".join(lines))
    rerun_or_refused(case, algorithm, block, first)


@kind("journals: of another seed or run", 5)
def _(case: Case) -> None:
    algorithm, block = drawn(case)
    others = [(a, b) for a in ALGORITHMS for b in BLOCKS if (a, b) != (algorithm, block)]
    own = with_journals(case, algorithm, block)
    match case.rng.randrange(3):
        case 0:
            shutil.copyfile(own[1], own[0])
        case 1:
            left, right = (path.read_bytes() for path in own)
            own[0].write_bytes(right), own[1].write_bytes(left)
        case _:
            for path, foreign in zip(
                own, with_journals(case, *case.rng.choice(others)), strict=True
            ):
                path.write_bytes(foreign.read_bytes())
    for folder in (case.folder / "results").rglob("journal_*"):
        if folder != own[0].parent:
            shutil.rmtree(folder)
    for path in own[0].parent.iterdir():
        if path not in own:
            path.unlink()
    case.must_be_rerun(algorithm, block)


@kind("journals: a pipe, a folder, a link, a device", 3)
def _(case: Case) -> None:
    algorithm, block = drawn(case)
    path = case.rng.choice(journals_of(case, algorithm, block))
    put(path, case.rng.choice(ODD))
    before = path.lstat()
    case.must_be_refused(case.run(algorithm, block), str(path.relative_to(case.folder)))
    after = path.lstat()
    if (before.st_mode, before.st_ino) != (after.st_mode, after.st_ino):
        raise FaultError(f"{path} was replaced")
    shutil.rmtree(path.parent)
    case.must_be_rerun(algorithm, block)
