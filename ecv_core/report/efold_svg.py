"""The frame of figure 1 -> inline SVG for a printed page."""

from __future__ import annotations

import pandas as pd

from ecv_core.figures.efold import score_range
from ecv_core.figures.palette import LIGHT
from ecv_core.report.svg import Scale, drawing, element, path, text, ticks

WIDTH, HEIGHT = 760, 300
LEFT, RIGHT, TOP, BOTTOM = 76, 76, 34, 48
HALO: dict[str, str | float] = {
    "paint_order": "stroke",
    "stroke": "#FFFFFF",
    "stroke_width": 4,
    "stroke_opacity": 0.8,
}
"""Keeps a label readable where it lies on marks."""


def efold_svg(
    frame: pd.DataFrame,
    *,
    k: int,
    metric: str,
    stopped_at: int | None,
    alt: str,
    confidence: float = 0.95,
) -> str:
    """Figure 1 as the dashboard draws it: mean, interval, its width, the stop.

    Args:
        frame: from `figures.efold.efold_frame`.
        k: folds of a whole cross-validation; fixes the x axis.
        metric: the score's name as shown, such as 'nDCG@10'.
        stopped_at: folds used (e); None while the run has not stopped.
        alt: one sentence with what it shows.
        confidence: of the interval, for the legend.
    """
    low, high = score_range(frame)
    x = Scale(data=(0.5, k + 0.5), pixels=(LEFT, WIDTH - RIGHT))
    y = Scale(data=(low, high), pixels=(HEIGHT - BOTTOM, TOP))
    widths = Scale(data=(0.0, high - low), pixels=(HEIGHT - BOTTOM, TOP))
    used, checked = frame[frame["used"]], frame[~frame["used"]]
    rest = frame[frame["n"] >= (stopped_at or 0)] if not checked.empty else checked
    parts = []
    if stopped_at is not None and stopped_at < k:
        parts.append(_saved(x, k, stopped_at, bool(len(checked))))
    parts += _axes(x, y, widths, k, metric)
    parts += [_band(rest, x, y, 0.10), _band(used, x, y, 0.22)]
    parts += _scores(frame, x, y)
    parts.append(_line(rest, x, y, "mean", stroke=LIGHT.mean, stroke_width=1.6, stroke_dasharray=3))
    parts += _marked(used, x, y, "mean", "diamond")
    parts += _marked(rest, x, widths, "width", "square", faint=True)
    parts += _marked(used, x, widths, "width", "square")
    if stopped_at is not None and stopped_at < k:
        parts += _stop(x, k, stopped_at)
        if len(frame) == k:
            parts += _whole(y, k, float(frame["mean"].iloc[-1]))
    parts += _legend(f"{100 * confidence:g} % interval", not checked.empty)
    return drawing(parts, width=WIDTH, height=HEIGHT, alt=alt)


