"""Compile the package's C files, with the compiler that the wheel ``ziglang`` brings.

A wheel also gets the files of a clone that it needs (`replibo.paths.SHIPPED`).

One library a level of instructions; `replibo.surrogates.compiled` takes the best that the processor has.
"""

import os
import platform
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

FOLDER = Path("src/replibo/surrogates")
SOURCES = sorted(FOLDER.glob("*.c"))
# No contraction: only the fused multiply-adds that are written are made, the same on all processors.
FLAGS = ["-shared", "-fPIC", "-O3", "-ffp-contract=off", "-fno-slp-vectorize", "-Wall", "-Werror"]
LEVELS = {"baseline": ["-mcpu=baseline"]}
if platform.machine().lower() in ("x86_64", "amd64"):
    LEVELS = {
        "avx2": ["-mcpu=x86_64_v3"],
        "avx512": ["-mcpu=x86_64_v4", "-mprefer-vector-width=512"],
    }


class Compile(build_ext):
    """Calls the compiler once for each library, which is no module of Python."""

    def build_extension(self, ext: Extension) -> None:
        to = Path(self.get_ext_fullpath(ext.name))
        to.parent.mkdir(parents=True, exist_ok=True)
        stamp = sha256(b"".join(path.read_bytes() for path in SOURCES)).hexdigest()
        level = LEVELS[ext.name.rpartition("_")[2]]
        command = [sys.executable, "-m", "ziglang", "cc", *FLAGS, *level, f'-DSTAMP="{stamp}"']
        subprocess.run([*command, *ext.sources, "-o", str(to)], check=True)

    def get_ext_filename(self, fullname: str) -> str:
        return fullname.replace(".", os.sep) + ".so"


def add_digests(folder: Path) -> None:
    """Write the digest of each published file of a paper into ``folder/published/PAPER.sha256``. An sdist
    has these instead of the files."""
    to = folder / "published"
    to.mkdir(parents=True, exist_ok=True)
    for path in Path("published").glob("*.sha256"):
        shutil.copyfile(path, to / path.name)
    for paper in (path for path in Path("published").glob("*") if path.is_dir()):
        lines = [
            f"{sha256(path.read_bytes()).hexdigest()}  {path.relative_to(paper)}"
            for path in sorted(paper.glob("*/*.parquet"))
        ]
        (to / f"{paper.name}.sha256").write_text("\n".join(lines))


class Ship(build_py):
    """Adds the config and the digests of the published traces to a wheel."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        shipped = Path(self.build_lib, "replibo/shipped")
        shutil.rmtree(shipped, ignore_errors=True)
        add_digests(shipped)
        (shipped / "config").mkdir()
        for path in Path().glob("config/*.yaml"):
            shutil.copyfile(path, shipped / path)


class Source(sdist):
    """Adds the digests of the published traces to an sdist."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, files)
        add_digests(Path(base_dir))


setup(
    ext_modules=[
        Extension(f"replibo.surrogates._compiled_{level}", [str(path) for path in SOURCES])
        for level in LEVELS
    ],
    cmdclass={"build_ext": Compile, "build_py": Ship, "sdist": Source},
)
