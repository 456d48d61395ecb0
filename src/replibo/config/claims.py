"""The papers' claims and their readings: ``config/claims/PAPER.yaml``."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError, model_validator

from replibo import paths
from replibo.config.load import lines_of, of_grids, read_yaml, strings, with_patterns
from replibo.config.models import (
    Config,
    FunctionName,
    Model,
    Name,
    Pair,
    PaperEntry,
    Rounds,
)
from replibo.errors import RepliboError, allowed, meant

Source = Literal["print", "code", "open", "mend"]
SOURCES: dict[Source, str] = {
    "print": "the paper's text",
    "code": "the authors' code",
    "open": "a point that the paper leaves open",
    "mend": "a departure that makes a method work",
}
"""The source of a reading; maps and tables show readings in this order."""

PRINTED = "printed"
"""The reading that every claim has, and that comes first."""

VARIATIONS: tuple[Literal["readings", "controls"], ...] = ("readings", "controls")
"""The kinds of variations of a claim."""

LEADING = (PRINTED, "code")
"""The readings that come first, where a claim has them; `code` has all settings as the authors' code has
them."""


def place(name: str, source: Source) -> tuple[int, int]:
    """The place of a reading among the others: the leading ones first, then by source."""
    leading = LEADING.index(name) if name in LEADING else len(LEADING)
    return leading, list(SOURCES).index(source)


class Variation(Model):
    """A claim with other problems, algorithms or options; its measure stays the same."""

    algorithms: dict[Name, Name] = Field(default_factory=dict)
    """For an algorithm of the claim, the one whose runs are read instead."""
    problems: dict[Name, Name] = Field(default_factory=dict)
    """For a problem of the claim, the one whose runs are read instead."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Options of the measure that have another value."""
    words: str = ""
    """What these options mean, for pages."""

    def stands_in(self, pair: Pair) -> Pair:
        """The problem and the algorithm whose runs are read for those of ``pair``."""
        problem, algorithm = pair
        return self.problems.get(problem, problem), self.algorithms.get(algorithm, algorithm)

    @property
    def changes(self) -> str:
        """What it replaces: ``gp_ts → gp_ts_uniform, metric = test_error``; empty where nothing."""
        names = [f"{old} → {new}" for old, new in (self.problems | self.algorithms).items()]
        return ", ".join([*names, *(f"{key} = {value}" for key, value in self.options.items())])

    def in_words(self, entry: PaperEntry) -> list[str]:
        """What it replaces, by the labels of its paper: ``GP-EI and GP-UCB: from 10 points``, ``Random
        search in place of GO-UCB``. The same replacement of several is one text."""
        together: dict[tuple[bool, str], list[str]] = {}
        for names, labels in ((self.problems, entry.problems), (self.algorithms, entry.algorithms)):
            for old, new in names.items():
                head, before, after = _changed(labels[old].label, labels[new].label)
                if head and before:
                    after = f"{after} in place of {before}" if after else f"without {before}"
                if after:
                    subjects = together.setdefault((bool(head), after), [])
                    if (head or before) not in subjects:
                        subjects.append(head or before)
        texts = [
            f"{_listed(subjects)}: {after}" if head else f"{after} in place of {_listed(subjects)}"
            for (head, after), subjects in together.items()
        ]
        words = self.words or ", ".join(f"{key} = {value}" for key, value in self.options.items())
        return texts + ([words] if words else [])


def _changed(old: str, new: str) -> tuple[str, str, str]:
    """What two labels have in common at the start, and the rest of each, without what they have in common
    at the end. Parts of a label end at commas."""
    before, after = old.split(", "), new.split(", ")
    head = []
    while before and after and before[0] == after[0]:
        head.append(before.pop(0))
        after.pop(0)
    while before and after and before[-1] == after[-1]:
        before.pop()
        after.pop()
    return ", ".join(head), ", ".join(before), ", ".join(after)


