"""The headline, figures 2, 3 and 4 and the rules, which follow the alpha slider; every score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import factorial, sqrt
from typing import Literal

import numpy as np
import pandas as pd
import streamlit as st

from ecv_core.analysis.tradeoff.curves import (
    PAPER_COST_PERCENT,
    PAPER_DIFFERENCE_PERCENT,
    PAPER_STOP,
)
from ecv_core.analysis.tradeoff.rules_compared import CELLS, JOULES
from ecv_core.figures.heatmap import (
    EARLY_STOP_MARK,
    heatmap_figure,
    heatmap_steps,
    ranks_figure,
    ranks_steps,
    scores_figure,
    scores_words,
)
from ecv_core.figures.palette import CellScale, difference_scale, stop_scale
from ecv_core.figures.study_summary import Summary
from ecv_core.figures.words import alpha_text, counted
from ecv_core.jobs.plans.study import of_the_paper
from ecv_core.records.parameters import percent_text
from ecv_core.records.run import RunRecord
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import PAPERS_RULE, RULES
from pages.shared.base.glossary import glossary_link
from pages.shared.charts.cite import PAPER_LINK
from pages.shared.charts.energy_parts import draw_runs_energy_bar, energy_sources_sentence
from pages.shared.charts.plot import plot
from pages.shared.live.state import escaped
from pages.shared.widgets.sliders import (
    SLIDER,
    draw_alpha_slider,
    show_numbers_of_slider,
    usual_alpha,
)
from pages.shared.widgets.tables import draw_chart_table

_NAMES_WIDTH = 215
"""Pixels of the datasets' names."""
_COLUMN_WIDTH = 42
_RANK_COLUMN_WIDTH = 62
_SCORE_COLUMN_WIDTH = 56
"""Pixels of a column that can still be read."""
_PHONE_NAMES_WIDTH = 95
_PHONE_RANK_COLUMN_WIDTH = 40
"""On a phone, where names and ranks have several lines."""


def draw_slider(study: Summary, below: Callable[[float], None]) -> None:
    """The slider with the alphas of a study.

    Args:
        study: The study.
        below: Draws what is to be there at an alpha, and again when the slider moves.
    """
    usual = usual_alpha(study.alphas, study.tradeoff.average)
    draw_alpha_slider(study.alphas, usual, below)


Cost = Literal["energy", "time"]
_UNITS: dict[Cost, str] = {"energy": "joules", "time": "seconds"}


def show_headline(study: Summary, specs: Sequence[RunSpec] = (), *, cost: Cost = "energy") -> None:
    """The headline at the alpha of the slider; arguments as of `headline_sentences`."""
    show_numbers_of_slider(
        SLIDER, key="study-numbers", sentences=headline_sentences(study, specs, cost=cost)
    )


def headline_sentences(
    study: Summary, specs: Sequence[RunSpec], *, cost: Cost = "energy"
) -> list[str]:
    """Folds, cost and difference, in a sentence for each alpha of the slider.

    Args:
        study: The study.
        specs: Those of its runs, in its order; none where the paper has no such runs.
        cost: What its runs are known to have taken.
    """
    run_count = len(study.tradeoff.systems)
    runs_of_paper = [number for number, spec in enumerate(specs) if of_the_paper(spec)]
    headline_of_paper = None  # or a frame with a row for each alpha, as `study.headline` is
    # If all runs are of the paper's algorithms, a sentence about those would repeat the one about
    # all.
    if 0 < len(runs_of_paper) < run_count:
        headline_of_paper = study.headline_of(runs_of_paper)
    sentences = []
    for step, alpha in enumerate(study.alpha_texts):
        row = study.headline.iloc[step]
        sentence = _headline_sentence(row, alpha, k=study.k, run_count=run_count, cost=cost)
        if headline_of_paper is not None:
            sentence += _paper_sentence(headline_of_paper.iloc[step], len(runs_of_paper))
        sentences.append(sentence + _sums_sentence(row, run_count, cost))
    return sentences


