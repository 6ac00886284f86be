"""The headline numbers, figures 2, 3 and 4, which follow the alpha slider, and every score."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import factorial, sqrt

import numpy as np
import pandas as pd
import streamlit as st

from ecv_core.analysis.tradeoff.curves import (
    PAPER_COST_PERCENT,
    PAPER_DIFFERENCE_PERCENT,
    PAPER_STOP,
)
from ecv_core.energy.meter import SOURCES
from ecv_core.energy.parts import left_out_words, with_own_joules
from ecv_core.figures.heatmap import (
    EARLY,
    Marks,
    heatmap_figure,
    heatmap_steps,
    ranks_figure,
    ranks_steps,
    score_words,
    scores_figure,
    scores_words,
)
from ecv_core.figures.scales import CellScale, difference_scale, stop_scale
from ecv_core.figures.study_summary import Summary
from ecv_core.figures.words import counted
from ecv_core.records.run import Run
from pages.shared.charts.energy_parts import energy_bar
from pages.shared.charts.plot import plot
from pages.shared.widgets.cite import PAPER_LINK
from pages.shared.widgets.glossary import glossary_link
from pages.shared.widgets.sliders import SLIDER, numbers, usual_alpha

_WIDE = "study-figures"
_BESIDE = 10
"""Algorithms up to which two heatmaps are wide enough side by side on a laptop."""
_COLUMN, _RANK_COLUMN = 42, 62
"""Pixels of a column that can still be read."""


def headline(done: Summary, papers: Sequence[int]) -> None:
    """Difference, folds and energy beside the paper's, as a sentence and four numbers.

    Args:
        done: the study.
        papers: numbers of the paper's own cells, where there are others too.
    """
    cells, k = len(done.tradeoff.systems), done.k
    over = "the one run" if cells == 1 else f"{cells} runs"
    labels = [
        ("Difference", f"Expected difference to the k-fold mean, averaged over {over}."),
        ("Folds used", f"Mean stop over all orders of the folds, averaged over {over}."),
        ("Energy used", f"Of all k folds, averaged over {over}."),
        (
            "Share of total energy",
            "Of the sum of joules of the runs beside which the machine did nothing else: large "
            "data and slow models dominate.",
        ),
    ]
    values, notes, sentences = [], [], []
    columns = ("difference_percent", "mean_stop", "energy_percent", "folds_percent")
    rows = done.headline[[*columns, "joules_percent"]].to_numpy(dtype=np.float64).tolist()
    of_runs = joules_words(done.headline)
    alone = _alone(done, papers)
    for (off, stop, energy, by_folds, bill), text, own in zip(rows, done.texts, alone, strict=True):
        billed = bill == bill  # NaN where some cell has no energy
        values.append(
            [
                f"{off:.2f} %",
                f"{stop:.2f}",
                f"{energy:.1f} %",
                f"{bill:.1f} %" if billed else "-",
            ]
        )
        by_count = f"by fold count {by_folds:.1f} %"
        notes.append(
            [
                f"paper {PAPER_DIFFERENCE_PERCENT} %",
                f"of {k} · paper {PAPER_STOP}",
                f"{by_count} · paper {PAPER_COST_PERCENT} %",
                of_runs,
            ]
        )
        sentences.append(
            f"With alpha {text}, e-fold uses {stop:.2f} of {k} folds and "
            f"{energy:.0f} % of the energy on average over {over}, and ends "
            f"{off:.2f} % from the {k}-fold mean. {own}The paper reports "
            f"{PAPER_STOP} folds, {PAPER_COST_PERCENT} % and {PAPER_DIFFERENCE_PERCENT} %."
        )
    numbers(
        SLIDER,
        key="study-numbers",
        labels=labels,
        values=values,
        notes=notes,
        sentences=sentences,
    )
    st.caption(f"{_how_known(done)} The paper: {PAPER_LINK}.")


def _alone(done: Summary, papers: Sequence[int]) -> list[str]:
    """Per alpha what the paper's cells say without the others; empty where none are to tell."""
    if not papers:
        return [""] * len(done.alphas)
    rows = done.headline_of(papers)[["mean_stop", "energy_percent", "difference_percent"]]
    return [
        f"Over the {len(papers)} of the paper's algorithms it is {stop:.2f} folds, {energy:.0f} % "
        f"and {off:.2f} %. "
        for stop, energy, off in rows.to_numpy(dtype=np.float64).tolist()
    ]


