"""NeuralBO's retrieval task (section 7.2.2) on a real text that needs no download: the docstrings of
installed Python packages. A task of its own with its own categories: it says nothing of Amazon's reviews.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from replibo.data.docstrings import PACKAGES, read_docstrings
from replibo.problems.retrieval import Corpus, DocumentSearch


class Docstrings(DocumentSearch):
    """The hierarchical F1 score of a docstring with an unknown target docstring.

    The categories are package, subpackage and module. The corpus is that of the installed versions; they
    and its digest are recorded with the traces, and runs on different ones are never put together.

    Args:
        packages: whose docstrings, by the names of ``envs/requirements.txt``.
        settings: of `DocumentSearch`.

    Raises:
        RepliboError: a package is not installed, or as `DocumentSearch` says.
    """

    def __init__(
        self,
        *,
        packages: Annotated[list[str], Field(min_length=1)] = list(PACKAGES),  # noqa: B006
        **settings: Any,
    ) -> None:
        self.packages = packages
        super().__init__(**settings)

    def corpus(self) -> Corpus:
        """The docstrings of the packages, with their versions and digest."""
        found = read_docstrings(self.packages)
        facts = {"versions": found.versions, "digest": found.digest}
        return Corpus(found.texts, found.categories, facts)
