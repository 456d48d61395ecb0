"""The typed models of the config. ``config/README.md`` explains every key."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from replibo.errors import RepliboError, allowed, meant

SCALES = ("smoke", "quick", "paper")
Scale = Literal["smoke", "quick", "paper"]

# After Okabe and Ito, safe for the colour-blind, but each darkened to a contrast of 3 on white (their
# yellow, which cannot be, is brown), and grey for references.
COLORS = {
    "black": "#000000",
    "orange": "#D27E00",
    "sky_blue": "#3D9BD6",
    "green": "#008A63",
    "brown": "#6B3F00",
    "blue": "#00508C",
    "vermillion": "#D0400A",
    "purple": "#B65C97",
    "grey": "#808080",
}
Color = Literal[
    "black", "orange", "sky_blue", "green", "brown", "blue", "vermillion", "purple", "grey"
]

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=100)]
FunctionName = Annotated[str, Field(pattern=r"^([a-z][a-z0-9_]*\.)?[a-z][a-z0-9_]*$")]

Pair = tuple[str, str]
"""A problem and an algorithm."""

LARGEST_HORIZON = 1_000_000
# Strict: no bool, no text, no 8.0
Rounds = Annotated[int, Field(ge=1, le=LARGEST_HORIZON, strict=True)]
Size = Annotated[int, Field(gt=0, strict=True)]


def _unique(names: list[str]) -> list[str]:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"must hold each name once, got {name!r} twice")
    return names


Names = Annotated[list[Name], AfterValidator(_unique)]


def _joined(first: list[str], second: list[str]) -> list[str]:
    """Both lists, each name once."""
    return list(dict.fromkeys([*first, *second]))


LARGEST_SEED = 2**31 - 1
MOST_SEEDS = 100_000


def parse_seeds(value: object) -> str:
    """``"3"`` or ``"0-9"`` (both ends included), as given by an integer or a text."""
    text = str(value).strip() if isinstance(value, (str, int)) and value is not True else ""
    quoted = repr(value) if len(repr(value)) <= 60 else f"{repr(value)[:57]}…"
    match = re.fullmatch(r"(0|[1-9][0-9]*)(?:-(0|[1-9][0-9]*))?", text[:100])
    if not match:
        raise ValueError(f"must be a number or FIRST-LAST, e.g. 0-9, got {quoted}")
    first, last = int(match[1]), int(match[2] or match[1])
    if last < first or last > LARGEST_SEED:
        raise ValueError(f"must be seeds in rising order, at most {LARGEST_SEED}, got {quoted}")
    if last - first >= MOST_SEEDS:
        raise ValueError(f"must be at most {MOST_SEEDS} seeds, got {quoted}")
    return text


Seeds = Annotated[str, BeforeValidator(parse_seeds)]


def seed_list(seeds: str) -> list[int]:
    """The seeds of a range: ``"0-2"`` → ``[0, 1, 2]``."""
    first, _, last = parse_seeds(seeds).partition("-")
    return list(range(int(first), int(last or first) + 1))


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


NAMED = {
    **dict.fromkeys(("problems", "also", "only"), "problems"),
    **dict.fromkeys(("algorithms", "add_algorithms", "horizons"), "algorithms"),
}
"""What the names in the list or the mapping of a key are of."""


def _references(model: Model, where: str = "") -> Iterator[tuple[str, str, Iterable[str]]]:
    """Every list or mapping in a model that names problems or algorithms: its place, which of the two,
    and the names."""
    for key, value in model:
        if key in NAMED and value is not None:
            yield f"{where}{key}", NAMED[key], value
        inner = (
            {f"{key}.{name}": entry for name, entry in value.items()}
            if isinstance(value, dict)
            else {key: value}
        )
        for place, entry in inner.items():
            if isinstance(entry, Model):
                yield from _references(entry, f"{where}{place}.")


class RunSettings(Model):
    """Settings of a problem's runs; a key left out is inherited."""

    seeds: Seeds | None = None
    """Seeds, ``FIRST-LAST`` (both included) or one number."""
    horizon: Rounds | None = None
    """T: the last round."""
    horizons: dict[Name, Rounds] = {}
    """T of single algorithms that run to another round than the problem's ``horizon``."""
    initial_points: Rounds | None = None
    """Number of initial points, shared by all algorithms of a seed."""
    algorithms: Names | None = None
    """Names of the algorithms to run."""
    add_algorithms: Names = []
    """Names of algorithms to run besides those, inherited or not."""
    seeds_per_job: Size | None = None
    """Seeds that one process runs; the traces do not depend on it."""

    def over(self, lower: RunSettings) -> RunSettings:
        """These settings, with what they leave out taken from ``lower``. A horizon stands for every
        algorithm: it takes the place of the single ones below it, too."""
        merged = {
            key: getattr(lower if getattr(self, key) is None else self, key)
            for key in RunSettings.model_fields
        }
        merged["add_algorithms"] = _joined(lower.add_algorithms, self.add_algorithms)
        below = {} if self.horizon is not None else lower.horizons
        merged["horizons"] = {**below, **self.horizons}
        # Both are checked; a dry run asks for thousands of these.
        return RunSettings.model_construct(**merged)


