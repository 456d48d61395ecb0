"""Algorithm 2: its invariants, and its book-keeping against a literal second version."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from replibo.algorithms.parts.balancing import Hyperparameter, HyperparameterBalancing


def log_regret(u: Hyperparameter, n: int) -> float:
    """Some bound that grows with the plays and with 1/θ, and is 0 at the first play."""
    return -math.inf if n == 1 else math.log(n) + math.log(math.log(n)) - math.log(u.length_scale)


def proposer(start: int, rounds: Sequence[int]):  # type: ignore[no-untyped-def]
    """a(t): ``start`` candidates, then ``rounds[t - 1]`` more after round t, each shorter."""

    def propose(t: int, created: Sequence[Hyperparameter]) -> list[Hyperparameter]:
        count = start if t == 0 else (rounds[t - 1] if t <= len(rounds) else 0)
        return [Hyperparameter(0.8 ** (len(created) + i), 1.0) for i in range(count)]

    return propose


runs = st.integers(1, 6).flatmap(
    lambda start: st.tuples(
        st.just(start),
        st.lists(st.integers(0, 2), min_size=1, max_size=40),
        st.lists(st.floats(-3.0, 3.0), min_size=40, max_size=40),
        st.lists(st.floats(0.0, 1.5), min_size=40, max_size=40),
        st.floats(0.0, 2.0),
        st.sampled_from([-1.0, 1.0]),
        st.floats(0.0, 0.5),
    )
)


@given(runs)
def test_is_algorithm_2_read_line_by_line(run: tuple) -> None:  # type: ignore[type-arg]
    """A second version: sets, sums written out, R itself instead of its logarithm."""
    start, rounds, y, confidence, width, xi_sign, xi = run
    propose = proposer(start, rounds)
    balancing = HyperparameterBalancing(
        propose, log_regret, lambda t: xi * t, width=width, xi_sign=xi_sign
    )
    all_created = list(propose(0, []))
    U = list(all_created)
    S: dict[Hyperparameter, list[int]] = {u: [] for u in U}
    eliminated, close = [], False
    for t in range(1, len(rounds) + 1):
        u_t = min(U, key=lambda u: math.exp(log_regret(u, len(S[u]) + 1)))
        assert balancing.created[balancing.select()] == u_t
        S[u_t].append(t)
        if all(len(S[u]) != 0 for u in U):

            def mean(values: Sequence[float], u: Hyperparameter) -> float:
                return sum(values[tau - 1] for tau in S[u]) / len(S[u])

            root = {u: math.sqrt(xi * t / len(S[u])) for u in U}
            best = max(mean(y, u) - root[u] for u in U)
            slack = {
                u: mean(y, u) + xi_sign * root[u] + width * mean(confidence, u) - best for u in U
            }
            close = any(abs(s) < 1e-9 and s != 0 for s in slack.values())
            eliminated += [(t, u) for u in U if slack[u] < 0]
            U = [u for u in U if slack[u] >= 0]
        added = propose(t, all_created)
        all_created += added
        U += added
        S.update({u: [] for u in added})
        balancing.observe(confidence[t - 1], np.array(y[:t]))
        if close:  # a comparison that rounding decides
            return
        assert [balancing.created[u] for u in balancing.considered] == U
        assert [(s, balancing.created[u]) for s, u in balancing.eliminated] == eliminated
