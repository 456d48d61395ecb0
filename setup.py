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


class Ship(build_py):
    """Adds the config and the metadata of the published traces to a wheel."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        for pattern in ("config/*.yaml", "published/*/metadata.json"):
            for path in Path().glob(pattern):
                to = Path(self.build_lib, "replibo/shipped", path)
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, to)


setup(
    ext_modules=[
        Extension(f"replibo.surrogates._compiled_{level}", [str(path) for path in SOURCES])
        for level in LEVELS
    ],
    cmdclass={"build_ext": Compile, "build_py": Ship},
)
