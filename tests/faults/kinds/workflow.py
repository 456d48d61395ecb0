"""Snakemake: wrong targets and configs, and a workflow that is killed."""

from __future__ import annotations

import os
import signal

import bench
import snakemake.cli
from bench import PAPER, PROBLEM, SCALE, Case, Child, FaultError

from kinds.base import drawn, kind
from replibo import paths

RUN = f"results/{SCALE}/{PAPER}/{PROBLEM}/go_ucb"


def started(case: Case, *arguments: str) -> Child:
    """Start Snakemake in the case's folder, with the project's Snakefile."""

    def start() -> int:
        os.setpgid(0, 0)
        snakemake.cli.main(["--snakefile", "Snakefile", *arguments])
        return 0

    for name in ("Snakefile", "workflow", "profiles"):
        if not (case.folder / name).exists():
            (case.folder / name).symlink_to(bench.ROOT / name)
    child = Child(case.folder, start, None)
    case.children.append(child)
    return child


def must_be_said(case: Case, child: Child, *names: str) -> None:
    """Check that Snakemake ended with an error, said in a line what is wrong, and made nothing."""
    outcome = child.outcome()
    if outcome.status != 1 or "Traceback" in outcome.said or "common.smk" in outcome.said:
        raise FaultError(f"status {outcome.status}: {outcome.said[-700:]}")
    if not any(name in line for name in names for line in outcome.said.splitlines()):
        raise FaultError(f"does not name {' or '.join(names)}: {outcome.said[-700:]}")
    if (case.folder / "results").exists() or (case.folder / "figures").exists():
        raise FaultError("something was made")
    if any((case.folder / ".snakemake" / "locks").glob("*")):
        raise FaultError("the folder stays locked")


@kind("Snakemake: wrong targets", 2)
def _(case: Case) -> None:
    rng = case.rng
    scale = rng.choice(["huge", "smoke@mine", "quik", "9", "smoke "])
    target, name = rng.choice(
        [
            (f"{RUN}/seeds_{rng.choice(['9-0', '010', '3-12', '4', '0-2147483647', '9' * 30])}.parquet",) * 2,
            *((f"{RUN}/seeds_{block}.parquet", "No rule to produce") for block in ("x", "-1", "1-", "0,1", "")),
            (f"results/{SCALE}/{PAPER}/{PROBLEM}/nope/seeds_0-1.parquet", "no algorithm called 'nope'"),
            (f"results/{SCALE}/{PAPER}/nope/go_ucb/runs.parquet", "no problem called 'nope'"),
            (f"results/{SCALE}/nope/{PROBLEM}/go_ucb/seeds_0-1.parquet", "No rule to produce"),
            (f"figures/{SCALE}/{PAPER}/nope.{rng.choice(['pdf', 'png'])}", "no figure called 'nope'"),
            (f"results/{SCALE}/{PAPER}/nope.{rng.choice(['csv', 'md', 'tex'])}", "no table called 'nope'"),
            (f"figures/{scale}/{PAPER}/figure.pdf",) * 2,
            (f"results/{scale}/claims.html",) * 2,
            (f"figures/{SCALE}/{PAPER}/figure.{rng.choice(['svg', 'PDF', ''])}", "No rule to produce"),
            *((word, "No rule to produce") for word in ("nope", "x" * 300, "../x", "/nope", "ü b")),
        ]
    )  # fmt: skip
    must_be_said(case, started(case, rng.choice(["-n", "--cores=1"]), target), name)


@kind("Snakemake: wrong configs", 2)
def _(case: Case) -> None:
    rng = case.rng
    text, name = rng.choice(
        [
            (f"{PAPER}: {{nope: 1}}", f"config: {PAPER}.nope: unknown key"),
            ("nope: 1", "config: nope: unknown key"),
            ("papers: 7", "config: papers: must be a list"),
            ("papers: [go_ucb, go_ucb]", "config: papers"),
            (f"{PAPER}: {{defaults: {{seeds: 9-0}}}}", f"config: {PAPER}.defaults.seeds"),
            (f"{PAPER}: {{defaults: {{horizon: -1}}}}", f"config: {PAPER}.defaults.horizon"),
            (f"{PAPER}: {{defaults: {{algorithms: [nope]}}}}", "nope"),
            (f"{PAPER}: {{problems: {{{PROBLEM}: {{type: os.system}}}}}}", f"{PAPER}.problems.{PROBLEM}"),
            (f"{PAPER}: {{problems: {{{PROBLEM}: {{parameters: {{x: 1}}}}}}}}", f"{PAPER}.problems.{PROBLEM}"),
            (f"{PAPER}: {{figures: {{figure: {{function: os.system}}}}}}", f"config: {PAPER}.figures.figure"),
            (f"{PAPER}: {{algorithms: {{go_ucb: {{parameters: {{x: 1}}}}}}}}", f"{PAPER}.algorithms.go_ucb"),
            ("variant: ../x", "config: variant"),
            ("memory_mb: many", "config: memory_mb"),
            (f"{PAPER}: {{defaults: {{horizon: 010}}}}", "mine.yaml, line 1"),
            (f"{PAPER}: {{defaults: {{horizon: 9, horizon: 8}}}}", "mine.yaml, line 1"),
            (f"{PAPER}: !!python/name:os.system", "mine.yaml"),
            (f"{PAPER}: 7", f"config: {PAPER}"),
        ]
    )  # fmt: skip
    if rng.random() < 0.5:
        (case.folder / "mine.yaml").write_text(text + "\n")
        given = ["--configfile", "mine.yaml"]
    else:  # what is wrong stands in the config itself
        path = case.folder / "config" / f"{PAPER}.yaml"
        content = bytearray(path.read_bytes())
        match rng.randrange(3):
            case 0:
                content[rng.randrange(len(content))] = rng.choice(b"\x00\xff")
            case 1:
                content += b"\n- 1\n"
            case _:
                content = bytearray(b"")
        path.write_bytes(content)
        given, name = [], f"config/{PAPER}.yaml"
    target = rng.choice([SCALE, f"figures/{SCALE}/{PAPER}/figure.pdf", f"{RUN}/runs.parquet"])
    must_be_said(
        case, started(case, rng.choice(["-n", "--cores=1"]), target, *given), name, "mine.yaml"
    )


@kind("Snakemake: killed, unlocked and run again", 0.4)
def _(case: Case) -> None:
    algorithm, _ = drawn(case)
    target = paths.collected(SCALE, PAPER, PROBLEM, algorithm)
    child = started(case, "--cores=1", target)
    child.wait(case.rng.uniform(1, 12))
    if child.running:
        os.killpg(child.pid, case.rng.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
    child.outcome()
    for arguments in (["--unlock"], ["--cores=1", "--rerun-incomplete", target]):
        outcome = started(case, *arguments).outcome()
        if outcome.status != 0:
            raise FaultError(f"{arguments}: status {outcome.status}: {outcome.said[-700:]}")
    for name, expected in case.expected.items():
        if f"/{algorithm}/" in name:
            found = case.work(lambda name=name: bench.digests(case.folder / name))
            if found != expected:
                raise FaultError(f"{name}: not the undisturbed trace")
    if (case.folder / target).read_bytes() == b"" or any(case.folder.rglob("journal_*")):
        raise FaultError("not whole, or a journal was left")
