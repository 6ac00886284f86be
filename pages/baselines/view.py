"""Published results beside runs of ours, and what settings do to one method."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from ecv_core.figures.words import algorithm_title, counted
from ecv_core.models import computed_here
from ecv_core.models.bayesian import BAYESIAN
from ecv_core.papers.published import (
    NINETY_TEN,
    Entry,
    entry_of,
    passed,
    published,
    published_datasets,
    recorded,
    recorded_entries,
    set_ups,
)
from ecv_core.papers.rating_figures import (
    board_figure,
    board_frame,
    curves_figure,
    dimension_frame,
    steps_frame,
)
from ecv_core.records.run import RunRecord
from ecv_core.store.listing import ListedRun
from pages.shared.charts.plot import plot
from pages.shared.live.state import run_list, store
from pages.shared.widgets.choices import switch

_ORDER = ("ml-1m", "ml-100k", "ml-10m", "netflix")
_CLOSE = 0.0005
"""RMSE that differ by less are no difference worth a word: papers give three digits."""


def choose_dataset() -> str:
    """The picked dataset, of those with published numbers."""
    known = [name for name in _ORDER if name in published_datasets()]
    return switch(
        "Dataset", known, "baselines_dataset", format_func=lambda name: published(name).title
    )


def entries_of(dataset: str) -> list[Entry]:
    """Published ones, recorded ones, and the user's newest run of each algorithm."""
    entries = [*published(dataset).entries, *recorded_entries(dataset)]
    newest_first = [row for row in run_list().rows() if _fits(row, dataset)]
    own = {row.spec.algorithm: row.run_id for row in reversed(newest_first)}
    entries += [entry_of(store().run(run_id), by="yours") for run_id in own.values()]
    return entries


def _fits(row: ListedRun, dataset: str) -> bool:
    spec = row.spec
    return bool(
        row.scores and computed_here(spec) and spec.dataset == dataset and spec.metric == "rmse"
    )


def answer(dataset: str, entries: Sequence[Entry]) -> None:
    """The whole message, in one sentence with its numbers."""
    about = published(dataset)
    careful = [one for one in entries if one.by in ("here", "rerun")]
    others = [one for one in about.entries if one.by in ("inventors", "others")]
    if dataset == "netflix":
        low, high = about.entries[0], about.entries[-1]
        st.markdown(
            f"### One method, RMSE {high.rmse:.2f} to {low.rmse:.4f}\nOn the {about.title} teams "
            "ran **the same** plain matrix factorization. It took years until its results were as "
            "good as "
            f"those of {low.method}."
        )
        return
    if not careful:
        st.markdown(f"No run of ours is recorded on {about.title}; what is published is below.")
        return
    best = min(careful, key=lambda one: one.rmse)
    behind = passed(best.rmse + _CLOSE, others)
    first = min(others, key=lambda one: one.rmse)
    who = "run again by the paper's authors" if best.by == "rerun" else "run here"
    st.markdown(
        f"### {best.method}: RMSE {best.rmse:.4f}{_of_folds(best)}\nOn {about.title} this "
        f"well-known method, {who}, is ahead of **{len(behind)} of {len(others)}** published "
        f"results; the best of those is {first.method} with {first.rmse:.4f}."
        f"{_reservation(best, others)}"
    )
    if best.by == "here" and any(one.protocol != NINETY_TEN for one in others):
        st.caption(_protocol_note(others))


def _of_folds(entry: Entry) -> str:
    """How much of a cross-validation stands behind a result of ours."""
    return f" ({counted(entry.folds, 'fold')} of 10)" if entry.by == "here" else ""


def _reservation(best: Entry, others: Sequence[Entry]) -> str:
    """What forbids to read the lead as proof, as far as it does: it belongs beside the claim."""
    same = sum(one.protocol == NINETY_TEN for one in others)
    if best.by != "here" or same == len(others):
        return ""
    return (
        f" **This is no proof yet:** only {same} of the {len(others)} "
        f"{'is' if same == 1 else 'are'} confirmed to be on our split ({NINETY_TEN})"
        f"{', and ours is a single fold' if best.folds == 1 else ''}."
    )


