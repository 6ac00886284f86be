"""Chapter 8: what the rule would have spared in every recorded run."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from ecv_core.analysis.tradeoff.curves import (
    PAPER_COST_PERCENT,
    PAPER_DIFFERENCE_PERCENT,
    PAPER_STOP,
)
from ecv_core.energy.meter import SOURCES
from ecv_core.energy.parts import left_out_words, with_own_joules
from ecv_core.figures.lessons import savings_figure, savings_steps
from ecv_core.figures.words import alpha_text, in_order, watt_hours
from ecv_core.lessons.rounds import complete_runs
from ecv_core.lessons.stops import saved_frame
from ecv_core.records.errors import InputError
from ecv_core.records.run import Run
from pages.learn.rule import ALPHAS, KEY
from pages.shared.charts.energy_parts import energy_bar
from pages.shared.charts.plot import plot
from pages.shared.widgets.cite import PAPER_LINK
from pages.shared.widgets.sliders import USUAL_ALPHA, alpha_slider, numbers

SLIDER = "learn-savings"


def show() -> None:
    """The slider, the sums, a bar per dataset."""
    runs = complete_runs()
    content = tuple(run.run_id for run in runs)
    frame = _frame(content, runs)
    metered = frame[(frame["source"] != "none") & ~frame["other_work"]]
    if metered.empty:
        raise InputError(
            "the recorded runs come without energy, and this chapter is about it; record runs "
            "with a meter: python -m ecv_core study"
        )
    datasets = in_order(metered["dataset"].unique())
    texts = [alpha_text(alpha) for alpha in ALPHAS]
    alpha_slider(ALPHAS, USUAL_ALPHA, key=KEY, name=SLIDER)
    numbers(
        SLIDER,
        key="learn-saved-numbers-said",
        sentences=_sentences(frame, metered, len(runs), texts),
    )
    plot(
        lambda dark: savings_figure(datasets, dark=dark),
        version=content,
        key="learn-savings",
        name="energy saved",
        alt="Energy used and saved per dataset.",
        slider=SLIDER,
        steps=lambda: savings_steps(metered, datasets, ALPHAS, texts),
    )
    st.caption(f"{_source(metered, len(runs))} {_PAPER}")
    energy_bar((fold for run in with_own_joules(runs) for fold in run.folds), left_out_words(runs))


_PAPER = (
    f"{PAPER_LINK} report, over their 30 pairs: {PAPER_STOP} folds, {PAPER_COST_PERCENT} % of the "
    f"energy, a difference of {PAPER_DIFFERENCE_PERCENT} % to 10-fold."
)


@st.cache_data(show_spinner=False, max_entries=4)
def _frame(content: tuple[str, ...], _runs: list[Run]) -> pd.DataFrame:
    return saved_frame(_runs, ALPHAS)


def _source(metered: pd.DataFrame, runs: int) -> str:
    """Measured or estimated, and by what."""
    known = sorted(metered["source"].unique())
    how = ", ".join(SOURCES.get(source, source) for source in known)
    return (
        f"{runs} recorded runs; all their folds really ran, so what a stop would have saved is "
        f"known. Energy: {how}."
    )


def _sentences(
    frame: pd.DataFrame, metered: pd.DataFrame, runs: int, texts: list[str]
) -> list[str]:
    energy = metered.groupby("alpha")[["used_joules", "saved_joules"]].sum()
    timed = frame.dropna(subset="processor_seconds")
    columns = ["processor_seconds", "saved_processor_seconds"]
    processor = timed.groupby("alpha")[columns].sum()
    folds = frame.groupby("alpha").agg(
        used=("folds", "sum"), every=("k", "sum"), off=("difference_percent", "mean")
    )
    sentences = []
    told = energy.join(folds).join(processor).to_dict("records")
    for text, row in zip(texts, told, strict=True):
        every, saved = row["every"], row["saved_joules"]
        whole = row["used_joules"] + saved
        time = ""
        if len(timed):
            share = 100 * row["saved_processor_seconds"] / row["processor_seconds"]
            of = timed["alpha"].eq(timed["alpha"].iloc[0]).sum()
            time = f"{share:.0f} % of the processor time of {of} runs and "
        sentences.append(
            f"With alpha {text}, {every - row['used']:.0f} of {every:.0f} folds in {runs} runs "
            f"need not have run. All runs added up, that saves {time}{watt_hours(saved)} "
            f"of {watt_hours(whole)}, {100 * saved / whole:.0f} % of the energy, for a difference "
            f"to k-fold of {row['off']:.1f} % on average."
        )
    return sentences
