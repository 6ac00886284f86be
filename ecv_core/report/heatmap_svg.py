"""Datasets x algorithms with one number each -> inline SVG: a heatmap one can read in print."""

from __future__ import annotations

import math

import pandas as pd

from ecv_core.report.svg import drawing, element, text

ROW, TOP = 26, 30
LIGHTEST, DARKEST = (241, 245, 247), (0, 80, 126)
"""The ends of the colour scale, as the dashboard's heatmaps have them."""


def heatmap_svg(cells: pd.DataFrame, value: str, *, digits: int, alt: str) -> str:
    """The numbers stand in their cells; colour only helps to see where they are large.

    Args:
        cells: one row per cell with the columns dataset, algorithm and `value`.
        value: the column to show.
        digits: after the point.
        alt: one sentence with what it shows.
    """
    datasets, algorithms = list(cells["dataset"].unique()), list(cells["algorithm"].unique())
    known = {
        (row.dataset, row.algorithm): float(getattr(row, value))
        for row in cells.itertuples(index=False)
    }
    low, high = _span([number for number in known.values() if math.isfinite(number)])
    left = 14 + 6.6 * max((len(str(name)) for name in datasets), default=0)
    across = max(66.0, *(10 + 6.6 * len(str(name)) for name in algorithms))
    parts = []
    for column, algorithm in enumerate(algorithms):
        middle = left + (column + 0.5) * across
        parts.append(text(str(algorithm), middle, TOP - 10, text_anchor="middle", font_size=12))
    for row, dataset in enumerate(datasets):
        y = TOP + row * ROW
        parts.append(text(str(dataset), left - 8, y + 17, text_anchor="end", font_size=12))
        for column, algorithm in enumerate(algorithms):
            number = known.get((dataset, algorithm), math.nan)
            parts += _cell(left + column * across, y, across, number, digits, low, high)
    width = math.ceil(left + across * len(algorithms) + 4)
    return drawing(parts, width=width, height=TOP + ROW * len(datasets) + 4, alt=alt)


def _span(numbers: list[float]) -> tuple[float, float]:
    low, high = (min(numbers), max(numbers)) if numbers else (0.0, 1.0)
    return (low, high) if high > low else (low, low + 1.0)


def _cell(
    x: float, y: float, width: float, number: float, digits: int, low: float, high: float
) -> list[str]:
    known = math.isfinite(number)
    share = (number - low) / (high - low) if known else 0.0
    red, green, blue = (
        round(start + share * (end - start)) for start, end in zip(LIGHTEST, DARKEST, strict=True)
    )
    return [
        element(
            "rect",
            x=x + 1,
            y=y + 1,
            width=width - 2,
            height=ROW - 2,
            rx=3,
            fill=f"rgb({red},{green},{blue})" if known else "none",
            stroke="#D9DCD5",
        ),
        text(
            f"{number:.{digits}f}" if known else "not run",
            x + width / 2,
            y + 17.5,
            text_anchor="middle",
            fill="#FFFFFF" if share > 0.55 else "#1D2730",
            font_size=12.5 if known else 11,
        ),
    ]
