"""Digests of definitions: on small packages, what counts and what does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from replibo.config import registry
from replibo.run.code import Package

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


def f(x, n=CONSTANT):
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
''',
    "b.py": """
def used(x):
    return x + 1

def message():
    return "words"

class Base:
    pass

CONSTANT = 4
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


A, SUB, PLAIN = "pack.a.f", "pack.sub.again", "pack.effects.plain"


@pytest.mark.parametrize(
    ("edit", "changed"),
    [
        (("a.py", "table = np.sum(x)", "table = np.prod(x)"), {A}),
        (("a.py", "import numpy as np", "import cupy as np"), {A}),
        (("a.py", "is too large", "must be small"), set()),
        (("a.py", "self.size > 2", "self.size > 1"), {A}),
        (("a.py", "    return [b.used", "    # why\n        return [b.used"), set()),
        (("a.py", '    """Text."""\n    from', '    """Another."""\n    from'), set()),
        (("a.py", "late(table, n, again)", "late(\n        table, n, again\n    )"), set()),
        (("b.py", "CONSTANT = 4", "CONSTANT = 5"), {A}),
        (("late.py", "return xs", "return xs[:1]"), {A}),  # imported in the function
        (("sub/again.py", "return 6", "return -6"), {A, SUB}),  # handed on by its package
        (("__init__.py", "", "__version__ = '2'"), set()),
        (("sub/__init__.py", "from", "NEW = 1\nfrom"), {A, SUB}),
        (("registered.py", "= 9", "= 10"), {PLAIN}),  # done when it is imported
        (("registered.c", "return n", "return -n"), {PLAIN}),  # compiled, beside it
        (("registered.c", "// why", "// because"), set()),
        (("registered.py", "import x", "import y"), set()),
        (("registered.py", "print(1)", "print(2)"), set()),
    ],
)  # fmt: skip
def test_what_changes_a_digest(
    edit: tuple[str, str, str], changed: set[str], package: Edited
) -> None:
    before = {name: package().digest(name) for name in (A, SUB, PLAIN)}
    edited = package(edit)
    assert {name for name in before if before[name] != edited.digest(name)} == changed


def test_modules_and_packages_can_be_left_out(package: Edited) -> None:
    edits = [("b.py", "CONSTANT = 4", "CONSTANT = 5"), ("sub/again.py", "return 6", "return -6")]
    for without, same in (({"pack.b", "pack.sub"}, True), ({"pack.b"}, False)):
        before = package().digest(A, without=frozenset(without))
        assert (package(*edits).digest(A, without=frozenset(without)) == before) == same


def test_a_name_is_a_module_or_a_definition_in_one(package: Edited) -> None:
    for name in ("pack.sub.again", "pack.sub.again.other"):
        assert package().modules(name) == ["pack.sub", "pack.sub.again"]
    for name in ("pack.a.nothing", "elsewhere.f", "pack.none"):
        with pytest.raises(LookupError, match=f"there is no {name}"):
            package().modules(name)


@pytest.mark.parametrize("line", ["from pack.b import *", "from . import b"])
def test_an_import_that_cannot_be_followed_is_refused(line: str, package: Edited) -> None:
    with pytest.raises(ValueError, match="must be absolute and without a star, got from"):
        package(("late.py", "def late", f"{line}\ndef late")).digest(A)


def test_a_circle_of_imports_ends(package: Edited) -> None:
    imports = ("late.py", "def", "from pack.a import f\ndef")
    assert "pack.b" in package(imports).modules("pack.late.late")


def test_a_digest_is_the_same_on_every_version_of_python(package: Edited) -> None:
    """Their syntax trees differ in empty fields."""
    assert package().digest("pack.a") == "defd5e3a406d9384"
