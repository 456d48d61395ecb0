"""Document retrieval: the score, the bags of words, the pool and the target, and runs on it."""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from replibo.data.amazon import FILE
from replibo.data.manifest import data_file
from replibo.errors import RepliboError
from replibo.problems.retrieval import Retrieval, generate_stand_in, hierarchical_f1

COLUMNS = data_file(FILE).table.columns  # type: ignore[union-attr]

Document = tuple[str, tuple[str, str, str]]


def reviews_file(path: Path, documents: list[Document]) -> dict[str, Path]:
    """A file of the real one's columns."""
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(COLUMNS)
        for i, (text, category) in enumerate(documents):
            lines.writerow([f"B{i}", "title", "A1", "0/0", "5.0", "1205539200", text, *category])
    return {FILE: path}


FACE, HAIR = ("beauty", "skin care", "face"), ("beauty", "hair care", "other")
OTHER, DOGS = ("beauty", "skin care", "other"), ("pet supplies", "dogs", "other")
SMALL: list[Document] = [
    ("Cream, cream and a cream!", FACE),
    ("cream for the face", FACE),
    ("shampoo shampoo and cream", HAIR),
    ("The dog; the other dog ate the cream.", DOGS),
    ("the dog", DOGS),
    ("nothing known", ("pet supplies", "cats", "unknown")),
    ("soap", OTHER),
]


@pytest.fixture
def small(tmp_path: Path) -> dict[str, Path]:
    return reviews_file(tmp_path / "reviews.csv", SMALL)


@pytest.fixture(scope="module")
def stand_in() -> Retrieval:
    return Retrieval()


# The score

CATEGORIES = st.tuples(*[st.sampled_from("abc")] * 3)


@given(st.lists(CATEGORIES, min_size=2, max_size=2, unique=True))
def test_the_score_is_the_f1_of_the_sets_of_labels(pair: Any) -> None:
    labels = [{"/".join(path[:level]) for level in (1, 2, 3)} for path in pair]
    names = sorted(set().union(*labels))
    indicators = [[name in own for name in names] for own in labels]
    assert hierarchical_f1(*pair) == pytest.approx(
        f1_score(indicators[1], indicators[0]), abs=1e-15
    )


# The bags of words, the pool, the target


def test_the_counts_are_those_of_the_words(stand_in: Retrieval) -> None:
    texts, categories, _ = generate_stand_in()
    bags = [Counter(re.findall(r"\b\w\w+\b", text.lower())) for text in texts]
    total = Counter[str]()
    for bag in bags:
        total.update(bag)
    terms = sorted(sorted(total, key=lambda word: (-total[word], word))[:500])
    counts = np.array([[bag[term] for term in terms] for bag in bags], dtype=float)
    target = stand_in.recorded()["target"]
    np.testing.assert_array_equal(stand_in.candidates, np.delete(counts, target, axis=0))
    np.testing.assert_array_equal(stand_in.bounds, [counts.min(axis=0), counts.max(axis=0)])
    scores = [hierarchical_f1(path, categories[target]) for path in categories]
    np.testing.assert_array_equal(stand_in.scores, np.delete(scores, target))


def test_tf_idf_by_its_formula(small: dict[str, Path]) -> None:
    counts = Retrieval(terms=4, data=small)
    weights = Retrieval(terms=4, weights="tfidf", data=small)
    # "the" 4 times, "cream" 6, "dog" 3, "and" 2, "shampoo" 2; alphabetical: and, cream, dog, the
    texts = [text for text, category in SMALL if category[-1] != "unknown"]
    bags = [Counter(re.findall(r"\w\w+", text.lower())) for text in texts]
    tf = np.array([[bag[term] for term in ("and", "cream", "dog", "the")] for bag in bags], float)
    assert counts.recorded()["target"] == weights.recorded()["target"]
    kept = np.delete(np.arange(len(tf)), counts.recorded()["target"])
    np.testing.assert_array_equal(counts.candidates, tf[kept])
    idf = np.log((1 + len(tf)) / (1 + np.sum(tf > 0, axis=0))) + 1
    product = tf * idf
    norm = np.linalg.norm(product, axis=1, keepdims=True)
    expected = np.divide(product, norm, out=np.zeros_like(product), where=norm > 0)
    np.testing.assert_allclose(weights.candidates, expected[kept], rtol=1e-14)
    np.testing.assert_array_equal(weights.scores, counts.scores)
    np.testing.assert_array_equal(weights.evaluate_true(weights.candidates), weights.scores)


