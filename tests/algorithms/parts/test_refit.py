"""When surrogates are fitted anew."""

import math

from hypothesis import given
from hypothesis import strategies as st

from replibo.algorithms.parts.gp_sampled import GpSchedule
from replibo.algorithms.parts.refit import RefitSchedule


def test_sizes_by_hand():
    schedule = RefitSchedule(0.05)
    assert [schedule.after(n) for n in (1, 19, 20, 21, 39, 40, 100, 2000)] == [
        2, 20, 21, 23, 41, 42, 105, 2100,
    ]  # fmt: skip
    assert [schedule.in_force(n, 40) for n in (10, 40, 41, 42, 44, 45, 47, 48)] == [
        10, 40, 40, 42, 42, 45, 45, 48,
    ]  # fmt: skip


def test_a_late_growth_holds_from_200_observations_on():
    schedule = RefitSchedule(0.05, late_growth=0.1)
    assert [schedule.after(n) for n in (100, 199, 200, 2000)] == [105, 209, 220, 2200]


def test_gaussian_processes_are_fitted_at_twice_the_growth_from_1000_observations_on():
    schedule = GpSchedule(0.05)
    assert [schedule.after(n) for n in (100, 999, 1000, 2000)] == [105, 1049, 1100, 2200]
    assert GpSchedule(0.0).after(2000) == 2001


@given(
    growth=st.just(0.0) | st.floats(0, 2),
    n_initial=st.integers(1, 50),
    sizes=st.lists(st.integers(1, 400), min_size=1, max_size=20),
)
def test_the_answer_is_a_function_of_the_length_and_never_older_than_the_growth(
    growth, n_initial, sizes
):
    used = RefitSchedule(growth)
    for n in sizes:  # in any order
        size = used.in_force(n, n_initial)
        assert size == RefitSchedule(growth).in_force(n, n_initial) <= n
        assert n < max(size + 1, math.ceil((1 + growth) * size)) or n <= n_initial
        assert used.in_force(size, n_initial) == size
