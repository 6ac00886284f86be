"""The headline, figures 2, 3 and 4 and the rules, which follow the alpha slider; every score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from ecv_core.analysis.tradeoff.rules_compared import CELLS, JOULES
from ecv_core.energy.meter import SOURCES
from ecv_core.energy.parts import left_out_words, with_own_joules
from ecv_core.figures.heatmap import (
    EARLY,
    heatmap_figure,
    heatmap_steps,
    ranks_figure,
    ranks_steps,
    scores_figure,
    scores_words,
)
from ecv_core.figures.palette import CellScale, difference_scale, stop_scale
from ecv_core.figures.study_summary import Summary
from ecv_core.figures.words import counted
from ecv_core.jobs.plans.study import of_the_paper
from ecv_core.records.run import FoldResult, RunRecord
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import PAPERS_RULE, RULES
from pages.shared.charts.energy_parts import energy_bar
from pages.shared.charts.plot import plot
from pages.shared.live.state import escaped
from pages.shared.widgets.cite import PAPER_LINK
from pages.shared.widgets.glossary import glossary_link
from pages.shared.widgets.sliders import SLIDER, numbers
from pages.shared.widgets.tables import chart_table

_COLUMN = 42
_RANK_COLUMN = 62
"""Pixels of a column that can still be read."""


def show_headline(done: Summary, specs: Sequence[RunSpec]) -> None:
    """Folds, energy or time, and difference, in a sentence that follows the alpha slider.

    Args:
        done: The study.
        specs: Those of its runs, in its order; of estimators, whose costs are seconds, none.
    """
    run_count = len(done.tradeoff.systems)
    unit = "seconds"
    if specs:
        unit = "joules"
    places_of_paper = [place for place, spec in enumerate(specs) if of_the_paper(spec)]
    headline_of_paper = None
    if 0 < len(places_of_paper) < run_count:
        headline_of_paper = done.headline_of(places_of_paper)
    sentences = []
    for place, alpha in enumerate(done.texts):
        row = done.headline.iloc[place]
        sentence = _headline_sentence(row, alpha, k=done.k, run_count=run_count, unit=unit)
        if headline_of_paper is not None:
            sentence += _paper_sentence(headline_of_paper.iloc[place], len(places_of_paper))
        sentences.append(sentence + _sums_words(row, run_count, unit))
    numbers(SLIDER, key="study-numbers", sentences=sentences)


def _headline_sentence(row: pd.Series, alpha: str, *, k: int, run_count: int, unit: str) -> str:
    """How many folds and how much of the cost e-fold uses at an alpha, and how far off it ends.

    Args:
        row: The headline at this alpha.
        alpha: As it is written.
        k: Folds of each run.
        run_count: How many runs the study has.
        unit: Of the cost: 'joules' or 'seconds'.
    """
    over = f"{run_count} runs"
    if run_count == 1:
        over = "the one run"
    cost = "time"
    if unit == "joules":
        cost = "energy"
    return (
        f"With alpha {alpha}, e-fold uses {row['mean_stop']:.2f} of {k} folds and "
        f"{row['energy_percent']:.0f} % of the {cost} on average over {over} and every order "
        f"of the folds, and ends {row['difference_percent']:.2f} % from the {k}-fold mean."
    )


def _paper_sentence(row: pd.Series, run_count: int) -> str:
    """The same numbers over so many runs, those of the paper's algorithms."""
    return (
        f" Over the {counted(run_count, 'run')} of the paper's algorithms, these are "
        f"{row['mean_stop']:.2f} folds, {row['energy_percent']:.0f} % and "
        f"{row['difference_percent']:.2f} %."
    )


def _sums_words(row: pd.Series, runs: int, joules: str) -> str:
    """The same of all runs added up: by processor time, and by joules where they are its own.

    Args:
        row: The headline at one alpha.
        runs: How many the study has.
        joules: What the joules of the row are.
    """
    parts = []
    for name, cost in (("processor", "processor time"), ("joules", joules)):
        percent = row[f"{name}_percent"]
        if np.isnan(percent):
            continue
        part = f"{percent:.0f} % of the {cost}"
        added = row[f"{name}_runs"]
        if added < runs:
            part += f" of {added:.0f} of the {runs} runs"
        parts.append(part)
    if not parts:
        return ""
    return f" In sum, it uses {' and '.join(parts)}."


