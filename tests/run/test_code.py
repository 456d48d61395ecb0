"""Digests of definitions: on small packages, what counts and what does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from replibo.config import registry
from replibo.run.code import PACKAGE, REWRITTEN, Package, digest

FILES = {
    "__init__.py": "",
    "a.py": '''
"""Text."""
from __future__ import annotations

import numpy as np

from pack import b
from pack.b import CONSTANT, Base as Root
from pack.sub import again

LIMIT = 3
table = "not what f's own variable is"


@b.decorated
def f(x: b.Typed, n=CONSTANT):
    """Text."""
    from pack.late import late

    table = np.sum(x)
    return late(table, n, again)


class C(Root):
    size = LIMIT

    def g(self):
        if self.size > 2:
            raise RepliboError(f"{self.size} is too large, see {b.message()}")
        return [b.used(i) for i in self]


def dynamic(name):
    return getattr(b, name)
''',
    "b.py": """
def decorated(function):
    return function

def used(x):
    return helper(x)

def helper(x):
    return x + 1

def message():
    return "words"

class Typed:
    def total(self):
        return 1

class Base:
    def h(self):
        return 2

CONSTANT = 4
UNUSED = 5
""",
    "late.py": "def late(*xs):\n    return xs\n",
    "sub/__init__.py": "from pack.sub.again import again\n",
    "sub/again.py": "def again():\n    return 6\n\ndef other():\n    return 7\n",
    "effects.py": "import pack.registered\n\ndef plain():\n    return 8\n",
    "registered.c": "int f(int n) { return n; }  // why\n",
    "registered.py": (
        "from typing import TYPE_CHECKING\nKNOWN = {}\nif TYPE_CHECKING:\n    import x\n"
        "KNOWN['a'] = 9\nif __name__ == '__main__':\n    print(1)\n"
    ),
}

Edited = Callable[..., Package]


@pytest.fixture
def package(tmp_path: Path) -> Edited:
    """Writes the package above, with texts of its files replaced."""

    def written(*edits: tuple[str, str, str]) -> Package:
        for name, text in FILES.items():
            for _, old, new in (edit for edit in edits if edit[0] == name):
                assert old in text
                text = text.replace(old, new, 1)
            path = tmp_path / "pack" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        registry.syntax_tree.cache_clear()
        return Package(tmp_path / "pack")

    return written


F, C, DYNAMIC, PLAIN = "pack.a.f", "pack.a.C", "pack.a.dynamic", "pack.effects.plain"


@pytest.mark.parametrize(
    ("edit", "changed"),
    [
        (("a.py", "table = np.sum(x)", "table = np.prod(x)"), {F}),
        (("a.py", "import numpy as np", "import cupy as np"), {F}),
        (("a.py", "not what f's own", "other than"), set()),
        (("a.py", "LIMIT = 3", "LIMIT = 4"), {C}),
        (("a.py", "is too large", "must be small"), set()),
        (("a.py", "self.size > 2", "self.size > 1"), {C}),
        (("a.py", "    return [b.used", "    # why\n        return [b.used"), set()),
        (("a.py", '    """Text."""\n    from', '    """Another."""\n    from'), set()),
        (("a.py", "late(table, n, again)", "late(\n        table, n, again\n    )"), set()),
        (("b.py", "return function", "return lambda: function"), {F, DYNAMIC}),  # a decorator
        (("b.py", "return 1", "return -1"), {F, DYNAMIC}),  # a method of the annotation's class
        (("b.py", "CONSTANT = 4", "CONSTANT = 5"), {F, DYNAMIC}),
        (("b.py", "return 2", "return -2"), {C, DYNAMIC}),  # a base class, under another name
        (("b.py", "x + 1", "x + 2"), {C, DYNAMIC}),  # called by what is called
        (("b.py", '"words"', '"other words"'), {DYNAMIC}),  # only in a message
        (("b.py", "UNUSED = 5", "UNUSED = 6"), {DYNAMIC}),  # the whole module
        (("late.py", "return xs", "return xs[:1]"), {F}),  # imported in the function
        (("sub/again.py", "return 6", "return -6"), {F}),  # handed on by its package
        (("sub/again.py", "return 7", "return -7"), set()),
        (("registered.py", "= 9", "= 10"), {PLAIN}),  # done when it is imported
        (("registered.c", "return n", "return -n"), {PLAIN}),  # compiled, beside it
        (("registered.c", "// why", "// because"), set()),
        (("registered.py", "KNOWN = {}", "KNOWN = {'b': 1}"), {PLAIN}),
        (("registered.py", "import x", "import y"), set()),
        (("registered.py", "print(1)", "print(2)"), set()),
    ],
)  # fmt: skip
def test_what_changes_a_digest(
    edit: tuple[str, str, str], changed: set[str], package: Edited
) -> None:
    before = {name: package().digest(name) for name in (F, C, DYNAMIC, PLAIN)}
    made = package(edit)
    after = {name: made.digest(name) for name in before}
    assert {name for name in before if before[name] != after[name]} == changed


def test_modules_and_packages_can_be_left_out(package: Edited) -> None:
    edits = [("b.py", "CONSTANT = 4", "CONSTANT = 5"), ("sub/again.py", "return 6", "return -6")]
    without = frozenset({"pack.b", "pack.sub"})
    one = frozenset({"pack.b"})
    before = [package().digest(F, without=left_out) for left_out in (without, one)]
    after = [package(*edits).digest(F, without=left_out) for left_out in (without, one)]
    assert before[0] == after[0] and before[1] != after[1]


def test_a_name_is_a_definition_a_module_or_the_function_that_hides_its_module(
    package: Edited,
) -> None:
    made = package()
    assert made.nodes("pack.sub.again") == {("pack.sub.again", "again")}
    assert made.nodes("pack.sub.again.other") == {("pack.sub.again", "other")}
    assert ("pack.b", "UNUSED") in made.nodes("pack.b")
    for name in ("pack.a.nothing", "elsewhere.f", "pack.none"):
        with pytest.raises(LookupError, match=f"there is no {name}"):
            made.nodes(name)


@pytest.mark.parametrize("line", ["from pack.b import *", "from . import b"])
def test_an_import_that_cannot_be_followed_is_refused(line: str, package: Edited) -> None:
    with pytest.raises(ValueError, match="must be absolute and without a star, got from"):
        package(("late.py", "def late", f"{line}\ndef late")).digest(F)


def test_a_circle_of_imports_ends(package: Edited) -> None:
    made = package(
        ("late.py", "return xs", "return f"), ("late.py", "def", "from pack.a import f\ndef")
    )
    assert ("pack.b", "CONSTANT") in made.nodes("pack.late.late")


def test_the_digest_of_this_package_is_the_same_each_time() -> None:
    name = "replibo.streams.generator"
    assert digest(name) == Package(registry.PACKAGE).digest(name)
    assert digest(name) != digest("replibo.streams")


def test_definitions_with_a_check_more_count_as_those_without() -> None:
    """Else an entry of `REWRITTEN` is of no definition any more, and goes."""
    package = Package(PACKAGE)
    digests = {
        package._piece((f"replibo.{module}", name)).digest
        for module, name in (("surrogates.gp_given", "GpGiven"), ("algorithms.oracle", "Oracle"))
    }
    assert digests <= {earlier for earlier, _ in REWRITTEN.values()}