def _protocol_note(others: Sequence[Entry]) -> str:
    unknown = sum(not one.protocol for one in others)
    other = sorted({one.protocol for one in others} - {"", NINETY_TEN})
    parts = []
    if other:
        number = sum(one.protocol in other for one in others)
        parts.append(f"{number} {'is' if number == 1 else 'are'} on {' or '.join(other)}")
    if unknown:
        parts.append(f"of {unknown} we could not confirm the split")
    return (
        f"Protocols: {'; '.join(parts)}. A number on another split is no fair comparison: with "
        "less to learn from, or another part held out, the same method gets another RMSE."
    )


def board(dataset: str, entries: Sequence[Entry]) -> None:
    """The figure with its table."""
    about = published(dataset)
    frame = board_frame(entries)
    ours = [one for one in entries if not one.published]
    version = tuple((one.method, one.rmse, one.by) for one in entries)
    plot(
        lambda dark: board_figure(frame, dark=dark),
        version=version,
        key="baselines-board",
        alt=f"RMSE of {len(entries)} results on {about.title}, best first, by who ran them.",
        name=f"baselines on {dataset}",
        table=lambda: frame,
    )
    few = [one for one in ours if one.folds < 10]
    notes = [f"Published: {about.source}; split: {about.protocol}."]
    if ours:
        notes.append(
            "Ours: ten random folds, one held out at a time; bars are 95 % intervals, of the mean "
            "(Student's t), and where some folds ran, of where the mean of all ten is. The table "
            "has the command that repeats each. Here are the runs of each algorithm with the most "
            "folds, and of yours the newest."
        )
    if few:
        notes.append(f"{counted(len(few), 'run')} here have fewer than ten folds: see the table.")
    if any(one.defaults for one in ours):
        notes.append("'defaults, not examined' marks runs whose settings nobody has tuned.")
    st.caption(" ".join(notes))


def spread(dataset: str, entries: Sequence[Entry]) -> None:
    """How far settings of one method are apart, beside how far published methods are."""
    found = set_ups(dataset)
    reported = [one for one in entries if one.published]
    if len(found) < 2:
        return
    st.header("Set-up matters more than the method", anchor=False)
    low, high = found[0], found[-1]
    newest = [one.rmse for one in reported]
    inside = max(newest) - min(newest)
    st.markdown(
        f"Plain matrix factorization by SGD, the **same method**, gets from **{low:.3f} to "
        f"{high:.3f}** with {len(found)} settings of learning rate, regularization and dimension: "
        f"{high - low:.3f} apart. All {len(newest)} published results are {inside:.3f} apart."
    )


_BAYESIAN = [one.id for one in BAYESIAN]
_DIMENSION = {"ml-100k": 16}
"""Of the steps shown; elsewhere 32."""


def curves(dataset: str) -> None:
    """The three figures, each where runs for it are recorded."""
    runs = recorded(dataset)
    figures = (
        (
            "More dimensions",
            "dimension",
            dimension_frame(runs, _BAYESIAN),
            "Figure 3 of the paper: the RMSE of the Bayesian models as vectors get longer, after "
            "all sampling steps.",
        ),
        (
            "More sampling steps",
            "step",
            steps_frame([run for run in runs if run.spec.algorithm in _BAYESIAN and _usual(run)]),
            "Figure 4: one run gives the RMSE at every number of steps. Nothing was stopped by it.",
        ),
        (
            "Gibbs sampling or SGD",
            "dimension",
            dimension_frame(runs, ("bayesian-mf", "sgd-mf")),
            "Figure 5: the same model, learnt by Gibbs sampling and by stochastic gradient descent "
            "with the paper's settings.",
        ),
    )
    for number, (title, across, frame, words) in enumerate(figures, start=3):
        if frame.groupby("algorithm")[across].nunique().max() in (0, 1) or frame.empty:
            continue
        _curve(dataset, number, title, across, frame, words)


def _curve(
    dataset: str, number: int, title: str, across: str, frame: pd.DataFrame, words: str
) -> None:
    st.header(title, anchor=False)
    frame = frame.assign(algorithm=frame["algorithm"].map(algorithm_title))
    plot(
        lambda dark: curves_figure(frame, across=across, dark=dark),
        version=(dataset, number, len(frame)),
        key=f"baselines-{number}",
        alt=f"{words} RMSE from {frame['rmse'].max():.3f} to {frame['rmse'].min():.3f}.",
        name=f"figure {number} on {dataset}",
        table=lambda: frame,
    )
    st.caption(f"{words} First of ten folds of {published(dataset).title}.")


def _usual(run: RunRecord) -> bool:
    return dict(run.spec.params)["dimension"] == _DIMENSION.get(run.spec.dataset, 32)