def show_differences(done: Summary, scores: pd.DataFrame) -> None:
    """Figure 2. `scores` are of all runs, of those that ended at their stop too."""
    _draw_heatmap(
        done,
        "difference_percent",
        difference_scale(done.cells),
        scores,
        title="Difference to the k-fold mean in percent",
        what="difference",
        hover="difference %{text} %",
    )
    st.caption(
        f"Figure 2 of the paper: the {glossary_link('difference', 'difference')} to the "
        f"{glossary_link('k-fold-mean', 'k-fold mean')}, in percent; smaller is better. "
        f"{_click_words(scores)}"
    )


def show_stops(done: Summary, scores: pd.DataFrame) -> None:
    """Figure 3."""
    _draw_heatmap(
        done,
        "mean_stop",
        stop_scale(done.k),
        scores,
        title="Mean stop",
        what="stop",
        hover=f"stops after %{{text}} of {done.k} folds",
    )
    st.caption(
        f"Figure 3 of the paper: the mean {glossary_link('stop')}; fewer folds, less "
        f"{glossary_link('energy', 'energy')}. {_click_words(scores)}"
    )


def _click_words(scores: pd.DataFrame) -> str:
    if scores.empty:  # no cell has a run of its own
        return ""
    return "A click on a cell opens its run."


