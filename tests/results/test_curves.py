"""Curves from several sources in one figure."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student

from replibo.config.models import AlgorithmEntry
from replibo.results import curves

LOOK = AlgorithmEntry(type="random_search.RandomSearch", label="Random search", color="grey")
T = np.arange(1.0, 4.0)
F = np.array([[0.0, 0.5, 0.2], [0.4, 0.1, 0.7]])


@pytest.mark.parametrize(
    ("optimum", "values", "scale"),
    [
        (1.0, [[1.0, 0.5, 0.5], [0.6, 0.6, 0.3]], "log"),
        (0.6, [[0.6, 0.1, 0.1], [0.2, 0.2, -0.1]], "symlog"),  # it comes to 0
        (None, [[0.0, 0.5, 0.5], [0.4, 0.4, 0.7]], "linear"),
    ],
)
def test_means_with_intervals(optimum: float | None, values: list[list[float]], scale: str) -> None:
    shown = [curves.Curve(LOOK, T, F, bold=bold, optimum=optimum) for bold in (False, True)]
    figure = curves.best_so_far({"f": shown}, "Two curves.")
    (ax,) = figure.axes
    thin, thick = ax.lines
    np.testing.assert_allclose(thin.get_ydata(), np.mean(values, axis=0), atol=1e-12)
    assert thick.get_linewidth() > thin.get_linewidth()
    assert ax.get_yscale() == scale
    band, _ = ax.collections
    heights = band.get_paths()[0].vertices
    low, high = (limit(heights[heights[:, 0] == T[-1], 1]) for limit in (np.min, np.max))
    end = np.array(values)[:, -1]
    half = student.ppf(0.975, 1) * end.std(ddof=1) / np.sqrt(2)
    floor = -np.inf if optimum is None else 0.0
    assert (low, high) == pytest.approx((max(end.mean() - half, floor), end.mean() + half))


def test_check_has_a_panel_of_the_cumulative_regret_where_the_optimum_is_known() -> None:
    optima = {"known": 1.0, "unknown": None}
    shown = {name: [curves.Curve(LOOK, T, F, start=1, optimum=f)] * 5 for name, f in optima.items()}
    figure = curves.best_so_far(shown, "", cumulative=True)
    assert [ax.get_title() for ax in figure.axes] == ["known", "known", "unknown"]
    labels = ["simple regret", "cumulative regret", "best value so far"]
    assert [ax.get_ylabel() for ax in figure.axes] == labels
    line, scale = figure.axes[1].lines[0], figure.axes[1].get_yscale()
    np.testing.assert_allclose(line.get_xydata(), [[2.0, 0.7], [3.0, 0.7 + 0.55]])
    assert scale == "linear" and max(figure.axes[1].get_xticks()) <= T[-1]
