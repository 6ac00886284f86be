"""Published results beside runs of ours, and what settings do to one method."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from operator import attrgetter

import pandas as pd
import streamlit as st

from ecv_core.figures.words import algorithm_title, counted, is_or_are
from ecv_core.models import computed_here
from ecv_core.models.bayesian import BAYESIAN
from ecv_core.papers.published import (
    NINETY_TEN,
    Entry,
    Published,
    entry_of,
    published,
    recorded,
    recorded_entries,
    rmse_of_set_ups,
)
from ecv_core.papers.rating_figures import (
    board_figure,
    board_frame,
    curves_figure,
    dimension_frame,
    dimension_of,
    steps_frame,
)
from ecv_core.records.parameters import score_text
from ecv_core.store.listing import ListedRun
from pages.shared.charts.plot import plot
from pages.shared.live.state import run_list, store
from pages.shared.widgets.choices import switch

_ORDER = ("ml-1m", "ml-100k", "ml-10m", "netflix")
_NEGLIGIBLE = 0.0005
"""RMSE that differ by less are no difference worth a word: papers give three digits."""


def choose_dataset() -> str:
    """The picked dataset, of those with published numbers."""
    titles = {name: published(name).title for name in _ORDER}
    return switch("Dataset", _ORDER, "baselines_dataset", format_func=titles.__getitem__)


def entries_of(dataset: str) -> list[Entry]:
    """Published ones, recorded ones, and the user's newest run of each algorithm."""
    entries = [*published(dataset).entries, *recorded_entries(dataset)]
    algorithms = set()
    for row in run_list().rows():  # runs are listed newest first
        if _is_rating_run(row, dataset) and row.spec.algorithm not in algorithms:
            algorithms.add(row.spec.algorithm)
            entries.append(entry_of(store().run(row.run_id), runner="yours"))
    return entries


def board_title(entries: Sequence[Entry]) -> str:
    """The heading of the board."""
    if _entries_by(("here", "yours"), entries):
        return "Published, and run here"
    return "Published"


def _is_rating_run(row: ListedRun, dataset: str) -> bool:
    """Whether it was computed here, on this dataset, and is scored by RMSE."""
    spec = row.spec
    if spec.dataset != dataset or spec.metric != "rmse":
        return False
    return bool(row.scores) and computed_here(spec)


def show_answer(dataset: str, entries: Sequence[Entry]) -> None:
    """The whole message, in one sentence with its numbers."""
    benchmark = published(dataset)
    if dataset == "netflix":
        _show_netflix_answer(benchmark)
        return
    # Ours are recorded with this project, or were run again by Rendle et al.; the others are what
    # the inventors of a method reported, or the authors of other papers.
    our_entries = _entries_by(("here", "rerun"), entries)
    published_entries = _entries_by(("inventors", "others"), benchmark.entries)
    if not our_entries:
        st.markdown(f"No run of ours is recorded on {benchmark.title}; what is published is below.")
        return
    our_best = min(our_entries, key=attrgetter("rmse"))
    published_best = min(published_entries, key=attrgetter("rmse"))
    worse_results = 0
    for entry in published_entries:
        if entry.rmse > our_best.rmse + _NEGLIGIBLE:
            worse_results += 1
    folds = ""
    reservation = ""
    runner_words = "run again by the paper's authors"
    if our_best.runner == "here":
        folds = f" ({counted(our_best.folds, 'fold')} of 10)"
        reservation = _reservation(our_best, published_entries)
        runner_words = "run here"
    position_words = f"ahead of **{worse_results} of {len(published_entries)}** published results"
    headline = f"## {our_best.method}: RMSE {score_text(our_best.rmse)}{folds}"
    st.markdown(
        f"{headline}\nOn {benchmark.title} this well-known method, {runner_words}, is "
        f"{position_words}; the best of those is {published_best.method} with "
        f"{score_text(published_best.rmse)}."
        f"{reservation}"
    )
    if reservation:
        st.caption(_protocol_note(published_entries))


