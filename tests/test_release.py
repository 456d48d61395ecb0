"""A release: one version everywhere; sdist and wheel outside a clone; the published traces from its assets."""

from __future__ import annotations

import functools
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import replibo

ROOT = Path(__file__).parents[1]
PARTS = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "src", "config")

# In place of a compiler: the libraries that the installation has compiled from the same files.
COMPILER = f"""
import shutil, sys
from pathlib import Path
to = Path(sys.argv[sys.argv.index("-o") + 1])
shutil.copyfile(Path({str(ROOT)!r}, "src/replibo/surrogates", to.name), to)
"""


def test_the_version_is_the_same_everywhere() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    zenodo = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+)", changes, flags=re.M)
    assert newest is not None
    versions = {citation["version"], zenodo["version"], newest[1]}
    assert versions == {replibo.__version__}


def test_authors_and_addresses_are_the_same_everywhere() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    zenodo = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert [author["name"] for author in citation["authors"]] == [
        creator["name"] for creator in zenodo["creators"]
    ]
    assert citation["title"] == zenodo["title"]
    assert citation["license"] == zenodo["license"] == project["license"]
    assert citation.get("repository-code") == project.get("urls", {}).get("Repository")


class Installed:
    """A wheel in an environment of its own, and a folder outside any clone."""

    def __init__(self, environment: Path, folder: Path) -> None:
        self.python = environment / "bin" / "python"
        self.folder = folder

    def run(
        self, *arguments: str, check: bool = True, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run its Python with an empty cache, without a mirror and the checkout."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("REPLIBO_", "PYTHON"))}
        kept["XDG_CACHE_HOME"] = str(self.folder / "cache")
        done = subprocess.run(
            [str(self.python), *arguments],
            cwd=self.folder,
            env=kept | variables,
            capture_output=True,
            text=True,
        )
        if check and done.returncode:
            raise AssertionError(done.stdout[-2000:] + done.stderr[-4000:])
        return done

    def published(self, *asked: tuple[tuple[str, ...], str], cache: str = "") -> list[int | str]:
        """How many rows ``replibo.published`` gives of some names with some mirror, or its error; for
        each of ``asked``, in one process."""
        code = f"""
            import json, os, replibo
            from replibo.errors import RepliboError
            answers = []
            for names, os.environ["REPLIBO_DATA_MIRROR"] in {asked!r}:
                try:
                    answers.append(len(replibo.published(*names)))
                except RepliboError as error:
                    answers.append(str(error))
            print(json.dumps(answers))
        """
        variables = {"XDG_CACHE_HOME": cache} if cache else {}
        done = self.run("-c", textwrap.dedent(code), **variables)
        answers: list[int | str] = json.loads(done.stdout)
        return answers


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel that is made from the sdist."""
    source, dist = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    without = shutil.ignore_patterns("__pycache__", "*.so", "*.egg-info")
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, source / part, ignore=without)
        else:
            shutil.copy(ROOT / part, source / part)
    (source / "published").symlink_to(ROOT / "published")
    (source / "tests").mkdir()
    shutil.copy(__file__, source / "tests")
    compiler = tmp_path_factory.mktemp("compiler")
    (compiler / "ziglang").mkdir()
    (compiler / "ziglang" / "__main__.py").write_text(COMPILER)
    environment = {**os.environ, "PYTHONPATH": str(compiler)}

    def build(kind: str, folder: Path) -> Path:
        code = f"from setuptools import build_meta as b; print(b.build_{kind}({str(dist)!r}))"
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-4000:]
        return dist / done.stdout.split()[-1]

    subprocess.run(["tar", "-xzf", build("sdist", source), "-C", dist], check=True)
    unpacked = dist / f"replibo-{replibo.__version__}"
    assert not (unpacked / "tests").exists()  # single files without their fixtures
    wheel = build("wheel", unpacked)
    fresh = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(fresh)], check=True)
    subprocess.run(
        f"{sys.executable} -m pip --python {fresh}/bin/python install --quiet --no-deps --no-index "
        f"--no-compile {wheel}",
        shell=True,
        check=True,
    )
    # The packages of this environment, without its link to the checkout.
    packages = Path(yaml.__file__).parents[1]
    (target,) = fresh.glob("lib/python*/site-packages")
    (target / "others.pth").write_text(f"{packages}\n")
    return Installed(fresh, tmp_path_factory.mktemp("outside"))


def test_the_library_works_from_a_wheel(installed: Installed) -> None:
    page = (ROOT / "docs/library.md").read_text(encoding="utf-8")
    example = re.findall(r"^```python\n(.*?)^```$", page, flags=re.S | re.M)[0]
    where = installed.run("-c", f"{example}\nprint(replibo.__file__)").stdout.splitlines()
    assert float(where[0].rpartition(" ")[2]) < 2
    assert not where[1].startswith(str(ROOT))


def test_commands_work_from_a_wheel_or_say_that_they_need_a_clone(installed: Installed) -> None:
    script = str(installed.python.parent / "replibo")
    said = " ".join(installed.run(script, "--help").stdout.split())
    assert "run, fetch, collect, list" in said
    assert installed.run(script, "--version").stdout == f"replibo {replibo.__version__}\n"
    assert "lb_gp_ucb" in installed.run(script, "list", "papers").stdout
    run = ("run", "go_ucb", "f1", "random_search", "--seeds", "0", "--scale", "smoke")
    installed.run(script, *run, "--output", "f1.parquet")
    assert (installed.folder / "f1.parquet").stat().st_size > 1000
    refused = installed.run(script, "check", "go_ucb_1_f1", check=False)
    assert refused.returncode == 2
    assert re.fullmatch(
        r"replibo: config/config.yaml: not found; run this in the project's root folder "
        r"\(git clone \S.*; see README.md\)\n",
        refused.stderr,
    )


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing."""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder with an asset, and the URL of a server that serves it."""
    make_asset(tmp_path, ROOT / "published" / "bbo")
    handler = functools.partial(Quiet, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield tmp_path, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def make_asset(folder: Path, traces: Path) -> None:
    """As ``make release`` does."""
    asset = folder / f"published-{traces.name}.zip"
    subprocess.run([sys.executable, "-m", "zipfile", "-c", str(asset), str(traces)], check=True)


def test_published_traces_are_fetched_once(
    installed: Installed, served: tuple[Path, str], root: Path
) -> None:
    folder, url = served
    cache = folder / "cache"
    pair = ("bbo", "n_100", "gp_ei")
    expected = [len(replibo.published(*pair))]
    assert installed.published((pair, url), cache=str(cache)) == expected
    (folder / "published-bbo.zip").unlink()
    assert installed.published((pair, ""), cache=str(cache)) == expected
    assert not list(cache.rglob("*.zip"))


def test_what_is_wrong_with_published_traces_is_one_line(
    installed: Installed, served: tuple[Path, str]
) -> None:
    folder, url = served
    changed = shutil.copytree(ROOT / "published" / "bbo", folder / "changed" / "bbo")
    with (changed / "n_100" / "gp_ei.parquet").open("ab") as stream:
        stream.write(b"?")
    make_asset(folder / "changed", changed)
    cases = (
        (("bbo",), f"{url}/changed", "wrong digest of n_100/gp_ei.parquet: sha256 must be "),
        (("go_ucb",), url, "published-go_ucb.zip (HTTP 404)"),
        (("bbo",), "http://127.0.0.1:9", "(no connection: "),
        (("bbo",), "", "gave the file: none is known; REPLIBO_DATA_MIRROR names a folder"),
        (("bbo", "n_100", "gp_eii"), url, "algorithm: must be "),
        (("nope",), url, "paper: nothing is published of nope; must be bbo, cross, go_ucb,"),
    )
    errors = installed.published(*((names, mirror) for names, mirror, _ in cases))
    for error, (_, _, words) in zip(errors, cases, strict=True):
        assert isinstance(error, str) and words in error and "\n" not in error
    assert not [path for path in (installed.folder / "cache").rglob("*") if path.is_file()]
