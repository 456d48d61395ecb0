"""Digests of code: equal as long as nothing has changed in the modules that a definition computes with.

Snakemake does not see inside an imported package, so each rule carries such a digest as a parameter.
The digest of a name covers its module and every module of this package that this one imports, directly
or not, inside functions too. A C file beside a module, of the same name, belongs to it.

Comments, docstrings, formatting, the messages of a `RepliboError` or a `SettingError`, and blocks under
``TYPE_CHECKING`` change no digest; annotations do. Modules that are looked up by a name put together
while the program runs are not seen (``importlib``): whoever does so names them to `digest`. Where a
change leaves the bits as they were, ``replibo recompute --adopt`` shows it: the published runs then count
as of today's code.

A class of a file outside of this package has another digest (`of_file`): of the bytes of that file and of
those that it imports from its folder.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import re
from pathlib import Path
from typing import NamedTuple

from replibo.config.registry import PACKAGE, syntax_tree
from replibo.errors import RepliboError
from replibo.files import read_bytes


class _Module(NamedTuple):
    """A digest of what a module computes, the names that it defines, and what it imports, dotted."""

    digest: str
    names: set[str]
    imports: set[str]


class Package:
    """The source of a package in the folder ``root``, which has the package's name."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._modules: dict[str, _Module] = {}
        self._led_to: dict[str, str] = {}

    def digest(self, *names: str, without: frozenset[str] = frozenset()) -> str:
        """A digest of the modules of ``names`` and of all that they import of this package, except the
        modules or packages ``without``.

        Args:
            names: modules, or definitions in them: ``replibo.streams`` or ``replibo.streams.generator``.

        Raises:
            LookupError: there is no such module or definition.
        """
        lines = [f"{m} {self._module(m).digest}" for m in self.modules(*names, without=without)]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]

    def modules(self, *names: str, without: frozenset[str] = frozenset()) -> list[str]:
        """The modules that the digest of ``names`` covers."""
        for name in names:
            leads_to = self._leads_to(name)
            defined = name.removeprefix(leads_to).removeprefix(".")
            if not leads_to or (defined and defined not in self._module(leads_to).names):
                raise LookupError(f"there is no {name}")
        queue, reached = [*names], set[str]()
        while queue:
            module = self._leads_to(queue.pop())
            left_out = any(f"{module}.".startswith(f"{other}.") for other in without)
            # The package's own file has its version and the library's names, and computes nothing.
            if module not in ("", self.root.name, *reached) and not left_out:
                reached.add(module)
                queue += [module.rpartition(".")[0], *self._module(module).imports]
        return sorted(reached)

    def _leads_to(self, dotted: str) -> str:
        """The module of this package that a dotted name leads to; empty where it leads elsewhere."""
        if dotted not in self._led_to:
            is_module = not dotted or self._path(dotted) is not None
            above = dotted.rpartition(".")[0]
            self._led_to[dotted] = dotted if is_module else self._leads_to(above)
        return self._led_to[dotted]

    def _path(self, module: str) -> Path | None:
        first, *parts = module.split(".")
        base = self.root.joinpath(*parts)
        files = (base / "__init__.py", base.with_suffix(".py"))
        return next((path for path in files if first == self.root.name and path.is_file()), None)

    def _module(self, name: str) -> _Module:
        if name not in self._modules:
            path = self._path(name)
            assert path is not None, name
            tree, imports = syntax_tree(path), set[str]()
            text = _text(tree, imports)
            names = {
                name for node in tree.body for name in (getattr(node, "name", ""), *_imported(node))
            }
            if (compiled := path.with_suffix(".c")).is_file():
                lines = re.sub(r"//.*", "", compiled.read_text(encoding="utf-8"))
                text += "".join(lines.split())
            digest = hashlib.sha256(text.encode()).hexdigest()
            self._modules[name] = _Module(digest, names, imports)
        return self._modules[name]


def _text(node: object, imports: set[str]) -> str:
    """What is computed by a syntax tree, as text that is the same for each version of Python (which
    differ in their empty fields, left out here). Adds what is imported to ``imports``."""
    if isinstance(node, list):
        return "".join(_text(item, imports) for item in node)
    if not isinstance(node, ast.AST):
        return repr(node)
    if _is_idle(node):
        return ""
    raised = node.exc if isinstance(node, ast.Raise) else None
    errors = ("RepliboError", "SettingError")
    if isinstance(raised, ast.Call) and ast.unparse(raised.func) in errors:
        return "(Raise RepliboError)"  # without its message
    if isinstance(node, ast.ImportFrom) and (node.level or node.names[0].name == "*"):
        raise ValueError(f"an import must be absolute and without a star, got {ast.unparse(node)}")
    imports.update(_imported(node).values())
    fields = ((name, value) for name, value in ast.iter_fields(node) if value not in (None, []))
    shown = " ".join(f"{name}={_text(value, imports)}" for name, value in fields)
    return f"({type(node).__name__} {shown})"


def _is_idle(node: ast.AST) -> bool:
    """Whether a statement computes nothing: a docstring, what only a type checker or a script sees."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.If) and not node.orelse:
        return ast.unparse(node.test) in ("TYPE_CHECKING", "__name__ == '__main__'")
    return False


def _imported(node: ast.AST) -> dict[str, str]:
    """The names that an import of any form binds, each with the dotted name that it may lead to."""
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return {}
    above = f"{node.module}." if isinstance(node, ast.ImportFrom) and node.module else ""
    return {alias.asname or alias.name: f"{above}{alias.name}" for alias in node.names}


_THIS = Package(PACKAGE)


@functools.cache
def digest(*names: str, without: frozenset[str] = frozenset()) -> str:
    """`Package.digest` of this package."""
    return _THIS.digest(*names, without=without)


def of_file(path: Path) -> tuple[str, list[str]]:
    """The digest of a file outside of this package and of all that it imports from its folder, directly
    or not; and the modules of this package that these files import."""
    contents: dict[Path, bytes] = {}
    queue, modules = [path], set[str]()
    while queue:
        file = queue.pop()
        if file in contents:
            continue
        contents[file] = read_bytes(file)
        try:
            nodes = list(ast.walk(ast.parse(contents[file])))
        except (SyntaxError, ValueError) as error:
            raise RepliboError(f"{file}: {type(error).__name__}: {error}") from None
        for node in nodes:
            level = node.level if isinstance(node, ast.ImportFrom) else 0
            folder = file.parents[level - 1] if level else path.parent
            for name in _imported(node).values():
                modules.add(_THIS._leads_to(name))
                parts = name.split(".")
                for place in (folder.joinpath(*parts[: i + 1]) for i in range(len(parts))):
                    both = (place.with_name(f"{place.name}.py"), place / "__init__.py")
                    queue += [module for module in both if module.is_file()]
    digests = [hashlib.sha256(contents[file]).hexdigest() for file in sorted(contents)]
    whole = hashlib.sha256("\n".join(digests).encode()).hexdigest()
    return whole, sorted(modules - {"", PACKAGE.name})