def _listed(names: Sequence[str]) -> str:
    """``a, b and c``."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


class Reading(Variation):
    """One defensible way to run or to measure what the paper says."""

    source: Source
    """Where it comes from."""


def _numbers_of_seeds(value: object) -> object:
    """`Claim.seeds`: a number above 0, or such a number for each problem."""
    counts = [*value.values()] if isinstance(value, dict) else [value]
    if not counts or not all(type(count) is int and count > 0 for count in counts):
        raise ValueError(
            f"must be a whole number above 0, or one for each of the problems, got {value!r}"
        )
    return value


class Claim(Model):
    """One statement of a paper that runs can support or contradict."""

    short: Annotated[str, Field(max_length=46)]
    """Its name on axes and in lists; up to the first comma the name of its `group`."""
    where: str
    """Section, figure or table."""
    statement: str
    """The claim in the paper's words, or close to them."""
    paper_value: str = "no number in the text"
    """The paper's own number, or that it gives none."""
    measure: FunctionName
    """The function that compares: ``function`` or ``module.function`` in the paper's package."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Its keyword arguments."""
    problems: list[Name]
    """The problems whose runs it needs; those that its options name if they are left out."""
    algorithms: list[Name]
    """The algorithms whose runs it needs; those that its options name if they are left out."""
    also: list[Name] = Field(default_factory=list)
    """Problems whose runs it reads where there are any."""
    seeds: Annotated[int | dict[Name, int], BeforeValidator(_numbers_of_seeds)]
    """The number of seeds behind the paper's statement, of each problem where they differ."""
    horizon: Rounds
    """The horizon behind the paper's statement."""
    rule: str
    """When an elementary comparison counts as supported, contradicted or open."""
    weak: str = ""
    """Why it could hardly fail, whatever the algorithm; empty where it could."""
    untested: bool = False
    """Whether the paper has no experiment for it, so that ours is on another problem: it may hold, and
    nothing is replicated."""
    unprinted: str = ""
    """What the paper leaves open, if no setting of it counts as printed; else empty. The reading
    `printed` is then never run, and another reading may replace nothing."""
    readings: dict[Name, Reading] = Field(default_factory=dict)
    """The readings in which it is judged, ``printed`` first, which need not be written."""
    controls: dict[Name, Variation] = Field(default_factory=dict)
    """Variations that are no readings of the paper and explain a result."""

    @model_validator(mode="after")
    def _printed_first(self) -> Claim:
        printed = self.readings.get(PRINTED, Reading(source="print"))
        if printed != Reading(source="print"):
            raise ValueError(f"readings.{PRINTED}: must be {{source: print}} and replace nothing")
        for kind in VARIATIONS:
            for name, variation in getattr(self, kind).items():
                if name != PRINTED and not variation.changes and not self.unprinted:
                    raise ValueError(f"{kind}.{name}: must replace something, got nothing")
        if PRINTED in self.controls or self.readings.keys() & self.controls.keys():
            raise ValueError("controls: must have other names than the readings")
        readings = [item for item in self.readings.items() if item[0] != PRINTED]
        readings.sort(key=lambda item: place(item[0], item[1].source))
        return self.model_copy(update={"readings": {PRINTED: printed} | dict(readings)})

    @property
    def group(self) -> str:
        """`short` up to its first comma. A paper's claims that share it are one row in the map of all
        papers."""
        return self.short.partition(", ")[0]

    @property
    def variations(self) -> dict[str, Variation]:
        """The readings and then the controls, by name."""
        return {**self.readings, **self.controls}

    def only(self, name: str) -> Claim:
        """The claim in one of its readings or controls; whole if ``name`` is `paths.ALL`."""
        if name == paths.ALL:
            return self
        names = [*self.variations, paths.ALL]
        if name not in names:
            raise RepliboError(
                f"reading: must be {allowed(names)}, got {name!r}{meant(name, names)}"
            )
        readings = {key: variation for key, variation in self.readings.items() if key == name}
        controls = {key: variation for key, variation in self.controls.items() if key == name}
        return self.model_copy(update={"readings": readings, "controls": controls})

    def under(self, variation: Variation) -> Claim:
        """The claim with the options of a reading or control, and without the algorithms that they name
        no more."""
        options = self.options | variation.options
        dropped = set(strings(self.options)) - set(strings(options))
        algorithms = [name for name in self.algorithms if name not in dropped]
        return self.model_copy(update={"options": options, "algorithms": algorithms})

    def reads(self, entry: PaperEntry) -> tuple[set[str], set[str]]:
        """The problems and the algorithms whose runs the measure reads: those that the claim or its
        options name."""
        words = set(strings(self.options))
        return (
            {*self.problems, *self.also, *(words & entry.problems.keys())},
            {*self.algorithms, *(words & entry.algorithms.keys())},
        )

    def pairs(self, entry: PaperEntry, variation: Variation) -> dict[Pair, Pair]:
        """For each problem and algorithm that the measure reads those whose runs it is given."""
        problems, algorithms = self.under(variation).reads(entry)
        read = [(problem, algorithm) for problem in problems for algorithm in algorithms]
        return {pair: variation.stands_in(pair) for pair in read}

    def all_pairs(self, entry: PaperEntry) -> set[Pair]:
        """The problems and algorithms whose runs the claim reads in any reading or control."""
        variations = self.variations.values()
        return {pair for variation in variations for pair in self.pairs(entry, variation).values()}

    def needed_pairs(self) -> set[Pair]:
        """`needed` in any reading or control."""
        return {pair for variation in self.variations.values() for pair in self.needed(variation)}

    def needed(self, variation: Variation) -> list[Pair]:
        """The problems and algorithms without whose runs the claim is not judged: its own, or what stands
        in for them; where nothing does, all that stands in for others (whose comparisons are open
        otherwise)."""
        algorithms = list(self.under(variation).algorithms)
        if not set(algorithms) & variation.algorithms.keys():
            algorithms += variation.algorithms
        return [variation.stands_in((p, a)) for p in self.problems for a in algorithms]


