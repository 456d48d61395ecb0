"""The library of C functions: which one is taken, and that an old one is refused."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from replibo.errors import RepliboError
from replibo.surrogates import compiled


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A copy of the C files and libraries in place of the package's."""
    for path in Path(compiled.__file__).parent.glob("*"):
        if path.suffix in (".c", ".so"):
            shutil.copy(path, tmp_path)
    monkeypatch.setattr(compiled, "_FOLDER", tmp_path)
    for cached in (compiled._library, compiled._best_level):
        cached.cache_clear()
    yield tmp_path
    for cached in (compiled._library, compiled._best_level):
        cached.cache_clear()


def test_the_best_level_is_taken_and_the_compiler_named(folder: Path) -> None:
    assert compiled._best_level() == compiled.levels()[-1]
    assert re.fullmatch(r"clang [0-9.]+", compiled.compiler())


def test_a_library_of_other_c_files_is_refused(folder: Path) -> None:
    with (folder / "forest.c").open("a") as file:
        file.write("// more\n")
    with pytest.raises(
        RepliboError, match="is of other C files than those beside it; 'pip install'"
    ):
        compiled.compiler()


def test_without_a_library_one_line_says_how_to_compile_it(folder: Path) -> None:
    for path in folder.glob("*.so"):
        path.unlink()
    with pytest.raises(
        RepliboError, match=r"no compiled library for this processor .* compiles it"
    ):
        compiled.call("train_sgd")


def test_arrays_that_are_not_contiguous_are_refused() -> None:
    with pytest.raises(ValueError, match="contiguous"):
        compiled.call("train_sgd", np.zeros((4, 4))[:, ::2])
