"""GP-TS, Thompson sampling from a Gaussian process: a baseline of the NeuralBO paper."""

from __future__ import annotations

from replibo.algorithms.base import History
from replibo.algorithms.parts.gp_sampled import GpSampled, Scores
from replibo.problems.base import Array
from replibo.surrogates.gp_regression import GpRegression


class GpTs(GpSampled):
    """GP-TS (Chowdhury and Gopalan 2017, Algorithm 2): the candidate where a sample of f is largest.

    The sample is drawn from the *joint* posterior at the candidates, from the stream ``algorithm``
    of the query. Its deviation is σ_t itself, so that v_t = 1. Chowdhury and Gopalan have
    v_t = B + R √(2 (γ_{t−1} + 1 + ln(2/δ))); the NeuralBO paper prints no v_t. Settings are those of
    `replibo.algorithms.parts.gp_sampled`.
    """

    def scores(self, gp: GpRegression, X: Array, history: History, t: int) -> Scores:
        normals = self.streams.algorithm_at(len(history)).standard_normal(len(X))
        return Scores(*gp.sample(X, normals))

    def _bytes_per_candidate(self, candidates: int) -> float:
        """The posterior covariance, its factor and their sum with a jitter, too."""
        return super()._bytes_per_candidate(candidates) + 3 * 8.0 * candidates