def joules_words(frame: pd.DataFrame) -> str:
    """Of how many runs a share of joules is; `frame` as `headline_frame` makes it."""
    runs = int(frame["joules_runs"].iloc[0])
    return f"of the joules of {counted(runs, 'run')}" if runs else "some runs have no energy"


def usual_of(done: Summary) -> float:
    """The alpha to start with."""
    return usual_alpha(done.alphas, done.tradeoff.average)


def figures(done: Summary, scores: pd.DataFrame) -> None:
    """Figures 2 and 3, side by side where both can be read without scrolling; figure 4 below.

    Args:
        done: the study.
        scores: of all its runs, and of those that ended at their stop.
    """
    early = early_of(scores)
    seen = (early["dataset"].isin(done.cells["dataset"])) & (
        early["algorithm"].isin(done.cells["algorithm"])
    )
    columns = done.cells["algorithm"].nunique()
    beside = columns <= _BESIDE
    note = f" {EARLY_WORDS}" if seen.any() and not beside else ""
    with st.container(key=_WIDE):
        left, right = st.columns(2, gap="medium") if beside else (st.container(), st.container())
        with left:
            st.header(f"Difference to {done.k}-fold, in percent", anchor=False)
            st.caption(
                f"Figure 2 of the paper: the {glossary_link('difference', 'difference')} to the "
                f"{glossary_link('k-fold-mean', 'k-fold mean')}. Smaller is better. "
                f"A click on a cell opens its run.{note}"
            )
            _heatmap(
                done,
                "difference_percent",
                difference_scale(done.cells),
                scores,
                what="difference",
                hover="difference %{text} %",
            )
        with right:
            st.header("Folds used", anchor=False)
            st.caption(
                f"Figure 3 of the paper: the mean {glossary_link('stop')}. Fewer folds, less "
                f"{glossary_link('energy', 'energy')}. A click on a cell opens its run."
            )
            _heatmap(
                done,
                "mean_stop",
                stop_scale(done.k),
                scores,
                what="stop",
                hover=f"stops after %{{text}} of {done.k} folds",
            )
    if seen.any() and beside:  # below both, so that their rows stay level
        st.caption(EARLY_WORDS)
    _ranks(done, scores)


def _heatmap(
    done: Summary, value: str, scale: CellScale, scores: pd.DataFrame, *, what: str, hover: str
) -> None:
    titles = {"difference": "Difference to the k-fold mean in percent", "stop": "Mean stop"}
    plot(
        lambda dark: heatmap_figure(
            done.cells, value=value, scale=scale, hover=hover, marks=marks(scores), dark=dark
        ),
        version=(done.version, *scores["run_id"]),
        key=f"study-{what}",
        alt=f"{titles[what]}, datasets by algorithms.",
        slider=SLIDER,
        steps=lambda: heatmap_steps(
            done.cells,
            done.alphas,
            done.texts,
            value=value,
            label=partial(_number, scale.digits),
            title=titles[what],
        ),
        name=f"study {what}",
        opens=addresses(scores),
        table=lambda: done.cells,
        least_width=NAMES + _COLUMN * done.cells["algorithm"].nunique(),
    )