def _headline_sentence(row: pd.Series, alpha: str, *, k: int, run_count: int, cost: Cost) -> str:
    """How many folds and how much of the cost e-fold uses at an alpha, and how far off it ends.

    Args:
        row: The headline at this alpha.
        alpha: As it is written.
        k: Folds of each run.
        run_count: How many runs the study has.
        cost: What its percentages are of.
    """
    runs_words = f"{run_count} runs"
    if run_count == 1:
        runs_words = "the one run"
    return (
        f"With alpha {alpha}, e-fold uses {row['mean_stop']:.2f} of {k} folds and "
        f"{percent_text(row['energy_percent'] / 100, '.0f')} of the {cost} on average over "
        f"{runs_words} and every order of the folds, and ends "
        f"{percent_text(row['difference_percent'] / 100, '.2f')} from the {k}-fold mean."
    )


def _paper_sentence(row: pd.Series, run_count: int) -> str:
    """The same numbers over so many runs, those of the paper's algorithms."""
    return (
        f" Over the {counted(run_count, 'run')} of the paper's algorithms, these are "
        f"{row['mean_stop']:.2f} folds, {percent_text(row['energy_percent'] / 100, '.0f')} and "
        f"{percent_text(row['difference_percent'] / 100, '.2f')}."
    )


def _sums_sentence(row: pd.Series, run_count: int, cost: Cost) -> str:
    """The same of all runs added up, by processor time and by their cost; empty if not known.

    Args:
        row: The headline at one alpha, with the shares and of how many runs each is known.
        run_count: How many runs the study has.
        cost: What was recorded of each run.
    """
    parts = []
    # The columns of joules hold seconds in a study whose cost is time.
    for column, unit in (("processor", "processor time"), ("joules", _UNITS[cost])):
        percent = row[f"{column}_percent"]
        if np.isnan(percent):
            continue
        part = f"{percent_text(percent / 100, '.0f')} of the {unit}"
        runs_with_it = row[f"{column}_runs"]
        if runs_with_it < run_count:
            part += f" of {runs_with_it:.0f} of the {run_count} runs"
        parts.append(part)
    if not parts:
        return ""
    return f" In sum, it uses {' and '.join(parts)}."


def show_differences(study: Summary, scores: pd.DataFrame) -> None:
    """Figure 2. `scores` are of all runs, of those that ended at their stop too."""
    _draw_heatmap(
        study,
        "difference_percent",
        difference_scale(study.cells),
        scores,
        title="Difference to the k-fold mean in percent",
        what="difference",
        hover="difference %{text} %",
    )
    st.caption(
        f"Figure 2 of the paper: the {glossary_link('difference', 'difference')} to the "
        f"{glossary_link('k-fold-mean', 'k-fold mean')}, in percent; smaller is better, and "
        "colours mean the same at every alpha. "
        f"{_click_words(scores)}"
    )


def show_stops(study: Summary, scores: pd.DataFrame) -> None:
    """Figure 3."""
    _draw_heatmap(
        study,
        "mean_stop",
        stop_scale(study.k),
        scores,
        title="Mean stop",
        what="stop",
        hover=f"stops after %{{text}} of {study.k} folds",
    )
    st.caption(
        f"Figure 3 of the paper: the mean {glossary_link('stop')}; fewer folds, less "
        f"{glossary_link('energy', 'energy')}. {_click_words(scores)}"
    )


def _click_words(scores: pd.DataFrame) -> str:
    if scores.empty:  # the cells have no runs that a click could open
        return ""
    return "A click on a cell opens its run."