class ProblemEntry(RunSettings):
    """One problem of a paper."""

    type: str
    """``module.Class`` in ``src/replibo/problems``, or ``FILE.py:Class``."""
    label: str
    """Title in figures and tables."""
    parameters: dict[str, Any] = {}
    """Keyword arguments of the class."""
    data_files: list[str] = []
    """Names of files of the manifest that the class reads (its argument ``data``)."""


class AlgorithmEntry(Model):
    """One algorithm of a paper."""

    type: str
    """``module.Class`` in ``src/replibo/algorithms``, or ``FILE.py:Class``."""
    label: str
    """Name in figures and tables."""
    color: Color
    """Colour in every figure, from a colour-blind-safe palette."""
    line: Literal["solid", "dashed", "dotted", "dashdot"] = "solid"
    """Line style in every figure."""
    marker: Literal["circle", "square", "triangle", "diamond", "cross"] | None = None
    """Marker in every figure; None: that of the colour. Colour says the method, line and marker say which
    variant."""
    parameters: dict[str, Any] = {}
    """Keyword arguments of the class."""
    seeds_per_job: Size | None = None
    """Overrides the problem's ``seeds_per_job`` where this algorithm is much faster or slower,
    or its runs share work."""


class AlgorithmSettings(Model):
    """Settings of one algorithm that differ at one scale."""

    seeds: Seeds | None = None
    """Seeds, where the algorithm is too slow for the problem's."""
    seeds_per_job: Size | None = None
    """Seeds that one process runs."""


class ScaleEntry(Model):
    """The part of the paper that one scale runs: only what differs from the paper."""

    data: Literal["real", "stand_in"] = "real"
    """Whether problems read the real files or the built-in stand-ins (no network)."""
    only: Names | None = None
    """The problems to run; all where it is left out."""
    defaults: RunSettings = RunSettings()
    """Settings of every problem at this scale."""
    problems: dict[Name, RunSettings] = {}
    """Settings of single problems at this scale."""
    algorithms: dict[Name, AlgorithmSettings] = {}
    """Seeds of single algorithms at this scale."""
    left_out: Names = []
    """Figures and tables that the scale's target leaves out; each can still be asked for by its name."""


class FigureEntry(Model):
    """One figure or table, and the runs that it reads."""

    caption: str
    """What it shows, in the paper's words; the intervals are explained here."""
    function: FunctionName
    """The function that makes it: ``function`` or ``module.function`` in the paper's package."""
    problems: Names | None = None
    """The problems whose runs it reads, in the order shown; all where it is left out, none where the
    list is empty."""
    algorithms: Names | None = None
    """The algorithms whose runs it reads, in the order shown; all where it is left out."""
    add_algorithms: Names = []
    """Algorithms to show besides those."""
    options: dict[str, Any] = {}
    """Keyword arguments of the function."""
    claims: list[str] = []
    """The claims whose pages show it, besides those whose `where` names it; ``*`` stands for any text."""

    @model_validator(mode="after")
    def _with_added(self) -> FigureEntry:
        if self.algorithms is None or not self.add_algorithms:
            return self
        algorithms = _joined(self.algorithms, self.add_algorithms)
        return self.model_copy(update={"algorithms": algorithms})


