"""The retrieval task of the NeuralBO paper (Phan-Trong, Tran-The and Gupta 2023, section 7.2.2): find the
document of a corpus that matches an unknown target document best.

A document is a bag of words, "a word frequency vector" over 500 terms; the match is the hierarchical F1
score (Kiritchenko, Matwin and Famili 2005) of the categories of document and target. The paper's corpus
are Amazon's product reviews, whose categories have three levels; `replibo.problems.docstrings` searches
another. What is read into the paper stands at the arguments.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from replibo.data.amazon import Category, Reviews, read_reviews
from replibo.errors import RepliboError
from replibo.problems.base import Array, Problem
from replibo.settings import Count, SettingError
from replibo.streams import generator

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

# The stand-in's corpus: each category has as many subcategories, on three levels.
DOCUMENTS, WORDS, CHILDREN = 2000, 1500, (4, 4, 4)
WORDS_IN_A_DOCUMENT = 60.0
CONCENTRATION = (500.0, 1000.0, 2000.0)
"""How close a category's words are to its parent's, on each level (Dirichlet)."""


def hierarchical_f1(found: Category, target: Category) -> float:
    """The hierarchical F1 score of one category against another, from 0 to 1.

    Kiritchenko, Matwin and Famili (2005): each category counts with all its ancestors but the root, and
    F1 is that of the two sets. Two categories of three levels that agree in the first k score k/3.
    A category is its path from level 1 down.
    """
    sets = [{path[:level] for level in range(1, len(path) + 1)} for path in (found, target)]
    common = len(sets[0] & sets[1])
    return 2 * common / (len(sets[0]) + len(sets[1]))


class Corpus(NamedTuple):
    """Texts and categories of ``n`` documents, and what is recorded of them besides their number."""

    texts: list[str]
    categories: list[Category]
    facts: dict[str, Any]


class DocumentSearch(Problem):
    """The hierarchical F1 score of a document with an unknown target document, of some `corpus`.

    A finite pool: of documents with the same bag of words the first, and without the target. A native
    point is the bag of words, ``d`` = `terms` counts or weights: one for each of the words that are most
    frequent in the corpus (ties go to the alphabetically first), in alphabetical order.
    There is no noise: the feedback is the score itself.

    The target is drawn uniformly among the documents whose category has another document in the pool,
    so that the best score is 1.

    Args:
        terms: size of the vocabulary.
        weights: ``counts`` (as printed: "the number of occurrences") or ``tfidf`` (as released), both as
            scikit-learn makes them.
        stop_words: ``none`` are removed (the paper does not speak of any), or scikit-learn's ``english``.
        target: ``fixed``: once and for all runs (the paper: "a specified target document"), or
            ``per_seed``: each seed of a run has one of its own, and its own pool.

    Attributes:
        scores: ``m``, the score of each of `candidates`.

    Raises:
        RepliboError: the corpus cannot be read, is smaller than the vocabulary, or no category of it
            has two documents.
    """

    optimal_value = 1.0

    def __init__(
        self,
        *,
        terms: Count = 500,
        weights: Literal["counts", "tfidf"] = "counts",
        stop_words: Literal["none", "english"] = "none",
        target: Literal["fixed", "per_seed"] = "fixed",
    ) -> None:
        texts, categories, self._facts = self.corpus()
        bags = _bags_of_words(texts, terms, weights, stop_words)
        first = _first_places(bags)
        # All that follows is of the different documents only, and so are its rows.
        self._documents = np.array(list(first.values()))
        self._row_of = {key: row for row, key in enumerate(first)}
        self._bags = bags[self._documents]
        self._paths = sorted(set(categories))
        code = {path: i for i, path in enumerate(self._paths)}
        self._category = np.array([code[categories[i]] for i in self._documents])
        self._facts |= {
            "documents": len(texts),
            "pool": len(first) - 1,
            "categories": [
                len({path[: i + 1] for path in self._paths}) for i in range(len(self._paths[0]))
            ],
        }
        self.dim = terms
        lower, upper = (getattr(self._bags, name)(axis=0).toarray()[0] for name in ("min", "max"))
        # A term that is as frequent in every document still has a range.
        self.bounds = np.array([lower, np.where(upper > lower, upper, lower + 1.0)])
        self._target_per_seed = target == "per_seed"
        self._take_target("target")

    @abstractmethod
    def corpus(self) -> Corpus:
        """What is searched, read once."""

    def _take_target(self, *stream: object) -> None:
        """Draw the target from the stream of that name, and leave it out of the pool."""
        others = np.bincount(self._category)[self._category] > 1
        if not others.any():
            raise RepliboError(
                "target: no category has two different documents; allowed: a corpus where one has"
            )
        self.target = int(generator("retrieval", *stream).choice(np.flatnonzero(others)))
        of_target = self._paths[self._category[self.target]]
        of_category = np.array([hierarchical_f1(path, of_target) for path in self._paths])
        self._scores = of_category[self._category]
        pool = np.delete(np.arange(len(self._scores)), self.target)
        self.candidates, self.scores = self._bags[pool].toarray(), self._scores[pool]

    def of_seed(self, seed: int) -> Problem:
        """The seed varies the target, with ``target="per_seed"``; otherwise nothing."""
        if not self._target_per_seed:
            return self
        member = copy.copy(self)
        member._target_per_seed = False
        member._take_target("target", seed)
        return member

    def evaluate_true(self, X: Array) -> Array:
        rows = [self._row_of.get(_key(x), self.target) for x in np.asarray(X, dtype=np.float64)]
        if self.target in rows:
            raise RepliboError(
                f"retrieval: point {rows.index(self.target)} is no document of the pool; allowed: its "
                f"{len(self.scores)} candidates"
            )
        return np.asarray(self._scores[rows])

    def recorded(self) -> dict[str, Any]:
        """The corpus's own facts, the sizes of corpus and pool, the number of categories on each level;
        where all seeds have one target, its category, its place in the corpus, and how many documents of
        the pool have which score."""
        if self._target_per_seed:
            return self._facts
        scores, counts = np.unique(self.scores, return_counts=True)
        return {
            **self._facts,
            "target": int(self._documents[self.target]),
            "target_category": list(self._paths[self._category[self.target]]),
            "scores": [[float(s), int(n)] for s, n in zip(scores, counts, strict=True)],
        }


class Retrieval(DocumentSearch):
    """The hierarchical F1 score of an Amazon product review with an unknown target review.

    Args:
        data: where the file of the reviews lies, by its name in the manifest; None takes a generated
            corpus as a stand-in.
        settings: of `DocumentSearch`.

    Raises:
        RepliboError: the file is damaged, or as `DocumentSearch` says.
    """

    def __init__(self, *, data: Mapping[str, Path] | None = None, **settings: Any) -> None:
        self._data = data
        super().__init__(**settings)

    def corpus(self) -> Corpus:
        """The reviews of known category, or generated ones."""
        reviews = generate_stand_in() if self._data is None else read_reviews(self._data)
        if self._data is None:
            self.stand_in = (
                f"{len(reviews.texts)} generated documents of {len(set(reviews.categories))} categories "
                "on three levels stand in for the Amazon reviews."
            )
        return Corpus(reviews.texts, reviews.categories, {"rows": reviews.rows})


def _bags_of_words(texts: list[str], terms: Count, weights: str, stop_words: str) -> csr_matrix:
    """The documents' counts or weights, ``n x terms``, sparse, float64."""
    # Imported late: the config is read without it.
    from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

    if len(texts) <= terms:
        raise SettingError(
            "terms",
            f"must be at most {len(texts) - 1} for a corpus of {len(texts)} documents, got {terms}",
        )
    vectorizer = CountVectorizer(stop_words=None if stop_words == "none" else stop_words)
    try:
        counts = vectorizer.fit_transform(texts)
    except ValueError:  # "empty vocabulary"
        raise RepliboError("data: the corpus holds no words; allowed: texts") from None
    words = counts.shape[1]
    if words < terms:
        raise SettingError(
            "terms", f"must be at most {words}, the number of words in the corpus, got {terms}"
        )
    # Not by the vectoriser's max_features, which takes any of equally frequent words, as the sorting of
    # the machine at hand has them.
    frequency = np.asarray(counts.sum(axis=0)).ravel()
    kept = np.sort(np.argsort(-frequency, kind="stable")[:terms])
    bags = counts[:, kept].astype(np.float64)
    if weights == "tfidf":
        bags = TfidfTransformer().fit_transform(bags)
    return bags.tocsr()


