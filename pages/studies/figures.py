"""The headline, figures 2, 3 and 4 and the rules, which follow the alpha slider; every score."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import factorial, sqrt
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from ecv_core.analysis.tradeoff.curves import (
    PAPER_COST_PERCENT,
    PAPER_DIFFERENCE_PERCENT,
    PAPER_STOP,
)
from ecv_core.analysis.tradeoff.rules import CELLS, JOULES
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
from ecv_core.records.run import RunRecord
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import PAPERS_RULE, RULES
from pages.shared.charts.energy_parts import energy_bar
from pages.shared.charts.plot import plot
from pages.shared.widgets.cite import PAPER_LINK
from pages.shared.widgets.glossary import glossary_link
from pages.shared.widgets.sliders import SLIDER, numbers
from pages.shared.widgets.tables import chart_table

_CLICK = "A click on a cell opens its run."
_COLUMN, _RANK_COLUMN = 42, 62
"""Pixels of a column that can still be read."""


def headline(done: Summary, specs: Sequence[RunSpec]) -> None:
    """Folds, energy or time, and difference, in a sentence.

    Args:
        done: the study.
        specs: of its runs, in its order; of estimators, whose costs are seconds, none.
    """
    cells, k = len(done.tradeoff.systems), done.k
    over = "the one run" if cells == 1 else f"{cells} runs"
    cost, joules = ("energy", "joules") if specs else ("time", "seconds")
    columns = ["mean_stop", "energy_percent", "difference_percent"]
    sentences = []
    papers = [number for number, spec in enumerate(specs) if of_the_paper(spec)]
    alone = done.headline_of(papers) if 0 < len(papers) < cells else None
    for at, (text, row) in enumerate(
        zip(done.texts, done.headline[columns].to_numpy(dtype=np.float64), strict=True)
    ):
        stop, energy, off = row
        of_all = _sums(done.headline.iloc[at], cells, joules)
        own = ""
        if alone is not None:
            fewer = alone.iloc[at]
            own = (
                f"Over the {counted(len(papers), 'run')} of the paper's algorithms it is "
                f"{fewer['mean_stop']:.2f} folds, {fewer['energy_percent']:.0f} % and "
                f"{fewer['difference_percent']:.2f} %. "
            )
        sentences.append(
            f"With alpha {text}, e-fold uses {stop:.2f} of {k} folds and "
            f"{energy:.0f} % of the {cost} on average over {over} and every order of the folds, "
            f"and ends {off:.2f} % from the {k}-fold mean. {own}{of_all}"
        )
    numbers(SLIDER, key="study-numbers", sentences=sentences)


def _sums(row: pd.Series, runs: int, joules: str) -> str:
    """The same of all runs added up: by processor time, and by joules where they are its own."""
    said = []
    for name, what in (("processor", "processor time"), ("joules", joules)):
        if not np.isnan(percent := row[f"{name}_percent"]):
            of = row[f"{name}_runs"]
            some = "" if of == runs else f" of {of:.0f} of the {runs} runs"
            said.append(f"{percent:.0f} % of the {what}{some}")
    return f"Added up: {', '.join(said)}." if said else ""


def difference_section(done: Summary, scores: pd.DataFrame) -> None:
    """Figure 2. `scores` are of all runs, of those that ended at their stop too."""
    _heatmap(
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
        f"{_CLICK * (not scores.empty)}"
    )


def stops_section(done: Summary, scores: pd.DataFrame) -> None:
    """Figure 3."""
    _heatmap(
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
        f"{glossary_link('energy', 'energy')}. {_CLICK * (not scores.empty)}"
    )


def _heatmap(
    done: Summary,
    value: str,
    scale: CellScale,
    scores: pd.DataFrame,
    *,
    title: str,
    what: str,
    hover: str,
) -> None:
    plot(
        lambda dark: heatmap_figure(done.cells, value=value, scale=scale, hover=hover, dark=dark),
        version=(done.version, *scores["run_id"]),
        key=f"study-{what}",
        alt=f"{title}, datasets by algorithms.",
        slider=SLIDER,
        steps=lambda: heatmap_steps(
            done.cells, done.alphas, done.texts, value=value, digits=scale.digits, title=title
        ),
        name=f"study {what}",
        opens=addresses(scores),
        table=lambda: done.cells,
        least_width=NAMES + _COLUMN * done.cells["algorithm"].nunique(),
    )


def ranks_section(done: Summary, scores: pd.DataFrame) -> None:
    """Whether the algorithms keep their ranks: figure 4."""
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
        lambda dark: ranks_figure(done.ranks, done.stability, dark=dark),
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


def made_up(done: Summary, runs: Sequence[RunRecord]) -> None:
    """How the numbers are known, and what the energy of these runs is made up of."""
    sources = sorted({SOURCES.get(one.source, one.source) for one in done.tradeoff.systems})
    st.caption(
        "Exact over every order of the folds, none of it sampled, but for ranks; each run counts "
        "the same. "
        f"Energy: {', '.join(sources)}. The paper ({PAPER_LINK}) reports {PAPER_STOP} folds, "
        f"{PAPER_COST_PERCENT} % and {PAPER_DIFFERENCE_PERCENT} %."
    )
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
    if words := scores_words(scores):
        st.markdown(words)
    why = f" {EARLY_WORDS}" if (scores["folds"] < scores["k"]).any() else ""
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


def addresses(scores: pd.DataFrame) -> dict[str, str]:
    """Where a click on a cell leads: its run, fold by fold."""
    return {
        f"{algorithm}|{dataset}": f"replay?run={run}"
        for algorithm, dataset, run in scores[["algorithm", "dataset", "run_id"]].to_numpy()
    }


def rules_section(done: Summary, frame: pd.DataFrame) -> None:
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
    shown = frame.assign(rule=[RULES[rule].title for rule in frame["rule"]])
    chart_table(lambda: shown, key="study-rules", name="study rules", alt="the comparison of rules")


def verdicts(frame: pd.DataFrame, alphas: list[float], texts: list[str], group: str) -> list[str]:
    """Per alpha what the rules need for e-fold's difference, cheapest first, in one sentence.

    Rules that are known for some of the runs only come last, beside e-fold over the same ones.
    """
    here = frame[frame["weighting"] == group]
    most = int(here["cells"].max())
    bill = "of the total energy" if group == JOULES else "of the energy"
    found = []
    for alpha, text in zip(alphas, texts, strict=True):
        rows = here[here["alpha"] == alpha].sort_values(
            "equal_difference_energy_percent", kind="stable"
        )
        off = rows.loc[rows["rule"] == PAPERS_RULE, "difference_percent"].item()
        told = rows.to_dict("records")
        needs = "; ".join(_need(row) for row in told if row["cells"] == most)
        rest = "".join(
            f" Over {row['cells']} of the {most} runs: {_need(row)}, where e-fold needs "
            f"{row['energy_percent']:.0f} %."
            for row in told
            if row["cells"] < most
        )
        found.append(
            f"For a difference of {off:.2f} %, that of e-fold with alpha {text}, the "
            f"rules need this much {bill}: {needs}.{rest}"
        )
    return found


def _need(row: Mapping[Hashable, Any]) -> str:
    return f"{RULES[row['rule']].title} {row['equal_difference_energy_percent']:.0f} %"
