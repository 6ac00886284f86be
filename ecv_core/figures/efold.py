"""Moments of a run -> figure 1 of the e-fold paper as data: the folds so far, and the stop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from ecv_core.analysis.replay import Replay
from ecv_core.evaluation import metric_of
from ecv_core.figures.palette import Span
from ecv_core.figures.words import counted, metric_label, run_title
from ecv_core.records.frames import with_columns
from ecv_core.records.parameters import score_text
from ecv_core.records.run import IntervalKind, Moment, RunRecord
from ecv_core.records.spec import RunSpec

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
def efold_frame(moments: Sequence[Moment], stopped_at: int | None) -> pd.DataFrame:
    """One row per fold with the COLUMNS.

    Args:
        moments: The run so far, in the order of its folds; may be empty.
        stopped_at: Folds used (e); None while the run has not stopped.
    """
    rows = []
    for moment in moments:
        row = {
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
        rows.append(row)
    types = dict.fromkeys(COLUMNS, "float64")
    types |= {"n": "int64", "fold": "int64", "used": "bool"}
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(types)


def frame_of_run(run: RunRecord) -> pd.DataFrame:
    """The frame of the folds that a run has."""
    return efold_frame(run.moments, run.stopped_at)


@dataclass(frozen=True, kw_only=True)
class FoldHistory:
    """What figure 1 shows: an evaluation fold by fold, and where its rule stopped."""

    moments: Sequence[Moment]
    """After each fold so far; may be empty."""
    k: int
    """Folds of a whole cross-validation."""
    metric: str
    """The score's name as shown, such as 'nDCG@10'."""
    stopped_at: int | None = None
    """Folds used (e); None while it has not stopped."""
    confidence: float = 0.95
    """Of the intervals."""
    title: str = ""
    """The run, in the sentence for those who do not see the figure."""
    checks_stop: bool = False
    """Whether folds after the stop are to run, if none has yet."""
    metric_range: Span = (-math.inf, math.inf)
    """The least and the most that the score can be."""

    def frame(self) -> pd.DataFrame:
        """One row per fold; see `efold_frame`. Intervals end where the score cannot be."""
        frame = efold_frame(self.moments, self.stopped_at)
        least, most = self.metric_range
        # Means outside of the metric's range are on another scale, such as percent, whose ends are
        # not known.
        if frame["mean"].between(least, most).all():
            frame["low"] = frame["low"].clip(lower=least)
            frame["high"] = frame["high"].clip(upper=most)
        return frame

    def after(self, n: int) -> FoldHistory:
        """What was seen after n folds: nobody knew then of a stop that came later."""
        stopped_at = self.stopped_at
        if stopped_at is not None and n < stopped_at:
            stopped_at = None
        return replace(self, moments=self.moments[:n], stopped_at=stopped_at)

    @property
    def early_stop(self) -> int | None:
        """The stop, if it is before the last fold."""
        if self.stopped_at == self.k:
            return None
        return self.stopped_at

    @property
    def has_all_folds(self) -> bool:
        """Whether the mean of all k folds is known."""
        return len(self.moments) == self.k

    @property
    def interval_kind(self) -> IntervalKind:
        """What the newest interval is of; before the first, what intervals usually are of."""
        for moment in reversed(self.moments):
            if moment.interval is not None:
                return moment.interval.kind
        return IntervalKind.MEAN

    def later_folds_words(self, stop: int) -> str:
        """What becomes of the folds after the stop: '6 folds saved', '6 folds run to check'."""
        folds = counted(self.k - stop, "fold")
        if self.checks_stop or len(self.moments) > stop:
            return f"{folds} run to check"
        return f"{folds} saved"


def history_of_run(run: RunRecord) -> FoldHistory:
    """The folds that a run has."""
    return FoldHistory(
        moments=run.moments,
        k=run.k,
        metric=metric_label(run.spec),
        stopped_at=run.stopped_at,
        confidence=run.spec.confidence,
        title=run_title(run),
        checks_stop=run.checked,
        metric_range=metric_of(run.spec).range,
    )


def history_of_replay(spec: RunSpec, replayed_run: Replay, title: str) -> FoldHistory:
    """The folds of a run as they are played again.

    Args:
        spec: The spec of the run, with the rule that decides.
        replayed_run: The folds in the order in which they are played.
        title: The title of the run.
    """
    return FoldHistory(
        moments=replayed_run.moments,
        k=replayed_run.k,
        metric=metric_label(spec),
        stopped_at=replayed_run.stopped_at,
        confidence=spec.confidence,
        title=title,
        metric_range=metric_of(spec).range,
    )


def score_range(frame: pd.DataFrame) -> Span:
    """Range of the score axis, made so that the axis does not jump while folds arrive.

    One fold alone gives a provisional range of 10 % around it. The second fold, the first with an
    interval and nearly always the widest, sets the range. Later folds leave it alone unless they
    would not fit: then it grows by half. It is the same for a live run and for one read later,
    because row n depends on rows 1 .. n only.
    """
    if frame.empty:
        return 0.0, 1.0
    # The axis reaches equally far to each side of its centre.
    if len(frame) == 1:
        centre = float(frame["score"].iloc[0])
        reach = abs(centre) * 0.1 or 0.01
        return centre - reach, centre + reach
    after_two_folds = frame.iloc[1]
    centre = float(after_two_folds["mean"])
    # The axis reaches a little further than the interval. Where that has no width, it reaches 5 %
    # of the mean, or 0.01 where the mean is 0.
    reach = float(after_two_folds["width"]) * 0.58 or abs(centre) * 0.05 or 0.01
    distances = frame[["score", "low", "high"]].sub(centre).abs().to_numpy()
    farthest = float(np.nanmax(distances))
    # The axis grows by half at a time, so that it stands still after most folds.
    while farthest > reach:
        reach *= 1.5
    return centre - reach, centre + reach


def alt_text(history: FoldHistory) -> str:
    """One sentence with the numbers of figure 1, for those who do not see it."""
    k = history.k
    subject = ""
    if history.title:
        subject = f"{history.title}: "
    if not history.moments:
        return f"{subject}no fold of {k} is finished yet."
    newest = history.moments[-1]
    last_used = newest
    if history.stopped_at is not None:
        last_used = history.moments[: history.stopped_at][-1]
    text = (
        f"{subject}after {last_used.n} of {k} folds the mean {history.metric} is "
        f"{score_text(last_used.mean)}"
    )
    interval = last_used.interval
    if interval is not None:
        row = history.frame().iloc[last_used.n - 1]
        ends = f"{score_text(row['low'])} to {score_text(row['high'])}"
        width = f"{score_text(interval.width)} wide"
        is_cut = row["low"] > interval.low or row["high"] < interval.high
        if is_cut:
            width += " before it was cut at what the score can be"
        text += f", confidence interval {ends} ({width})"
    if history.early_stop is not None:
        text += f"; the rule stopped here, {history.later_folds_words(history.early_stop)}"
        if history.has_all_folds:
            text += f"; the mean of all {k} folds is {score_text(newest.mean)}"
    return f"{text}."