class PaperEntry(Model):
    """One paper: reads like its experiments section."""

    title: str
    """The paper's title."""
    reference: str
    """Authors, venue, year."""
    label: str
    """Its method's name, as the paper writes it."""
    url: str
    """Where the paper can be read."""
    proposes: str
    """What the paper proposes, in one sentence."""
    main_claims: list[Name]
    """The claims that the paper is read for, at most four."""
    first_round: Literal["initial", "search"]
    """Which query is t = 1: the first initial point, or the first one that an algorithm chooses."""
    defaults: RunSettings
    """Settings of every problem at the paper's own scale."""
    problems: dict[Name, ProblemEntry]
    """The problems."""
    algorithms: dict[Name, AlgorithmEntry]
    """The algorithms."""
    scales: dict[Scale, ScaleEntry]
    """What differs at each scale."""
    figures: dict[Name, FigureEntry]
    """The figures."""
    tables: dict[Name, FigureEntry]
    """The tables."""

    @model_validator(mode="after")
    def _names_exist(self) -> PaperEntry:
        for where, kind, names in _references(self):
            entries = getattr(self, kind)
            for name in names:
                if name not in entries:
                    raise ValueError(
                        f"{where}: no {kind[:-1]} is called {name!r}; allowed: {allowed(entries)}"
                        f"{meant(name, entries)}"
                    )
        outputs = self.figures.keys() | self.tables.keys()
        for scale in SCALES:
            if scale not in self.scales:
                raise ValueError(f"scales: {scale!r} is missing; needed: {allowed(SCALES)}")
            for name in self.scales[scale].left_out:
                if name not in outputs:
                    raise ValueError(
                        f"scales.{scale}.left_out: no figure or table is called {name!r}; allowed: "
                        f"{allowed(outputs)}"
                    )
            for problem in self.problems_at(scale):
                settings = self.settings(scale, problem)
                for key, value in settings:
                    if value is None:
                        raise ValueError(f"problems.{problem}.{key}: not given, nor in defaults")
                horizon = min(self.horizons(scale, problem))
                rounds = horizon - settings.initial_points  # type: ignore[operator]
                if self.first_round == "initial" and rounds < 1:
                    raise ValueError(
                        f"scales.{scale}: {problem} has horizon {horizon} and "
                        f"{settings.initial_points} initial points; where t = 1 is the first "
                        "initial point, the horizon must be larger"
                    )
        self._added_run()
        return self

    def _added_run(self) -> None:
        """Check that what a figure or table adds is run. Its ``algorithms`` may be more: a file laid over
        the config may take algorithms from the problems."""
        for group in ("figures", "tables"):
            for name, output in getattr(self, group).items():
                if not output.add_algorithms or output.problems == []:
                    continue
                problems = output.problems or self.problems
                run = {a for scale in SCALES for _, a in self.pairs(scale, problems)}
                for problem in problems:
                    settings = self.problems[problem].over(self.defaults)
                    run |= {*(settings.algorithms or ()), *settings.add_algorithms}
                for algorithm in output.add_algorithms:
                    if algorithm not in run:
                        raise ValueError(
                            f"{group}.{name}.add_algorithms: none of its problems runs {algorithm!r}; "
                            "must be in the add_algorithms of one of them, or of defaults"
                        )

    def at(self, scale: str) -> ScaleEntry:
        """What differs at ``scale``, which may be a variant's (`Config.scale`)."""
        return self.scales[scale.partition("@")[0]]  # type: ignore[index]

    def problems_at(self, scale: str) -> list[str]:
        """The problems run at ``scale``, in the config's order."""
        only = self.at(scale).only
        return [name for name in self.problems if only is None or name in only]

    def pairs(
        self,
        scale: str,
        problems: Collection[str] | None = None,
        algorithms: Collection[str] | None = None,
    ) -> list[Pair]:
        """The pairs that are run at ``scale``, in the config's order; only those of ``problems`` and
        ``algorithms``, where these are not None."""
        return [
            (problem, algorithm)
            for problem in self.problems_at(scale)
            if problems is None or problem in problems
            for algorithm in self.settings(scale, problem).algorithms or []
            if algorithms is None or algorithm in algorithms
        ]

    def settings(self, scale: str, problem: str, algorithm: str | None = None) -> RunSettings:
        """The settings of ``problem`` at ``scale``. The first of these that has a setting decides it:
        the scale's for the problem, the scale's defaults, the problem's own, the paper's defaults.

        Args:
            algorithm: the horizon is that of its runs; without one the problem's.
        """
        cache = self._settings
        if (scale, problem, algorithm) not in cache:
            cache[scale, problem, algorithm] = self._looked_up(scale, problem, algorithm)
        return cache[scale, problem, algorithm]

    def _looked_up(self, scale: str, problem: str, algorithm: str | None) -> RunSettings:
        if algorithm is not None:
            common = self.settings(scale, problem)
            horizon = common.horizons.get(algorithm, common.horizon)
            return common.model_copy(update={"horizon": horizon, "horizons": {}})
        entry = self.at(scale)
        result = entry.problems.get(problem, RunSettings()).over(entry.defaults)
        result = result.over(self.problems[problem]).over(self.defaults)
        algorithms = _joined(result.algorithms or [], result.add_algorithms)
        return result.model_copy(update={"algorithms": algorithms, "add_algorithms": []})

    @functools.cached_property
    def _settings(self) -> dict[tuple[str, str, str | None], RunSettings]:
        """What `settings` said: a dry run asks tens of thousands of times."""
        return {}

    def horizons(self, scale: str, problem: str) -> set[int]:
        """Every T to which ``problem`` is run at ``scale``."""
        settings = self.settings(scale, problem)
        ends = {settings.horizons.get(name, settings.horizon) for name in settings.algorithms or []}
        return {horizon for horizon in ends or {settings.horizon} if horizon is not None}

    def queries(self, settings: RunSettings) -> int:
        """The number of queries of a run with these settings."""
        assert settings.horizon is not None and settings.initial_points is not None
        return settings.horizon + (settings.initial_points if self.first_round == "search" else 0)

    def seeds(self, scale: str, problem: str, algorithm: str) -> list[int]:
        """The seeds of one problem and algorithm: the scale's for the algorithm, else the problem's."""
        overrides = self.at(scale).algorithms.get(algorithm, AlgorithmSettings())
        return seed_list(overrides.seeds or str(self.settings(scale, problem).seeds))

    def blocks(self, scale: str, problem: str, algorithm: str) -> list[str]:
        """The blocks of seeds that the jobs of one problem and algorithm run: ``["0-24", …]``."""
        overrides = self.at(scale).algorithms.get(algorithm, AlgorithmSettings())
        # the first that is set: the scale's, the algorithm's own, the problem's
        size = (
            overrides.seeds_per_job
            or self.algorithms[algorithm].seeds_per_job
            or self.settings(scale, problem).seeds_per_job
        )
        assert size is not None
        seeds = self.seeds(scale, problem, algorithm)
        return [block_name(seeds[i : i + size]) for i in range(0, len(seeds), size)]


