"""Moments of a run -> figure 1 of the e-fold paper: mean, interval, its width, and the stop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd

from ecv_core.figures.words import counted
from ecv_core.records.frames import with_columns
from ecv_core.records.run import IntervalKind, Moment, RunRecord

COLUMNS = {
    "n": "folds seen so far, 1 .. k",
    "fold": "index of the newest fold, 0 .. k-1",
    "score": "the newest fold's score",
    "mean": "mean of the n scores so far",
    "low": "lower end of the confidence interval of that mean; missing at n = 1",
    "high": "upper end; missing at n = 1",
    "width": "c_n = high - low, the interval width; missing at n = 1",
    "used": "whether this fold counts: up to the stop, or while there is no stop",
}
"""The frame's columns and what they mean."""


@with_columns(COLUMNS)
def efold_frame(
    moments: Sequence[Moment], stopped_at: int | None, *, checked: bool = False
) -> pd.DataFrame:
    """One row per fold with the COLUMNS.

    Args:
        moments: the run so far, in the order of its folds; may be empty.
        stopped_at: folds used (e); None while the run has not stopped.
        checked: whether folds after the stop are to run, if none has yet.

    Returns:
        Its attributes say `checked`, whether folds after the stop run, and what the intervals
        hold, as in "interval of the mean" (`holds`).
    """
    rows = []
    holds = IntervalKind.MEAN
    for moment in moments:
        row: dict[str, object] = {
            "n": moment.n,
            "fold": moment.fold,
            "score": moment.score,
            "mean": moment.mean,
            "used": stopped_at is None or moment.n <= stopped_at,
        }
        if moment.interval is not None:
            row["low"] = moment.interval.low
            row["high"] = moment.interval.high
            row["width"] = moment.interval.width
            holds = moment.interval.kind
        rows.append(row)
    types = dict.fromkeys(COLUMNS, "float64")
    types |= {"n": "int64", "fold": "int64", "used": "bool"}
    frame = pd.DataFrame(rows, columns=list(COLUMNS)).astype(types)
    frame.attrs["checked"] = checked or not frame["used"].all()
    frame.attrs["holds"] = str(holds)
    return frame


def frame_of_run(run: RunRecord) -> pd.DataFrame:
    """The frame of the folds that a run has."""
    return efold_frame(run.moments, run.stopped_at, checked=run.checked)


def first_rows(frame: pd.DataFrame, n: int) -> pd.DataFrame:
    """What such a frame was after n folds: its rows do not depend on those that come later."""
    rows = frame.head(n)
    rows.attrs["checked"] = not rows["used"].all()
    return rows


def score_range(frame: pd.DataFrame) -> tuple[float, float]:
    """Range of the score axis, made so that the axis does not jump while folds arrive.

    One fold alone gives a provisional range of 10 % around it. The second fold, the first with an
    interval and nearly always the widest, sets the range. Later folds leave it alone unless they
    would not fit: then it grows by half. It is the same for a live run and for one read later,
    because row n depends on rows 1 .. n only.
    """
    if frame.empty:
        return 0.0, 1.0
    first = float(frame["score"].iloc[0])
    if len(frame) == 1:
        reach = abs(first) * 0.1 or 0.01
        return first - reach, first + reach
    after_two_folds = frame.iloc[1]
    centre = float(after_two_folds["mean"])
    # A little more than half the interval to each side; of no interval, an axis of some length.
    reach = float(after_two_folds["width"]) * 0.58 or abs(centre) * 0.05 or 0.01
    distances = frame[["score", "low", "high"]].sub(centre).abs()
    largest_of_rows = distances.max(axis=1).fillna(0.0)
    for largest_distance in largest_of_rows:  # row by row, as while the run went on
        while largest_distance > reach:
            reach *= 1.5
    return centre - reach, centre + reach


def band_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows that have an interval; one alone, which has no area, twice: a strip at its fold."""
    rows = rows.dropna(subset=["width"])
    if len(rows) != 1:
        return rows
    return pd.concat([rows, rows]).assign(n=rows["n"].iloc[0] + np.array([-0.1, 0.1]))


HEADROOM = 0.13
"""Of the axis, above all marks: there the stop is named, where nothing is overprinted."""


def plot_range(frame: pd.DataFrame, span: tuple[float, float] | None = None) -> tuple[float, float]:
    """Both ends of the score axis: room for all marks, and HEADROOM above them.

    Args:
        frame: from `efold_frame`.
        span: of the marks; by default `score_range`.
    """
    if span is None:
        span = score_range(frame)
    low, high = span
    return low, high + HEADROOM * (high - low)


def side_of_stop(k: int, stopped_at: int) -> Literal["left", "center", "right"]:
    """Which end of its words stands at the stop, so that they stay within the axis."""
    if stopped_at < k / 3:
        return "left"
    if stopped_at > 2 * k / 3:
        return "right"
    return "center"


def stop_words(k: int, stopped_at: int, checked: bool) -> tuple[str, str]:
    """'stop after 4', '6 folds saved': the stop, and the folds behind it."""
    folds = counted(k - stopped_at, "fold")
    fate = "saved"
    if checked:
        fate = "run to check"
    return f"stop after {stopped_at}", f"{folds} {fate}"


def alt_text(
    frame: pd.DataFrame, *, k: int, metric: str, stopped_at: int | None, title: str = ""
) -> str:
    """One sentence with the numbers of figure 1, for those who do not see it."""
    subject = ""
    if title:
        subject = f"{title}: "
    if frame.empty:
        return f"{subject}no fold of {k} is finished yet."
    last = frame[frame["used"]].iloc[-1]
    text = f"{subject}after {last['n']} of {k} folds the mean {metric} is {last['mean']:.4f}"
    if pd.notna(last["width"]):
        text += f", confidence interval {last['low']:.4f} to {last['high']:.4f}"
        text += f" ({last['width']:.4f} wide)"
    if stopped_at is not None and stopped_at < k:
        _, later_folds = stop_words(k, stopped_at, frame.attrs["checked"])
        text += f"; the rule stopped here, {later_folds}"
        if len(frame) == k:
            text += f"; the mean of all {k} folds is {frame['mean'].iloc[-1]:.4f}"
    return f"{text}."
