"""The bbob suite: which member a seed takes, its values against the suite itself, its optimum."""

import numpy as np
import pytest

from replibo.errors import RepliboError
from replibo.problems import coco
from replibo.problems.coco import Bbob, member
from replibo.streams import RunStreams

SEED_OF = {member(seed): seed for seed in range(360)}


def test_the_seeds_take_every_function_and_spread_over_the_groups():
    members = [member(seed) for seed in range(360)]
    assert sorted(members) == [(f, i) for f in range(1, 25) for i in range(1, 16)]
    for first in range(0, 360, 24):  # any whole block holds every function once
        assert {f for f, _ in members[first : first + 24]} == set(range(1, 25))
    assert members[:5] == [(1, 1), (6, 1), (11, 1), (16, 1), (21, 1)]
    groups = [range(first, last + 1) for first, last in coco.GROUPS.values()]
    assert [f for group in groups for f in group] == list(range(1, 25))
    for group in groups:
        assert sum(f in group for f, _ in members[:5]) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: member(-1), "seed: must be at least 0, got -1"),
        (lambda: Bbob(dim=4), "dim must be 2.* 40, got 4"),
    ],
)
def test_bad_settings_are_one_line(call, message):
    with pytest.raises(RepliboError, match=message) as error:
        call()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("dim", coco.DIMENSIONS)
def test_each_member_is_the_suites_own_problem(dim):
    import cocoex

    suite = cocoex.Suite("bbob", "instances:1-15", f"dimensions:{dim}")
    X = np.random.default_rng(dim).uniform(-5, 5, size=(3, dim))
    for theirs in suite:
        function, _, instance = theirs.id_triple
        ours = Bbob(dim=dim).of_seed(SEED_OF[function, instance])
        assert (ours.function, ours.instance) == (function, instance)
        np.testing.assert_array_equal(ours.bounds, [theirs.lower_bounds, theirs.upper_bounds])
        np.testing.assert_array_equal(
            ours.evaluate_true(X), [ours.f_opt - theirs(x) for x in X], strict=True
        )


@pytest.mark.parametrize("dim", coco.DIMENSIONS)
def test_each_members_maximum_is_0_at_its_optimizer(dim):
    rng = np.random.default_rng(dim)
    family = Bbob(dim=dim)
    for seed in range(360):
        problem = family.of_seed(seed)
        x = problem.optimizers[0]
        assert np.all(np.abs(x) <= 5)
        assert abs(problem.evaluate_true(problem.optimizers)[0]) < 1e-13
        # nothing is higher, near or far, and the points around the optimum are lower
        near = np.clip(x + rng.normal(scale=1e-3, size=(20, dim)), -5, 5)
        far = rng.uniform(-5, 5, size=(50, dim))
        assert problem.evaluate_true(near).max() <= 1e-13
        assert problem.evaluate_true(far).max() < 0


def test_the_family_is_the_member_of_seed_0_and_stays_it():
    family = Bbob(dim=3)
    X = np.random.default_rng(0).uniform(-5, 5, size=(9, 3))
    before = family.evaluate_true(X)
    assert not np.array_equal(family.of_seed(13).evaluate_true(X), before)
    np.testing.assert_array_equal(family.evaluate_true(np.asfortranarray(X)), before)
    np.testing.assert_array_equal(family.of_seed(0).evaluate_true(X), before)


def test_the_offset_is_seen_where_it_is_kept():
    import cocoex

    x = np.random.default_rng(0).uniform(-5, 5, size=3)
    streams = RunStreams("neuralbo", "bbob_3d", "neural_bo", 0)
    kept, removed = Bbob(dim=3, offset="kept"), Bbob(dim=3)
    for seed in (0, 5, 77):
        ours, usual = kept.of_seed(seed), removed.of_seed(seed)
        theirs = cocoex.BareProblem("bbob", ours.function, 3, ours.instance)
        seen = ours.observe(x, streams, 0)
        assert seen.f == usual.observe(x, streams, 0).f == usual.observe(x, streams, 0).y
        assert seen.y == pytest.approx(-theirs(x), rel=1e-12, abs=1e-9)
        assert abs(seen.y - seen.f) == pytest.approx(abs(theirs.best_value()), rel=1e-9)
    assert abs(kept.of_seed(0).f_opt) > 1  # there is an offset