def _draw_heatmap(
    study: Summary,
    value: str,
    scale: CellScale,
    scores: pd.DataFrame,
    *,
    title: str,
    what: str,
    hover: str,
) -> None:
    """A figure of datasets by algorithms.

    Args:
        study: The study.
        value: The column of its cells that is shown.
        scale: The colours of the cells.
        scores: The scores of all runs; a click on a cell opens its run.
        title: What the value is.
        what: The same in a word, for the names of files.
        hover: What is said of a cell.
    """
    cells = study.cells
    steps = partial(
        heatmap_steps,
        cells,
        study.alphas,
        value=value,
        digits=scale.digits,
        title=title,
    )
    plot(
        partial(heatmap_figure, cells, value=value, scale=scale, hover=hover),
        cache_key=(study.fingerprint, *scores["run_id"]),
        key=f"study-{what}",
        alt=f"{title}, datasets by algorithms.",
        slider_name=SLIDER,
        steps=steps,
        name=f"study {what}",
        address_of_point=_addresses(scores),
        table=cells.copy,
        least_width=_NAMES_WIDTH + _COLUMN_WIDTH * cells["algorithm"].nunique(),
    )


def show_ranks(study: Summary, scores: pd.DataFrame) -> None:
    """Whether the algorithms keep their ranks: figure 4."""
    if study.ranks.empty:
        st.caption("Figure 4 needs a dataset with at least two complete algorithms.")
        return
    orders = int(study.stability["orders"].max())
    counting = f"all {orders:,} orders are counted"
    if orders < factorial(study.k):
        error = 50 / sqrt(orders)  # the standard error of a share of 50 %, the largest there is
        counting = (
            f"{orders:,} random orders per dataset, standard error at most {error:.1f} points"
        )
    st.caption(
        f"Figure 4 of the paper: the mean rank by the scores at the stops and, in brackets, by all "
        f"{study.k} folds; beside them, in how many orders of the folds **all** algorithms rank as "
        f"under {study.k} folds, and in how many the winner does. All algorithms see the folds in "
        f"the same order, and each stops by its own scores ({counting})."
    )
    # Two more columns: all algorithms, and the winner.
    columns = study.cells["algorithm"].nunique() + 2
    rows = study.ranks.merge(study.stability, on=["alpha", "dataset"])
    plot(
        partial(ranks_figure, study.ranks, study.stability),
        cache_key=(study.fingerprint, *scores["run_id"]),
        key="study-ranks",
        alt="Ranks of the algorithms per dataset, under e-CV and k-fold.",
        slider_name=SLIDER,
        steps=partial(ranks_steps, study.ranks, study.stability, study.alphas),
        name="study ranks",
        address_of_point=_addresses(scores),
        table=rows.copy,
        least_width=_NAMES_WIDTH + _RANK_COLUMN_WIDTH * columns,
        least_phone_width=_PHONE_NAMES_WIDTH + _PHONE_RANK_COLUMN_WIDTH * columns,
    )


def show_energy_sources(study: Summary, runs: Sequence[RunRecord]) -> None:
    """How the numbers are known, and what the energy of these runs is made up of."""
    st.caption(
        "Exact over every order of the folds, none of it sampled, except for ranks; each run "
        f"counts the same. {energy_sources_sentence(study.tradeoff.systems)} The paper "
        f"({PAPER_LINK}) reports {PAPER_STOP} folds, {PAPER_COST_PERCENT} % and "
        f"{PAPER_DIFFERENCE_PERCENT} %."
    )
    draw_runs_energy_bar(runs)


_EARLY_STOP_WORDS = (
    f"{EARLY_STOP_MARK} ran only until its own rule said stop, whatever alpha is picked above: its "
    "score is of those folds, and it is in no average, since only all folds tell how far off a "
    "stop is. Hover, or tap it, for its rule and folds."
)


def show_scores(scores: pd.DataFrame) -> None:
    """Which algorithm is best where: every score, those that ended at their stop too."""
    winners = scores_words(scores)
    if winners:
        st.markdown(escaped(winners))
    caption = (
        "The mean over all folds, whatever alpha; the paler, the nearer to the dataset's best, "
        "which is bold."
    )
    if (scores["folds"] < scores["k"]).any():
        caption += f" {_EARLY_STOP_WORDS}"
    st.caption(caption)
    plot(
        partial(scores_figure, scores),
        cache_key=tuple(scores["run_id"]),
        key="study-scores",
        alt=f"Scores, datasets by algorithms. {winners}".strip(),
        name="study scores",
        address_of_point=_addresses(scores),
        table=scores.copy,
        least_width=_NAMES_WIDTH + _SCORE_COLUMN_WIDTH * scores["algorithm"].nunique(),
    )