def _key(x: Array) -> bytes:
    """A short key of a bag of words: the dense pool in a dictionary would take its memory again."""
    return blake2b((x + 0.0).tobytes(), digest_size=16).digest()


def _first_places(bags: csr_matrix) -> dict[bytes, int]:
    """Of each different row its key and its first place, in the order of these."""
    keys: dict[bytes, int] = {}
    dense = np.zeros(bags.shape[1])
    for row in range(bags.shape[0]):
        own = slice(bags.indptr[row], bags.indptr[row + 1])
        dense[bags.indices[own]] = bags.data[own]
        keys.setdefault(_key(dense), row)
        dense[bags.indices[own]] = 0.0
    return keys


def generate_stand_in() -> Reviews:
    """A generated corpus: categories of three levels whose words resemble their parents'.

    A category's distribution over the words is a Dirichlet sample around its parent's, the root's falls
    as 1/rank; a document's words are independent samples of its category's. Drawn from a fixed stream,
    which no seed of a run changes. Categories of different parents share their names.
    """
    rng = generator("stand_in", "amazon_reviews")
    words = np.array([f"w{i:04d}" for i in range(WORDS)])
    zipf = 1.0 / np.arange(1, WORDS + 1)
    tree: dict[Category, Array] = {(): zipf / zipf.sum()}
    for children, concentration in zip(CHILDREN, CONCENTRATION, strict=True):
        tree = {
            (*path, str(child)): _dirichlet(rng, concentration * parent)
            for path, parent in tree.items()
            for child in range(children)
        }
    paths = list(tree)
    leaves = rng.integers(len(paths), size=DOCUMENTS)
    lengths = 1 + rng.poisson(WORDS_IN_A_DOCUMENT * rng.lognormal(sigma=0.5, size=DOCUMENTS))
    texts = [
        " ".join(np.repeat(words, rng.multinomial(length, tree[paths[leaf]])))
        for leaf, length in zip(leaves, lengths, strict=True)
    ]
    return Reviews(texts, [paths[leaf] for leaf in leaves], DOCUMENTS)


def _dirichlet(rng: np.random.Generator, alpha: Array) -> Array:
    """A sample of the Dirichlet distribution; where ``alpha`` is tiny its entries round to 0."""
    sample = rng.gamma(np.maximum(alpha, 1e-12))
    return np.asarray(sample / sample.sum())