TEXTS = ("short", "where", "statement", "paper_value", "rule", "weak", "unprinted")
"""The keys of a claim that hold sentences."""


class Shared(Model):
    """What claims of a paper have in common."""

    defaults: dict[str, Any] = Field(default_factory=dict)
    """Keys of every claim that does not give them itself."""
    readings: dict[Name, Reading] = Field(default_factory=dict)
    controls: dict[Name, Variation] = Field(default_factory=dict)

    def filled(self, raw: Any, entry: PaperEntry, where: str) -> Any:
        """A claim's raw entry with the defaults, and with what its readings and controls have from these:
        what they replace of the claim's own problems and algorithms. A key that the claim gives itself
        counts."""
        if not isinstance(raw, dict):
            return raw
        option_names = dict.fromkeys(strings(raw.get("options")))
        for kind in ("problems", "algorithms"):
            names = [name for name in option_names if name in getattr(entry, kind)]
            if kind not in raw and names:
                raw = raw | {kind: names}
        raw = self.defaults | raw
        _check_options(where, raw.get("options"), entry)
        read = set(strings([raw.get(key) for key in ("problems", "also", "algorithms", "options")]))
        for kind in VARIATIONS:
            shared, entries = getattr(self, kind), raw.get(kind)
            if isinstance(entries, dict):
                full = {name: _over(shared.get(name), item, read) for name, item in entries.items()}
                if empty := [name for name in full if full[name] is None]:
                    raise RepliboError(
                        f"{where}.{kind}.{empty[0]}: must say what it replaces, or have the name of one "
                        f"of the paper's: {allowed(shared)}{meant(empty[0], shared)}"
                    )
                raw = raw | {kind: full}
        return raw


def _over(shared: Variation | None, raw: Any, read: set[str]) -> Any:
    """The keys of a claim's own entry over those of the shared one, of which only what replaces a name
    that the claim reads is kept."""
    if shared is None or not isinstance(raw, dict | None):
        return raw
    fields = shared.model_dump(exclude_unset=True)
    for key in {"problems", "algorithms"} & fields.keys():
        fields[key] = {old: new for old, new in fields[key].items() if old in read}
    return fields | (raw or {})