def _entries_by(authors: Sequence[str], entries: Sequence[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.runner in authors]


def _show_netflix_answer(about: Published) -> None:
    """Nothing was run on it here, but teams ran one method with very different results."""
    best = about.entries[0]
    worst = about.entries[-1]
    st.markdown(
        f"## One method, RMSE {worst.rmse:.2f} to {score_text(best.rmse)}\nOn the {about.title} "
        "teams ran **the same** plain matrix factorization. It took years until its results were "
        f"as good as those of {best.method.removesuffix('.')}."
    )


def _reservation(our_best: Entry, published_entries: Sequence[Entry]) -> str:
    """What forbids to read a lead as proof, beside the claim; empty where nothing does.

    Args:
        our_best: A run of ours.
        published_entries: The published results that it is compared with.
    """
    on_our_split = [entry for entry in published_entries if entry.protocol == NINETY_TEN]
    if len(on_our_split) == len(published_entries):
        return ""
    single_fold_words = ""
    if our_best.folds == 1:
        single_fold_words = ", and ours is a single fold"
    confirmed = f"none of the {len(published_entries)} is"
    if on_our_split:
        verb = is_or_are(len(on_our_split))
        confirmed = f"only {len(on_our_split)} of the {len(published_entries)} {verb}"
    return (
        f" **This is no proof yet:** {confirmed} confirmed to be on our split "
        f"({NINETY_TEN}){single_fold_words}."
    )


def _protocol_note(published_entries: Sequence[Entry]) -> str:
    """On which splits published results are, of which some are on another one or not known."""
    unknown = 0
    other_protocols = []
    for entry in published_entries:
        if not entry.protocol:
            unknown += 1
        elif entry.protocol != NINETY_TEN:
            other_protocols.append(entry.protocol)
    parts = []
    if other_protocols:
        protocols = " or ".join(sorted(set(other_protocols)))
        count = len(other_protocols)
        parts.append(f"{count} of them {is_or_are(count)} on {protocols}")
    if unknown:
        parts.append(f"for {unknown} of them the split could not be confirmed")
    return (
        f"On which split: {'; '.join(parts)}. Numbers on different splits are not comparable: with "
        "less to learn from, or another part held out, the same method has another RMSE."
    )


def show_board(dataset: str, entries: Sequence[Entry]) -> None:
    """The figure with its table, and where its numbers come from."""
    benchmark = published(dataset)
    frame = board_frame(entries)
    cache_key = tuple((entry.method, entry.rmse, entry.runner) for entry in entries)
    plot(
        partial(board_figure, frame),
        cache_key=cache_key,
        key="baselines-board",
        alt=f"RMSE of {len(entries)} results on {benchmark.title}, best first, by who ran them.",
        name=f"baselines on {dataset}",
        table=frame.copy,
    )
    notes = f"Published: {benchmark.source}; split: {benchmark.protocol}."
    our_entries = [entry for entry in entries if not entry.published]
    if our_entries:
        notes += (
            " Ours: ten random folds, one held out at a time, and of each algorithm the run with "
            "the most folds (of your own, the newest). Bars are 95 % intervals: of the mean "
            "(Student's t), or, where only some folds have run, of the mean of all ten. The table "
            "has the command that repeats each run."
        )
    partial_runs = [entry for entry in our_entries if entry.folds < 10]
    if partial_runs:
        runs = counted(len(partial_runs), "run")
        notes += f" {runs} here have fewer than ten folds: see the table."
    if any(entry.defaults for entry in our_entries):
        notes += " Runs marked 'defaults, not examined' have settings that nobody has tuned."
    st.caption(notes)


def show_spread(dataset: str, entries: Sequence[Entry]) -> None:
    """How far settings of one method are apart, beside how far published methods are."""
    rmse_by_setting = rmse_of_set_ups(dataset)
    if len(rmse_by_setting) < 2:
        return
    best = min(rmse_by_setting)
    worst = max(rmse_by_setting)
    published_rmse = [entry.rmse for entry in entries if entry.published]
    published_spread = max(published_rmse) - min(published_rmse)
    st.header("Set-up matters more than the method", anchor=False)
    st.markdown(
        f"Plain matrix factorization by SGD, the **same method**, gets from **{best:.3f} to "
        f"{worst:.3f}** with {len(rmse_by_setting)} settings of learning rate, regularization and "
        f"dimension: {worst - best:.3f} apart. All {len(published_rmse)} published results are "
        f"{published_spread:.3f} apart."
    )


_BAYESIAN = [algorithm.id for algorithm in BAYESIAN]
_DIMENSION_OF_STEPS = {"ml-100k": 16}
"""Dataset -> dimension of the runs whose steps are shown, where it is not the usual one."""
_USUAL_DIMENSION_OF_STEPS = 32


def show_curves(dataset: str) -> None:
    """The three figures, each where runs for it are recorded."""
    runs = recorded(dataset)
    # The curve over sampling steps is drawn for one dimension, though runs of all are recorded.
    dimension = _DIMENSION_OF_STEPS.get(dataset, _USUAL_DIMENSION_OF_STEPS)
    runs_of_dimension = []
    for run in runs:
        if run.spec.algorithm in _BAYESIAN and dimension_of(run) == dimension:
            runs_of_dimension.append(run)
    # 3, 4 and 5 are the numbers of the paper's figures.
    _draw_curve(
        dataset,
        3,
        "More dimensions",
        dimension_frame(runs, _BAYESIAN),
        "dimension",
        "Figure 3 of the paper: the RMSE of the Bayesian models as vectors get longer, "
        "after all sampling steps.",
    )
    _draw_curve(
        dataset,
        4,
        "More sampling steps",
        steps_frame(runs_of_dimension),
        "step",
        "Figure 4: one run gives the RMSE at every number of steps. Nothing was stopped by it.",
    )
    _draw_curve(
        dataset,
        5,
        "Gibbs sampling or SGD",
        dimension_frame(runs, ("bayesian-mf", "sgd-mf")),
        "dimension",
        "Figure 5: the same model, learnt by Gibbs sampling and by stochastic gradient "
        "descent with the paper's settings.",
    )


def _draw_curve(
    dataset: str, number: int, title: str, frame: pd.DataFrame, x_column: str, caption: str
) -> None:
    """RMSE against dimension or step; nothing where no algorithm has two points.

    Args:
        dataset: Its id.
        number: The number of the paper's figure.
        title: The heading.
        frame: Columns `algorithm`, `rmse`, and the column of the x axis.
        x_column: The column of the x axis: 'dimension' or 'step'.
        caption: What the figure shows.
    """
    if frame.empty or frame.groupby("algorithm")[x_column].nunique().max() == 1:
        return  # a single point is no curve
    st.header(title, anchor=False)
    frame = frame.assign(algorithm=frame["algorithm"].map(algorithm_title))
    highest = frame["rmse"].max()
    lowest = frame["rmse"].min()
    alt = f"{caption} RMSE from {highest:.3f} to {lowest:.3f}."
    plot(
        partial(curves_figure, frame, x_column=x_column),
        cache_key=(dataset, number, len(frame)),
        key=f"baselines-{number}",
        alt=alt,
        name=f"figure {number} on {dataset}",
        table=frame.copy,
    )
    st.caption(f"{caption} First of ten folds of {published(dataset).title}.")