def block_name(seeds: list[int]) -> str:
    """``[0, 1, 2]`` → ``"0-2"``."""
    return f"{seeds[0]}-{seeds[-1]}" if len(seeds) > 1 else str(seeds[0])


class Config(Model):
    """The whole config: ``config/config.yaml`` and one file per paper."""

    papers: Annotated[Names, Field(min_length=1)]
    """The papers to replicate; each has a file ``config/PAPER.yaml`` with one key, its name."""
    variant: Name | None = None
    """The name of a changed config. Its results and figures lie in folders called
    ``SCALE@VARIANT``, next to the base's."""
    data_dir: str = "data"
    """Folder of the downloaded files."""
    data_mirror: str | None = None
    """Folder or URL with the data files; goes before the files' own addresses."""
    memory_mb: Size = 1500
    """Memory in MB that one job of runs asks a cluster for where its method was never measured."""
    runtime_minutes: Size = 60
    """Minutes that one job of runs asks a cluster for where its method was never measured."""
    entries: dict[Name, PaperEntry] = Field(default={}, exclude=True)
    """Filled from the papers' files; not a key of config.yaml."""

    def scale(self, name: str, also: str = "") -> str:
        """A scale as files are named by it: ``quick``, or of a variant ``quick@VARIANT``.

        Args:
            name: a scale, with the variant's name or without.
            also: another name that the caller allows, for the message.
        """
        base, at, variant = name.partition("@")
        if base not in SCALES or (at and variant != self.variant):
            names = [self.scale(scale) for scale in SCALES]
            raise RepliboError(
                f"scale: must be one of {allowed(names + [also] * bool(also))}, got {name!r}"
            )
        return f"{base}@{self.variant}" if self.variant else base

    def paper(self, name: str) -> PaperEntry:
        """The entry of one paper; a `RepliboError` where there is none."""
        if name not in self.papers:
            raise RepliboError(f"no paper is called {name!r}; allowed: {allowed(self.papers)}")
        return self.entries[name]
