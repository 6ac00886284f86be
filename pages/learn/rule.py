"""Chapter 6: the rule, fold by fold, on one recorded run; alpha moves in the browser."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from ecv_core.figures.palette import Steps
from ecv_core.figures.threshold import threshold_figure
from ecv_core.figures.words import alpha_text
from ecv_core.records.frames import with_columns
from ecv_core.records.run import Moment, RunRecord
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import PAPERS_RULE, EFold, axis_of, moments
from ecv_core.stopping.efold import least_alpha
from ecv_core.stopping.interval import difference_percent
from pages.learn.material.recorded_runs import CONFIDENCE, replayed, stops_at
from pages.learn.parts import Row, guide, guide_note
from pages.shared.charts.plot import plot
from pages.shared.widgets.sliders import USUAL_ALPHA, alpha_slider, numbers

SLIDER, KEY = "learn-alpha", "lesson_alpha"
ALPHAS = list(axis_of(PAPERS_RULE).steps)
_HEIGHT = 390
_LABELS = [
    ("Interval width", "c_n"),
    ("x its last change", "|c_(n-1) - c_n|"),
    ("= product", "c_n x |c_(n-1) - c_n|"),
    ("against alpha", "The line; it has the unit of the score squared"),
]


def show() -> None:
    """The slider, the rule in numbers, the falling points."""
    run, scores, _ = guide()
    played = replayed(scores, range(len(scores)))
    frame = products_frame(played)
    stops = [int(stop) for stop in stops_at(played, np.array(ALPHAS))]
    texts = [alpha_text(alpha) for alpha in ALPHAS]
    alpha_slider(ALPHAS, USUAL_ALPHA, key=KEY, name=SLIDER)
    values, notes, sentences = _numbers(played, frame, stops, texts)
    numbers(SLIDER, key="learn-rule-numbers-said", sentences=sentences)
    plot(
        lambda dark: [
            threshold_figure(
                moments(EFold(alpha=alpha), run.folds_in_order, CONFIDENCE),
                spec_of(run, alpha),
                dark=dark,
                height=_HEIGHT,
                span=frame["product"].dropna().tolist(),
            )
            for alpha in ALPHAS
        ],
        version=(run.run_id, *scores.tolist()),
        key="learn-products",
        name="the rule fold by fold",
        alt="Interval width times its last change after each fold, against the line alpha.",
        slider=SLIDER,
        steps=lambda: Steps(
            variants=range(len(ALPHAS)), alts=sentences, notes=[f"alpha {text}" for text in texts]
        ),
    )
    numbers(SLIDER, key="learn-rule-numbers-counted", labels=_LABELS, values=values, notes=notes)
    st.caption(
        f"{guide_note(run)} The rule: stop after fold n if c_n x |c_(n-1) - c_n| is at most alpha; "
        "c_n is the interval's width. Fold 3 is the first that can stop."
    )


def spec_of(run: RunRecord, alpha: float) -> RunSpec:
    """Of a telling of this run by the paper's rule."""
    return replace(run.spec, rule=PAPERS_RULE, rule_params=(("alpha", alpha),))


_COLUMNS = {
    "n": "folds seen, 1 .. k",
    "before": "c_(n-1), the interval width before this fold; missing below n = 3",
    "width": "c_n; missing below n = 2",
    "product": "c_n * |c_(n-1) - c_n|, the least alpha that stops here; missing below n = 3",
}


@with_columns(_COLUMNS)
def products_frame(played: Sequence[Moment]) -> pd.DataFrame:
    """Width, its last change and their product after each fold."""
    widths = [one.interval.width if one.interval else math.nan for one in played]
    rows = []
    for n, width in enumerate(widths, start=1):
        before = widths[n - 2] if n >= 3 else math.nan
        rows.append((n, before, width, least_alpha(before, width)))
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def _numbers(played: list[Moment], frame: pd.DataFrame, stops: list[int], texts: list[str]) -> Row:
    k, whole = len(played), played[-1].mean
    values, notes, sentences = [], [], []
    for alpha, text, stop in zip(ALPHAS, texts, stops, strict=True):
        row = frame.iloc[stop - 1]
        fires = row["product"] <= alpha
        values.append(
            [
                f"{row['width']:.4f}",
                f"{abs(row['before'] - row['width']):.4f}",
                alpha_text(float(f"{row['product']:.1e}")),
                text,
            ]
        )
        notes.append(
            [
                f"after fold {stop}",
                f"from {row['before']:.4f}",
                "is at most alpha" if fires else "is still above alpha",
                "stop" if fires else "go on",
            ]
        )
        if fires and stop < k:
            off = difference_percent(played[stop - 1].mean, whole)
            sentences.append(
                f"With alpha {text} the rule stops after fold {stop} and saves {k - stop} of {k} "
                f"folds. Its mean differs by {off:.1f} % from the mean of all {k}."
            )
        else:
            sentences.append(f"With alpha {text} the rule needs all {k} folds: nothing is saved.")
    return values, notes, sentences