def test_stop_words_are_removed_if_asked_for(small: dict[str, Path]) -> None:
    problem = Retrieval(terms=4, stop_words="english", data=small)
    # cream, dog, shampoo and one of those that are there once; and, the, for, other are gone
    assert sorted(problem.bounds[1]) == [1.0, 2.0, 2.0, 3.0]


def test_of_documents_with_the_same_words_the_first_is_kept(tmp_path: Path) -> None:
    documents = [
        ("b a", FACE),
        ("one two", FACE),
        ("two, one", DOGS),
        ("one one two", HAIR),
        ("c", HAIR),
        ("three", DOGS),
        ("", OTHER),
    ]
    problem = Retrieval(terms=2, data=reviews_file(tmp_path / "x.csv", documents))
    assert problem.recorded()["documents"] == 7
    # no word of the vocabulary (the first, FACE), 1 one 1 two (FACE), 2 one 1 two (HAIR)
    bags = {(0.0, 0.0): FACE, (1.0, 1.0): FACE, (2.0, 1.0): HAIR}
    target = tuple({0: (0.0, 0.0), 1: (1.0, 1.0)}[problem.recorded()["target"]])
    del bags[target]
    assert [tuple(x) for x in problem.candidates] == list(bags)
    np.testing.assert_allclose(problem.scores, [1.0, 1 / 3])


def test_what_is_no_document_of_the_pool_has_no_score(small: dict[str, Path]) -> None:
    documents = [text for text, category in SMALL if category[-1] != "unknown"]
    problem = Retrieval(terms=4, data=small)
    words = re.findall(r"\w\w+", documents[problem.recorded()["target"]].lower())
    target = np.array([[words.count(term) for term in ("and", "cream", "dog", "the")]], float)
    for x in (target, target + 0.5):
        X = np.concatenate([problem.candidates[:2], x])
        with pytest.raises(
            RepliboError, match="point 2 is no document of the pool; allowed: its 5"
        ):
            problem.evaluate_true(X)


def test_a_term_that_is_as_frequent_everywhere_has_a_range(tmp_path: Path) -> None:
    documents = [("all one", FACE), ("all one one", FACE), ("all", DOGS)]
    problem = Retrieval(terms=2, data=reviews_file(tmp_path / "x.csv", documents))
    np.testing.assert_array_equal(problem.bounds, [[1.0, 0.0], [2.0, 2.0]])
    assert np.all(problem.to_unit(problem.candidates)[:, 0] == 0.0)


def test_a_target_for_each_seed() -> None:
    fixed, family = Retrieval(terms=50), Retrieval(terms=50, target="per_seed")
    assert fixed.of_seed(0) is fixed.of_seed(1) is fixed
    common = {"rows", "documents", "pool", "categories"}
    assert set(family.recorded()) == common < set(fixed.recorded())  # it has no target of its own
    members = [family.of_seed(seed) for seed in range(5)]
    assert len({member.recorded()["target"] for member in members}) == 5
    for seed, member in enumerate(members):
        np.testing.assert_array_equal(member.bounds, family.bounds)
        assert member.scores.max() == member.optimal_value == 1.0
        np.testing.assert_array_equal(member.evaluate_true(member.candidates), member.scores)
        np.testing.assert_array_equal(family.of_seed(seed).candidates, member.candidates)
    # nothing of a member is left in the family
    np.testing.assert_array_equal(family.candidates, fixed.candidates)
    np.testing.assert_array_equal(family.scores, fixed.scores)


def test_every_document_of_a_shared_category_can_be_the_target(small: dict[str, Path]) -> None:
    family = Retrieval(terms=4, target="per_seed", data=small)
    drawn = Counter(family.of_seed(seed).recorded()["target"] for seed in range(400))
    assert set(drawn) == {0, 1, 3, 4}  # shampoo and soap are alone in their categories
    assert all(abs(count - 100) < 4 * math.sqrt(75) for count in drawn.values())