def _ranks(done: Summary, scores: pd.DataFrame) -> None:
    st.header(f"Do the algorithms keep their ranks? e-fold (and {done.k}-fold)", anchor=False)
    if done.ranks.empty:
        st.caption("Figure 4 needs a dataset with at least two complete algorithms.")
        return
    orders = int(done.stability["orders"].max())
    known = f"all {orders:,} orders are counted"
    if orders < factorial(done.k):
        error = 50 / sqrt(orders)  # where half of the orders keep it; less everywhere else
        known = f"{orders:,} random orders per dataset, standard error at most {error:.1f} points"
    st.caption(
        f"Figure 4 of the paper: the mean rank by the scores at the stops and, in brackets, by all "
        f"{done.k} folds; on the right, in how many orders of the folds **all** algorithms rank as "
        f"under {done.k} folds, and in how many the winner does. All algorithms see the folds in "
        f"the same order, and each stops by its own scores ({known})."
    )
    plot(
        lambda dark: ranks_figure(done.ranks, done.stability, marks=marks(scores), dark=dark),
        version=(done.version, *scores["run_id"]),
        key="study-ranks",
        alt="Ranks of the algorithms per dataset, under e-CV and k-fold.",
        slider=SLIDER,
        steps=lambda: ranks_steps(done.ranks, done.stability, done.alphas, done.texts),
        name="study ranks",
        opens=addresses(scores),
        table=lambda: done.ranks.merge(done.stability, on=["alpha", "dataset"]),
        least_width=NAMES + _RANK_COLUMN * (done.cells["algorithm"].nunique() + 2),
    )


def _number(digits: int, value: float) -> str:
    """'0.81', '12.3': never more than four signs."""
    return f"{value:.{digits if value < 9.95 else min(digits, 1)}f}"


def _how_known(done: Summary) -> str:
    sources = sorted({SOURCES.get(one.source, one.source) for one in done.tradeoff.systems})
    return (
        "Exact over every order of the folds, none of it sampled; each run counts the same. "
        f"Energy: {', '.join(sources)}."
    )


def made_up(runs: Sequence[Run]) -> None:
    """What the energy of these runs is made up of, and how many are in no sum."""
    own = with_own_joules(runs)
    energy_bar((fold for run in own for fold in run.folds), left_out_words(runs))


EARLY_WORDS = (
    f"{EARLY} ran only until its own rule said stop, whatever alpha is picked above: its score is "
    "of those folds, and it is in no average, since only all folds tell how far off a stop is. "
    "Hover, or tap it, for its rule and folds."
)
NAMES = 215
"""Pixels of the datasets' names."""
_SCORE_COLUMN = 56
"""Pixels of a column that can still be read."""


def scores_section(scores: pd.DataFrame) -> None:
    """Which algorithm is best where: every score, those that ended at their stop too."""
    st.header("Which algorithm is best where?", anchor=False)
    if words := scores_words(scores):
        st.markdown(words)
    why = f" {EARLY_WORDS}" if len(early_of(scores)) else ""
    st.caption(
        "The mean over all folds, whatever alpha; the paler, the nearer to the dataset's best, "
        f"which is bold.{why}"
    )
    plot(
        lambda dark: scores_figure(scores, dark=dark),
        version=tuple(scores["run_id"]),
        key="study-scores",
        alt=f"Scores, datasets by algorithms. {scores_words(scores)}".strip(),
        name="study scores",
        opens=addresses(scores),
        table=lambda: scores,
        least_width=NAMES + _SCORE_COLUMN * scores["algorithm"].nunique(),
    )


def early_of(scores: pd.DataFrame) -> pd.DataFrame:
    """The rows whose k-fold mean is not known."""
    return scores[scores["folds"] < scores["k"]]


def marks(scores: pd.DataFrame) -> Marks:
    """Of the cells whose k-fold mean is not known."""
    return {
        (str(row["dataset"]), str(row["algorithm"])): (EARLY, score_words(row))
        for row in early_of(scores).to_dict("records")
    }


def addresses(scores: pd.DataFrame) -> dict[str, str]:
    """Where a click on a cell leads: its run, fold by fold."""
    return {
        f"{algorithm}|{dataset}": f"replay?run={run}"
        for algorithm, dataset, run in scores[["algorithm", "dataset", "run_id"]].to_numpy()
    }