def load(config: Config, paper: str) -> dict[str, Claim]:
    """The claims of a paper by name; none if it has no file."""
    entry, path = config.paper(paper), paths.claims_config(paper)
    if not path.exists():
        return {}
    raw = read_yaml(path)
    names: dict[str, Collection[str]] = {"problems": entry.problems, "algorithms": entry.algorithms}
    try:
        shared = Shared.model_validate(
            {
                key: with_patterns(raw.pop(key, {}), names, f"{path}: {key}")
                for key in Shared.model_fields
            }
        )
        _check(f"{path}: defaults", shared.defaults, Claim.model_fields)
        everything = (entry.problems, entry.algorithms)
        for kind in VARIATIONS:
            for label, variation in getattr(shared, kind).items():
                _check_variation(f"{path}: {kind}.{label}", everything, variation, entry)
        raw = {
            name: with_patterns(claim, names, f"{path}: {name}")
            for name, claim in of_grids(raw, f"{path}: ", TEXTS).items()
        }
        raw = {name: shared.filled(claim, entry, f"{path}: {name}") for name, claim in raw.items()}
        claims = TypeAdapter(dict[Name, Claim]).validate_python(raw)
    except ValidationError as error:
        model = Shared if error.title == Shared.__name__ else dict[Name, Claim]
        raise RepliboError("\n".join(lines_of(model, error, f"{path}: "))) from None
    for kind in VARIATIONS:
        for label in getattr(shared, kind):
            if not any(label in getattr(claim, kind) for claim in claims.values()):
                raise RepliboError(f"{path}: {kind}.{label}: must be named by a claim, is by none")
    sources: dict[str, str] = {}
    for name, claim in claims.items():
        where = f"{path}: {name}"
        _check(f"{where}.problems", claim.problems, entry.problems)
        _check(f"{where}.also", claim.also, entry.problems)
        _check(f"{where}.algorithms", claim.algorithms, entry.algorithms)
        if isinstance(claim.seeds, dict) and {*claim.seeds} != {*claim.problems}:
            raise RepliboError(
                f"{where}.seeds: must be of {allowed(claim.problems)}, all of them, got "
                f"{allowed(claim.seeds)}"
            )
        for kind in VARIATIONS:
            labels: dict[str, str] = {}
            for label, variation in getattr(claim, kind).items():
                twin = labels.setdefault(variation.changes, label)
                if twin != label and not claim.unprinted:
                    raise RepliboError(
                        f"{where}.{kind}.{label}: must replace something else than {twin}, got the same"
                    )
                _check_variation(f"{where}.{kind}.{label}", claim.reads(entry), variation, entry)
                if not claim.under(variation).algorithms:
                    raise RepliboError(
                        f"{where}.{kind}.{label}.options: must name {allowed(claim.algorithms)}, "
                        "names none of the claim's algorithms"
                    )
                source = variation.source if kind == "readings" else "control"
                if sources.setdefault(label, source) != source:
                    raise RepliboError(
                        f"{where}.{kind}.{label}: must have one source in all claims, got "
                        f"{sources[label]} and {source}"
                    )
    return claims


def at_problem(claims: Mapping[str, Claim], reading: str, problem: str) -> Variation:
    """What a reading or control replaces on one problem, in all claims about the problem together.
    It replaces nothing if no claim has it there."""
    together = Variation()
    for claim in claims.values():
        variation = claim.variations.get(reading)
        if variation is not None and problem in claim.problems:
            together = Variation(
                algorithms=together.algorithms | variation.algorithms,
                problems=together.problems | variation.problems,
                options=together.options | variation.options,
            )
    return together


def find(config: Config, name: str) -> tuple[str, Claim]:
    """The paper of a claim, and the claim."""
    papers = names(config)
    if name in papers:
        return papers[name], load(config, papers[name])[name]
    hint = meant(name, papers) or "; 'replibo claims' lists them"
    raise RepliboError(f"no claim is called {name!r}{hint}")


def names(config: Config) -> dict[str, str]:
    """The paper of each claim, by the claim's name."""
    return {name: paper for paper in config.papers for name in load(config, paper)}


def _check_variation(
    where: str,
    read: tuple[Collection[str], Collection[str]],
    variation: Variation,
    entry: PaperEntry,
) -> None:
    problems, algorithms = read
    replaced = variation.problems | variation.algorithms
    if same := [old for old, new in replaced.items() if old == new]:
        raise RepliboError(f"{where}: must replace {same[0]} by another, got itself")
    _check(f"{where}.problems", variation.problems, problems)
    _check(f"{where}.problems", variation.problems.values(), entry.problems)
    _check(f"{where}.algorithms", variation.algorithms, algorithms)
    _check(f"{where}.algorithms", variation.algorithms.values(), entry.algorithms)
    _check_options(where, variation.options, entry)


def _check_options(where: str, options: object, entry: PaperEntry) -> None:
    """Raise a `RepliboError` if an option that names problems, or algorithms, has other words too."""
    for key, value in options.items() if isinstance(options, dict) else ():
        words = list(strings(value))
        for kind in ("problems", "algorithms"):
            names = getattr(entry, kind)
            if key in (kind, kind[:-1]) or any(word in names for word in words):
                _check(f"{where}.options.{key}", words, names)


def _check(where: str, words: Any, names: Collection[str]) -> None:
    for word in words:
        if word not in names:
            raise RepliboError(
                f"{where}: must be {allowed(names)}, got {word!r}{meant(word, names)}"
            )