def _axes(x: Scale, y: Scale, widths: Scale, k: int, metric: str) -> list[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = []
    for value in ticks(*y.data, 6):
        parts.append(path([(LEFT, y(value)), (right, y(value))], stroke="#1D2730", opacity=0.12))
        parts.append(
            text(_short(value), LEFT - 7, y(value) + 4.5, text_anchor="end", fill=LIGHT.mean)
        )
    for value in ticks(*widths.data, 6):
        parts.append(text(_short(value), right + 7, widths(value) + 4.5, fill=LIGHT.width))
    parts.append(path([(LEFT, bottom), (right, bottom)], stroke=LIGHT.muted))
    every = max(1, -(-k // 20))
    for n in range(every, k + 1, every):
        parts.append(text(str(n), x(n), bottom + 17, text_anchor="middle", fill=LIGHT.ink))
    middle = (TOP + bottom) / 2
    parts.append(text("folds seen (n)", (LEFT + right) / 2, HEIGHT - 10, text_anchor="middle"))
    for words, at, colour in ((metric, 15, LIGHT.mean), ("interval width", WIDTH - 8, LIGHT.width)):
        parts.append(
            text(
                words,
                at,
                middle,
                text_anchor="middle",
                fill=colour,
                transform=f"rotate(-90 {at} {middle:g})",
            )
        )
    return parts


def _band(rows: pd.DataFrame, x: Scale, y: Scale, opacity: float) -> str:
    rows = rows.dropna(subset=["width"])
    if rows.empty:
        return ""
    outline = [(x(n), y(high)) for n, high in zip(rows["n"], rows["high"], strict=True)]
    outline += [(x(n), y(low)) for n, low in zip(rows["n"][::-1], rows["low"][::-1], strict=True)]
    return path([*outline, outline[0]], fill=LIGHT.mean, fill_opacity=opacity)


def _scores(frame: pd.DataFrame, x: Scale, y: Scale) -> list[str]:
    return [
        element(
            "circle",
            cx=x(n),
            cy=y(score),
            r=4,
            stroke=LIGHT.muted,
            stroke_width=1.5,
            fill=LIGHT.muted if used else "none",
            opacity=0.65,
        )
        for n, score, used in zip(frame["n"], frame["score"], frame["used"], strict=True)
    ]


def _line(rows: pd.DataFrame, x: Scale, y: Scale, column: str, **look: str | float) -> str:
    rows = rows.dropna(subset=[column])
    points = [(x(n), y(value)) for n, value in zip(rows["n"], rows[column], strict=True)]
    return path(points, **look) if len(points) > 1 else ""


def _marked(
    rows: pd.DataFrame, x: Scale, y: Scale, column: str, mark: str, *, faint: bool = False
) -> list[str]:
    rows = rows.dropna(subset=[column])
    mean = column == "mean"
    colour, opacity = (LIGHT.mean if mean else LIGHT.width), 0.45 if faint else 1.0
    dash: dict[str, str | float] = {} if mean else {"stroke_dasharray": "7 4"}
    parts = [
        _line(rows, x, y, column, stroke=colour, stroke_width=2.4, opacity=opacity, **dash),
        *(
            _mark(mark, x(n), y(value), colour, opacity)
            for n, value in zip(rows["n"], rows[column], strict=True)
        ),
    ]
    return parts


def _mark(mark: str, x: float, y: float, colour: str, opacity: float) -> str:
    turn = f"rotate(45 {x:.2f} {y:.2f})" if mark == "diamond" else "rotate(0)"
    return element(
        "rect",
        x=x - 3.6,
        y=y - 3.6,
        width=7.2,
        height=7.2,
        fill=colour,
        opacity=opacity,
        transform=turn,
    )


def _saved(x: Scale, k: int, stopped_at: int, checked: bool) -> str:
    saved, left, right = k - stopped_at, x(stopped_at), WIDTH - RIGHT
    folds = f"{saved} fold{'s' if saved > 1 else ''}"
    words = f"{folds} run to check" if checked else f"{folds} saved"
    return element(
        "rect",
        x=left,
        y=TOP,
        width=right - left,
        height=HEIGHT - BOTTOM - TOP,
        fill="#1D2730",
        opacity=0.06,
    ) + text(words, (left + right) / 2, HEIGHT - BOTTOM - 9, text_anchor="middle", fill=LIGHT.muted)


def _stop(x: Scale, k: int, stopped_at: int) -> list[str]:
    at, early = x(stopped_at), stopped_at < 0.3 * k
    return [
        path(
            [(at, TOP), (at, HEIGHT - BOTTOM)],
            stroke=LIGHT.stop,
            stroke_width=2,
            stroke_dasharray="6 4",
        ),
        text(
            f"stop after {stopped_at}",
            at + 6 if early else at - 6,
            TOP + 14,
            text_anchor="start" if early else "end",
            fill=LIGHT.stop,
            font_weight="bold",
        ),
    ]


def _whole(y: Scale, k: int, mean: float) -> list[str]:
    right = WIDTH - RIGHT
    return [
        path([(LEFT, y(mean)), (right, y(mean))], stroke=LIGHT.ink),
        text(f"mean of all {k}: {mean:.4f}", right - 4, y(mean) - 6, text_anchor="end", **HALO),
    ]


def _legend(interval: str, checked: bool) -> list[str]:
    parts, at, y = [], float(LEFT), 15
    for words, kind in (
        ("mean so far", "diamond"),
        (interval, "band"),
        ("interval width", "square"),
        ("score of one fold", "dot"),
        *([("fold run to check", "ring")] if checked else []),
    ):
        colour = LIGHT.width if kind == "square" else LIGHT.mean
        if kind == "band":
            parts.append(
                element("rect", x=at, y=y - 9, width=22, height=10, fill=colour, opacity=0.22)
            )
        elif kind in ("dot", "ring"):
            fill = LIGHT.muted if kind == "dot" else "none"
            parts.append(
                element("circle", cx=at + 11, cy=y - 4, r=4, fill=fill, stroke=LIGHT.muted)
            )
        else:
            parts.append(path([(at, y - 4), (at + 22, y - 4)], stroke=colour, stroke_width=2.4))
            parts.append(_mark(kind, at + 11, y - 4, colour, 1.0))
        parts.append(text(words, at + 27, y, font_size=12))
        at += 27 + 6.4 * len(words) + 14
    return parts


def _short(value: float) -> str:
    return f"{value:.4f}".rstrip("0").rstrip(".") if abs(value) < 10 else f"{value:g}"