def _addresses(scores: pd.DataFrame) -> dict[str, str]:
    """Where a click on a cell leads: its run, fold by fold."""
    places = scores["algorithm"] + "|" + scores["dataset"]
    return dict(zip(places, "replay?run=" + scores["run_id"], strict=True))


def show_rules(study: Summary, frame: pd.DataFrame) -> None:
    """Which rule gives most for the energy: what each needs for e-fold's difference."""
    weighting = CELLS  # every run counts the same
    if JOULES in set(frame["weighting"]):
        weighting = JOULES
    sentences = rule_sentences(frame, study.alphas, weighting)
    show_numbers_of_slider(SLIDER, key="study-rules", sentences=sentences)
    st.caption(
        "Each rule is set so that its **difference** is that of e-fold at the alpha picked; the "
        "table has its difference at e-fold's energy too, and energy as a mean over runs beside "
        "the sum of joules, where large data and slow models dominate. Between two settings the "
        "rule uses a mix: 3.4 folds are 3 folds in 60 % of the runs and 4 in the rest, whose "
        "expected cost and difference lie on the straight line between both, so every "
        "interpolated point is achievable. Rules that decide by which folds ran are exact over "
        "every order; those that need the whole history are sampled."
    )
    shown = frame.assign(rule=frame["rule"].map(_rule_title))
    draw_chart_table(
        shown.copy, key="study-rules", name="study rules", alt="the comparison of rules"
    )


def _rule_title(rule_id: str) -> str:
    return RULES[rule_id].title


def rule_sentences(frame: pd.DataFrame, alphas: Sequence[float], weighting: str) -> list[str]:
    """Per alpha what the rules need for e-fold's difference, cheapest first, in one sentence.

    Rules that are known for some of the runs only come last, beside e-fold over the same ones.

    Args:
        frame: The comparison of rules, as of `rules_compared.rules_frame`.
        alphas: Those of the slider.
        weighting: The weighting of the runs: CELLS or JOULES.
    """
    # For each rule and alpha, the frame has the number of runs over which the rule was compared,
    # the energy that e-fold uses over these (`energy_percent`), and what the rule needs for its
    # difference.
    frame = frame.rename(
        columns={"cells": "runs", "equal_difference_energy_percent": "energy_of_rule"}
    )
    cheapest_first = frame[frame["weighting"] == weighting].sort_values(
        "energy_of_rule", kind="stable"
    )
    run_count = int(cheapest_first["runs"].max())
    energy = "of the energy"
    if weighting == JOULES:
        energy = "of the total energy"
    sentences = []
    for alpha in alphas:
        rows = cheapest_first[cheapest_first["alpha"] == alpha]
        difference = rows.loc[rows["rule"] == PAPERS_RULE, "difference_percent"].item()
        needs = []
        needs_of_some_runs = ""
        for row in rows.to_dict("records"):
            need = f"{_rule_title(row['rule'])} {percent_text(row['energy_of_rule'] / 100, '.0f')}"
            if row["runs"] == run_count:
                needs.append(need)
            else:  # the rule needs users' scores, which some runs lack
                needs_of_some_runs += (
                    f" Over {row['runs']} of the {run_count} runs: {need}, where e-fold needs "
                    f"{percent_text(row['energy_percent'] / 100, '.0f')}."
                )
        sentences.append(
            f"For a difference of {percent_text(difference / 100, '.2f')}, which e-fold has with "
            f"alpha {alpha_text(alpha)}, the rules need these shares {energy}: {'; '.join(needs)}."
            f"{needs_of_some_runs}"
        )
    return sentences
