"""The corpus of docstrings: against a package made for it, and what its digest sees."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

import pytest

from replibo.data import docstrings
from replibo.data.docstrings import FEWEST_WORDS, PACKAGES, read_docstrings
from replibo.errors import RepliboError

LONG = " ".join(f"word{i}" for i in range(FEWEST_WORDS))
SHORT = " ".join(f"word{i}" for i in range(FEWEST_WORDS - 1))
FILES = {
    "made/__init__.py": f'"""Package. {LONG}"""\nraise SystemExit("imported")\n',
    "made/flat.py": f'def f():\n    """Flat.\n\n        Deeper. {LONG}\n    """\n',
    "made/sub/deep/end.py": (
        f'class A:\n    """Class. {LONG}"""\n'
        f'    async def g(self):\n        """Method. {LONG}"""\n'
        f'        if True:\n            def h():\n                """Inner. {LONG}"""\n'
        f'def short():\n    """{SHORT}"""\n'
        f'x = """No docstring. {LONG}"""\n'
    ),
    "made/tests/test_f.py": f'"""Test. {LONG}"""\n',
    "made/no_python.py": f'"""Broken. {LONG}"""\nprint "2"\n',
    "made/table.txt": LONG,
    "build/lib/made/flat.py": f'"""Copy. {LONG}"""\n',
    "alone.py": f'"""Alone. {LONG}"""\n',
}


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A distribution called made-up, version 1.2."""
    info = tmp_path / "made_up-1.2.dist-info"
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: made-up\nVersion: 1.2\n")
    (info / "RECORD").write_text("".join(f"{name},,\n" for name in FILES))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return tmp_path


def test_texts_and_categories(installed: Path) -> None:
    corpus = read_docstrings(["made-up"])
    assert list(
        zip([text.split(".")[0] for text in corpus.texts], corpus.categories, strict=True)
    ) == [
        ("Package", ("made", "__init__", "__init__")),
        ("Flat", ("made", "flat", "flat")),
        ("Class", ("made", "sub", "deep.end")),
        ("Method", ("made", "sub", "deep.end")),
        ("Inner", ("made", "sub", "deep.end")),
    ]
    assert corpus.texts[1] == inspect.cleandoc(f"Flat.\n\n        Deeper. {LONG}\n    ")
    assert corpus.versions == {"made-up": "1.2"}
    assert "made" not in sys.modules


def test_the_digest_is_of_texts_and_categories(installed: Path) -> None:
    first = read_docstrings(["made-up"]).digest
    path = installed / "made/flat.py"
    path.write_text(path.read_text() + "# a comment\n")
    assert read_docstrings(["made-up"]).digest == first
    path.write_text(path.read_text().replace("Deeper", "Other"))
    changed = read_docstrings(["made-up"]).digest
    assert changed != first
    path.write_text(path.read_text().replace("Other", "Deeper"))
    record = installed / "made_up-1.2.dist-info" / "RECORD"
    record.write_text(record.read_text().replace("flat", "moved"))
    path.rename(installed / "made/moved.py")
    assert read_docstrings(["made-up"]).digest not in (first, changed)


def test_a_package_that_is_not_installed() -> None:
    with pytest.raises(
        RepliboError, match=r"^packages: must be installed packages, got 'no-such'$"
    ):
        read_docstrings(["no-such"])


def test_the_packages_are_pinned(root: Path) -> None:
    pins = re.findall(r"^([\w.-]+)==", (root / "envs/requirements.txt").read_text(), re.M)
    assert set(PACKAGES) <= set(pins)


def test_a_real_package_against_its_objects() -> None:
    """gpytorch's public kernels carry the texts that were read from their files."""
    import gpytorch.kernels

    texts = set(read_docstrings(["gpytorch"]).texts)
    documented = [
        inspect.cleandoc(vars(kernel)["__doc__"])
        for name in gpytorch.kernels.__all__
        if vars(kernel := getattr(gpytorch.kernels, name)).get("__doc__")
    ]
    long = [text for text in documented if len(text.split()) >= docstrings.FEWEST_WORDS]
    assert len(long) > 15 and set(long) <= texts