# What is recorded, and the stand-in


def test_what_is_recorded(small: dict[str, Path], stand_in: Retrieval) -> None:
    problem = Retrieval(terms=4, data=small)
    assert problem.stand_in == ""
    facts = json.loads(json.dumps(problem.recorded()))
    assert (facts["rows"], facts["documents"], facts["pool"]) == (7, 6, 5)
    assert facts["categories"] == [2, 3, 4]
    assert tuple(facts["target_category"]) == SMALL[facts["target"]][1]
    assert sum(count for _, count in facts["scores"]) == 5
    assert "2000 generated documents of 64 categories" in stand_in.stand_in
    facts = stand_in.recorded()
    assert facts["categories"] == [4, 16, 64]
    assert [score for score, _ in facts["scores"]] == [0.0, 2 / 6, 4 / 6, 1.0]
    assert [n for _, n in facts["scores"]] == np.bincount(
        np.rint(3 * stand_in.scores).astype(int)
    ).tolist()


def test_words_of_the_stand_in_tell_of_categories(stand_in: Retrieval) -> None:
    """A task that can be learned: the document of the most similar words is often of the same category."""
    categories = np.array(generate_stand_in().categories)
    paths = np.delete(categories, stand_in.recorded()["target"], axis=0)
    X = np.sqrt(stand_in.candidates[:600])
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    similarity = X @ X.T
    np.fill_diagonal(similarity, -1)
    nearest = similarity.argmax(axis=1)
    same = np.cumprod(paths[:600] == paths[nearest], axis=1).mean(axis=0)
    chance = 1 / np.array([4, 16, 64])
    assert np.all(same > 2 * chance)


# Errors


@pytest.mark.parametrize(
    ("documents", "terms", "named"),
    [
        (SMALL, 6, "terms must be at most 5 for a corpus of 6 documents, got 6"),
        ([("a b", FACE), ("!", FACE), ("", DOGS)], 1, "data: the corpus holds no words"),
        (
            [("one", FACE), ("two one", FACE), ("two", DOGS), ("one", DOGS)],
            3,
            "terms must be at most 2, the number of words in the corpus, got 3",
        ),
        ([("one", FACE), ("one", FACE), ("two", DOGS)], 2, "target: no category has two different"),
    ],
)
def test_a_corpus_that_is_too_small(
    tmp_path: Path, documents: list[Document], terms: int, named: str
) -> None:
    data = reviews_file(tmp_path / "x.csv", documents)
    with pytest.raises(RepliboError, match=re.escape(named)) as error:
        Retrieval(terms=terms, data=data)
    assert "\n" not in str(error.value)


@settings(max_examples=30, derandomize=True, database=None)
@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from(["aa", "bb", "cc", "dd"]), max_size=5), CATEGORIES),
        min_size=4,
        max_size=12,
    ),
    st.integers(1, 3),
)
def test_any_corpus(
    tmp_path_factory: pytest.TempPathFactory, corpus: list[tuple[list[str], Any]], terms: int
) -> None:
    """It is a problem, or one line says why not."""
    documents = [(" ".join(words), category) for words, category in corpus]
    try:
        problem = Retrieval(
            terms=terms, data=reviews_file(tmp_path_factory.mktemp("any") / "x.csv", documents)
        )
    except RepliboError as error:
        assert "\n" not in str(error) and ("must" in str(error) or "allowed" in str(error))
        return
    target = documents[problem.recorded()["target"]]
    assert problem.scores.max() == 1.0
    assert len(problem.candidates) == problem.recorded()["pool"]
    minus_zero = np.where(problem.candidates == 0, -0.0, problem.candidates)[::-1]
    np.testing.assert_array_equal(problem.evaluate_true(minus_zero), problem.scores[::-1])
    for x, score in zip(problem.candidates, problem.scores, strict=True):
        assert any(hierarchical_f1(path, target[1]) == score for _, path in documents)
        assert problem.evaluate_true(x[None, :])[0] == score
