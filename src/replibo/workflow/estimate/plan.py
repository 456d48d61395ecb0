"""The jobs that targets need, and how long they take if cores share them."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from replibo import paths
from replibo.config import claims
from replibo.config.load import run_settings
from replibo.config.models import Config
from replibo.errors import RepliboError, allowed, meant
from replibo.workflow import targets
from replibo.workflow.targets import OutputKind


class Job(NamedTuple):
    """A job of the DAG: ``run``, ``collect``, ``figure``, ``table``, ``claim``, ``outputs`` (all that is
    published of a paper) or ``verdicts``, and which one."""

    kind: str
    scale: str
    paper: str = ""
    names: tuple[str, ...] = ()


class Plan:
    """The jobs that targets need, each once; nothing is taken as done."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.jobs: dict[Job, None] = {}

    def add(self, target: str, scale: str = "paper") -> None:
        """The jobs of a target rule, a file, a claim, or all outputs of a paper at ``scale``.

        Raises:
            RepliboError: there is no such target.
        """
        files = [target]
        if target in self.config.papers:
            files = targets.of_paper(self.config, target, scale)
        elif target in ("all", "smoke", "quick", paths.PUBLISHED):
            files = targets.outputs(self.config, "paper" if target == "all" else target)
        elif target in (papers := claims.names(self.config)):
            scale = self.config.scale("paper")
            files = [paths.claim(scale, papers[target], target, claims.PRINTED)]
        for path in files:
            self._add(self._job(path))

    def _job(self, path: str) -> Job:
        """The job that makes a file."""
        config = self.config
        for template, made in (
            (paths.VERDICTS, paths.VERDICTS_FORMATS),
            (paths.VERDICT_MAP, paths.FIGURE_FORMATS),
            (paths.PAPER_MAP, paths.FIGURE_FORMATS),
            (paths.JUDGED, ()),
        ):
            if found := paths.match(template, path, made):
                scale, paper = targets.scale_of(config, found["scale"]), found.get("paper", "")
                together = paper and scale == paths.PUBLISHED
                return Job("outputs" if together else "verdicts", scale, paper)
        if found := paths.match(paths.CLAIM, path):
            scale, claim = config.scale(found["scale"]), (found["claim"], found["reading"])
            targets.claim_files(config, found["paper"], scale, *claim)
            return Job("claim", scale, found["paper"], claim)
        if found := paths.match(paths.BLOCK, path):
            scale, paper = found["scale"], found["paper"]
            names = (found["problem"], found["algorithm"], found["block"])
            targets.check_block(config, paper, scale, *names)
            return Job("run", scale, paper, names)
        if found := paths.match(paths.COLLECTED, path):
            scale, paper = found["scale"], found["paper"]
            run_settings(config, paper, scale, found["problem"], found["algorithm"])
            return Job("collect", scale, paper, (found["problem"], found["algorithm"]))
        for kind, template, endings in (
            ("figure", paths.FIGURE, paths.FIGURE_FORMATS),
            ("table", paths.TABLE, paths.TABLE_FORMATS),
        ):
            if found := paths.match(template, path, endings):
                paper, name = found["paper"], found[kind]
                targets.output_entry(config, KINDS[kind], paper, name)
                scale = targets.scale_of(config, found["scale"])
                if scale == paths.PUBLISHED and "." not in name:
                    return Job("outputs", scale, paper)
                return Job(kind, scale, paper, (name,))
        raise RepliboError(
            f"no target is called {path!r}; allowed: all, published, quick, smoke, a paper "
            f"({allowed(config.papers)}), a claim, or a file such as "
            f"figures/paper/go_ucb/figure_1.pdf{meant(path, list(claims.names(config)))}"
        )

    def _add(self, job: Job) -> None:
        if job not in self.jobs:
            self.jobs[job] = None
            for path in self._inputs(job):
                self._add(self._job(path))

    def _inputs(self, job: Job) -> list[str]:
        """The files that a job waits for; no runs where traces are published."""
        if job.kind == "verdicts" and not job.paper:
            return targets.judged_files(self.config, job.scale)
        if job.kind == "run" or job.scale == paths.PUBLISHED:
            return []
        if job.kind == "verdicts":
            return targets.verdict_files(self.config, job.paper, job.scale)
        if job.kind == "claim":
            claim, reading = job.names
            return targets.claim_files(self.config, job.paper, job.scale, claim, reading)
        if job.kind == "collect":
            return targets.block_files(self.config, job.paper, job.scale, *job.names)
        return targets.output_files(
            self.config, KINDS[job.kind], job.paper, job.names[0], job.scale
        )


KINDS: dict[str, OutputKind] = {"figure": "figures", "table": "tables"}
"""For each kind of job the key of its entries in the config."""


def check_cores(cores: int) -> None:
    """Raise a `RepliboError` unless there is a core."""
    if cores < 1:
        raise RepliboError(f"--cores: must be a number >= 1, got {cores}")


def wall_seconds(seconds: Collection[float], cores: int) -> float:
    """Seconds that jobs take on ``cores`` free cores: their share of a core, or the longest job."""
    return max(sum(seconds) / cores, max(seconds, default=0.0))
