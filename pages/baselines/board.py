"""The board: published results beside runs of ours, and what it says in one sentence."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from ecv_core.analysis.baselines import (
    NINETY_TEN,
    Entry,
    entry_of,
    own_entries,
    passed,
    published,
    published_datasets,
    recorded,
)
from ecv_core.figures.baselines import board_figure, board_frame, height_of, progress_figure
from ecv_core.records.spec import Task
from ecv_core.store.listing import ListedRun
from pages.shared.charts.plot import plot
from pages.shared.live.state import KEPT, run_list, store
from pages.shared.widgets.words import counted, run_title

_ORDER = ("ml-1m", "ml-100k", "ml-10m", "netflix")
_HEIGHT = 460
_CLOSE = 0.0005
"""RMSE that differ by less are no difference worth a word: papers give three digits."""


def choose_dataset() -> str:
    """The picked dataset, of those with published numbers."""
    known = [name for name in _ORDER if name in published_datasets()]
    picked = st.segmented_control(
        "Dataset",
        known,
        default=known[0],
        required=True,
        format_func=lambda name: published(name).title,
        key="baselines_dataset",
        **KEPT,
    )
    return picked or known[0]


def entries_of(dataset: str) -> list[Entry]:
    """Published ones, recorded ones, and those of the user's runs that were put on the board."""
    entries = [*published(dataset).entries, *own_entries(dataset, recorded(dataset), by="here")]
    own = {row.run_id: row for row in run_list().rows() if _fits(row, dataset)}
    if own:
        chosen = st.multiselect(
            "Your runs on the board",
            list(own),
            format_func=lambda run_id: f"{run_title(own[run_id])} ({run_id})",
            key=f"baselines_runs_{dataset}",
            help="Runs of this dataset that predict ratings, from the page Run or a command.",
        )
        entries += [entry_of(store().run(run_id), by="yours") for run_id in chosen]
    return entries


def _fits(row: ListedRun, dataset: str) -> bool:
    spec = row.spec
    return bool(
        row.scores
        and spec.dataset == dataset
        and spec.task is Task.RATINGS
        and spec.metric == "rmse"
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
        height=height_of(frame),
        name=f"baselines on {dataset}",
        table=lambda: frame,
    )
    _by_year(dataset, entries)
    few = [one for one in ours if one.folds < 10]
    notes = [f"Published: {about.source}; split: {about.protocol}."]
    if ours:
        notes.append(
            "Ours: ten random folds, one held out at a time; bars are 95 % intervals, of the mean "
            "(Student's t), and where some folds ran, of where the mean of all ten is. The table "
            "has the command that repeats each."
        )
    if few:
        notes.append(f"{counted(len(few), 'run')} here have fewer than ten folds: see the table.")
    if any(one.defaults for one in ours):
        notes.append("'defaults, not examined' marks runs whose settings nobody has tuned.")
    st.caption(" ".join(notes))


_LINES = ("bias", "sgd-mf", "bayesian-mf", "bayesian-time-svd++-flipped")
"""Of the recorded runs those that are lines: more would hide the points."""


def _by_year(dataset: str, entries: Sequence[Entry]) -> None:
    """Published results by year, with ours across them; nothing where no year is known."""
    if not any(one.year for one in entries):
        return
    best: dict[str, Entry] = {}
    for one in entries:
        if one.by == "here" and (name := one.algorithm) in _LINES:
            best[name] = min(one, best.get(name, one), key=lambda entry: entry.rmse)
    lines = [*best.values(), *(one for one in entries if one.by == "yours")]
    frame = board_frame([*(one for one in entries if one.published), *lines])
    plot(
        lambda dark: progress_figure(frame, dark=dark, height=_HEIGHT),
        version=tuple((one.method, one.rmse) for one in [*entries, *lines]),
        key="baselines-years",
        alt=f"Published RMSE on {published(dataset).title} by year, with {len(lines)} runs of ours "
        "as lines across them.",
        height=_HEIGHT,
        name=f"progress on {dataset}",
        table=lambda: frame,
    )
