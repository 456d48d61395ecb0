"""The centre first, then uniform points; and the upper end always."""

import numpy as np
from scipy import stats

from replibo.algorithms.base import History, Space
from replibo.algorithms.centre_then_random import CentreThenRandom
from replibo.algorithms.upper_end import UpperEnd
from replibo.streams import RunStreams

STREAMS = RunStreams("neuralbo", "ackley_3", "centre_then_random", 0)


def test_the_centre_and_then_uniform_points():
    algorithm, past = CentreThenRandom(Space(3), STREAMS), History(3, 2)
    for x in ([0.1, 0.2, 0.3], [0.9, 0.8, 0.7]):
        past.append(np.array(x), 0.0)
    asked = []
    for t in range(1, 302):
        asked.append(algorithm.ask(past, t).x)
        past.append(asked[-1], 0.0)
    np.testing.assert_array_equal(asked[0], [0.5, 0.5, 0.5])
    assert stats.kstest(np.ravel(asked[1:]), "uniform").pvalue > 1e-3


def test_the_pool_s_point_nearest_to_the_centre():
    pool = np.array([[0.0, 0.0], [0.4, 0.5], [0.5, 0.6], [1.0, 1.0]])
    algorithm, past = CentreThenRandom(Space(2, candidates=pool), STREAMS), History(2, 1)
    past.append(pool[0], 0.0, 0)
    assert algorithm.ask(past, 1).candidate == 1
    past.append(pool[1], 0.0, 1)
    later = algorithm.ask(past, 2)
    np.testing.assert_array_equal(later.x, pool[later.candidate])


def test_the_upper_end():
    past = History(2, 0)
    np.testing.assert_array_equal(UpperEnd(Space(2), STREAMS).ask(past, 1).x, [1.0, 1.0])
    pool = np.array([[1.0, 0.0], [0.9, 0.9], [0.0, 1.0]])
    assert UpperEnd(Space(2, candidates=pool), STREAMS).ask(past, 1).candidate == 1