def _draw_heatmap(
    done: Summary,
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
        done: The study.
        value: The column of its cells that is shown.
        scale: The colours of the cells.
        scores: Of all runs; a click on a cell opens its run.
        title: What the value is.
        what: The same in a word, for the names of files.
        hover: What is said of a cell.
    """
    cells = done.cells

    steps = partial(
        heatmap_steps,
        cells,
        done.alphas,
        done.texts,
        value=value,
        digits=scale.digits,
        title=title,
    )
    draw = partial(heatmap_figure, cells, value=value, scale=scale, hover=hover)
    columns = cells["algorithm"].nunique()
    plot(
        draw,
        version=(done.version, *scores["run_id"]),
        key=f"study-{what}",
        alt=f"{title}, datasets by algorithms.",
        slider=SLIDER,
        steps=steps,
        name=f"study {what}",
        opens=addresses(scores),
        table=cells.copy,
        least_width=NAMES + _COLUMN * columns,
    )


def show_ranks(done: Summary, scores: pd.DataFrame) -> None:
    """Whether the algorithms keep their ranks: figure 4."""
    if done.ranks.empty:
        st.caption("Figure 4 needs a dataset with at least two complete algorithms.")
        return
    orders = int(done.stability["orders"].max())
    if orders < factorial(done.k):
        error = 50 / sqrt(orders)  # where half of the orders keep it; less everywhere else
        counting = (
            f"{orders:,} random orders per dataset, standard error at most {error:.1f} points"
        )
    else:
        counting = f"all {orders:,} orders are counted"
    st.caption(
        f"Figure 4 of the paper: the mean rank by the scores at the stops and, in brackets, by all "
        f"{done.k} folds; on the right, in how many orders of the folds **all** algorithms rank as "
        f"under {done.k} folds, and in how many the winner does. All algorithms see the folds in "
        f"the same order, and each stops by its own scores ({counting})."
    )
    columns = done.cells["algorithm"].nunique() + 2
    rows = done.ranks.merge(done.stability, on=["alpha", "dataset"])
    steps = partial(ranks_steps, done.ranks, done.stability, done.alphas, done.texts)
    plot(
        partial(ranks_figure, done.ranks, done.stability),
        version=(done.version, *scores["run_id"]),
        key="study-ranks",
        alt="Ranks of the algorithms per dataset, under e-CV and k-fold.",
        slider=SLIDER,
        steps=steps,
        name="study ranks",
        opens=addresses(scores),
        table=rows.copy,
        least_width=NAMES + _RANK_COLUMN * columns,
    )


def show_energy_sources(done: Summary, runs: Sequence[RunRecord]) -> None:
    """How the numbers are known, and what the energy of these runs is made up of."""
    sources = {SOURCES.get(system.source, system.source) for system in done.tradeoff.systems}
    st.caption(
        "Exact over every order of the folds, none of it sampled, except for ranks; each run "
        "counts the same. "
        f"Energy: {', '.join(sorted(sources))}. The paper ({PAPER_LINK}) reports {PAPER_STOP} "
        f"folds, {PAPER_COST_PERCENT} % and {PAPER_DIFFERENCE_PERCENT} %."
    )
    folds: list[FoldResult] = []
    for run in with_own_joules(runs):
        folds += run.folds
    energy_bar(folds, left_out_words(runs))


EARLY_WORDS = (
    f"{EARLY} ran only until its own rule said stop, whatever alpha is picked above: its score is "
    "of those folds, and it is in no average, since only all folds tell how far off a stop is. "
    "Hover, or tap it, for its rule and folds."
)
NAMES = 215
"""Pixels of the datasets' names."""
_SCORE_COLUMN = 56
"""Pixels of a column that can still be read."""


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
        caption += f" {EARLY_WORDS}"
    st.caption(caption)
    plot(
        partial(scores_figure, scores),
        version=tuple(scores["run_id"]),
        key="study-scores",
        alt=f"Scores, datasets by algorithms. {winners}".strip(),
        name="study scores",
        opens=addresses(scores),
        table=scores.copy,
        least_width=NAMES + _SCORE_COLUMN * scores["algorithm"].nunique(),
    )


def draw_tabs(parts: Mapping[str, Callable[[], None]], *, key: str) -> None:
    """A tab for each part, which is drawn when it is opened.

    Args:
        parts: What draws each, by the name of its tab.
        key: Of the tabs.
    """
    tabs = st.tabs(list(parts), key=key, on_change="rerun")
    for tab, draw in zip(tabs, parts.values(), strict=True):
        if tab.open:
            with tab:
                draw()


def addresses(scores: pd.DataFrame) -> dict[str, str]:
    """Where a click on a cell leads: its run, fold by fold."""
    return {
        f"{algorithm}|{dataset}": f"replay?run={run}"
        for algorithm, dataset, run in scores[["algorithm", "dataset", "run_id"]].to_numpy()
    }


def show_rules(done: Summary, frame: pd.DataFrame) -> None:
    """Which rule gives most for the energy: what each needs for e-fold's difference."""
    group = JOULES if JOULES in set(frame["weighting"]) else CELLS
    sentences = verdicts(frame, done.alphas, done.texts, group)
    numbers(SLIDER, key="study-rules", sentences=sentences)
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
    chart_table(lambda: shown, key="study-rules", name="study rules", alt="the comparison of rules")


def _rule_title(rule_id: str) -> str:
    return RULES[rule_id].title


def verdicts(frame: pd.DataFrame, alphas: list[float], texts: list[str], group: str) -> list[str]:
    """Per alpha what the rules need for e-fold's difference, cheapest first, in one sentence.

    Rules that are known for some of the runs only come last, beside e-fold over the same ones.

    Args:
        frame: The comparison of rules.
        alphas: Those of the slider.
        texts: Each of them as shown.
        group: How runs are weighted: CELLS or JOULES.
    """
    weighted = frame[frame["weighting"] == group].sort_values(
        "equal_difference_energy_percent", kind="stable"
    )
    runs = int(weighted["cells"].max())
    energy = "of the energy"
    if group == JOULES:
        energy = "of the total energy"
    sentences = []
    for alpha, text in zip(alphas, texts, strict=True):
        rows = weighted[weighted["alpha"] == alpha]
        difference = rows.loc[rows["rule"] == PAPERS_RULE, "difference_percent"].item()
        needs = []
        some_runs = ""
        for row in rows.to_dict("records"):
            percent = row["equal_difference_energy_percent"]
            need = f"{_rule_title(row['rule'])} {percent:.0f} %"
            if row["cells"] == runs:
                needs.append(need)
            else:
                some_runs += (
                    f" Over {row['cells']} of the {runs} runs: {need}, where e-fold needs "
                    f"{row['energy_percent']:.0f} %."
                )
        sentences.append(
            f"For a difference of {difference:.2f} %, which e-fold has with alpha {text}, the "
            f"rules need these shares {energy}: {'; '.join(needs)}.{some_runs}"
        )
    return sentences
