"""What follows the alpha slider: the numbers, the trade-off, where the rule stops."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from ecv_core.analysis.tradeoff.curves import (
    PAPER_COST_PERCENT,
    PAPER_DIFFERENCE_PERCENT,
    PAPER_STOP,
)
from ecv_core.analysis.tradeoff.decision import FoldsAdvice
from ecv_core.energy.meter import SOURCES
from ecv_core.energy.parts import left_out_words, with_own_joules
from ecv_core.figures.report.describe import describe_advice
from ecv_core.figures.report.pictures import stops_picture, tradeoff_picture
from ecv_core.figures.tradeoff import stops_figure, stops_steps, tradeoff_figure, tradeoff_steps
from ecv_core.figures.words import alpha_text, counted
from ecv_core.records.run import Run
from ecv_core.stopping import PAPERS_RULE
from pages.folds.curves import Explored
from pages.shared.address.link import chosen, link_has
from pages.shared.charts.energy_parts import energy_bar
from pages.shared.charts.plot import plot
from pages.shared.live.state import run_list
from pages.shared.widgets.cite import for_paper, made_with
from pages.shared.widgets.sliders import KEY as ALPHA_KEY
from pages.shared.widgets.sliders import SLIDER, numbers
from pages.shared.widgets.words import run_label

_FILE = "the scores file: whoever opens it adds it again"


def view_link(explored: Explored) -> None:
    """Says what the link has of what is chosen, defaults too: another place has other ones."""
    ids = st.session_state.get("runs") or []
    mine = [run_label(run) for run in run_list().rows() if run.run_id in ids] if ids else []
    link_has(
        chosen("source", "datasets", "algorithms")
        | ({"runs": mine} if mine else {})
        | {ALPHA_KEY: [alpha_text(explored.usual)]},
        without=_FILE if st.session_state.get("source") == "My file" else "",
    )


def take_away(explored: Explored, found: FoldsAdvice, runs: Sequence[Run]) -> None:
    """What a paper takes: the decision, and both charts at the alpha that keeps the promise."""
    names = [system.name for system in explored.tradeoff.systems]
    about = names[0] if len(names) == 1 else counted(len(names), "run")
    settings = [one.outcome.setting for one in found.options if one.rule == PAPERS_RULE]
    alpha = (settings and settings[0]) or explored.usual
    for_paper(
        lambda: describe_advice(found, runs, made_with(runs), cost=explored.cost),
        key="folds",
        pictures={
            "Trade-off": partial(tradeoff_picture, explored.frame, alpha=alpha, cost=explored.cost),
            "Stops": partial(stops_picture, explored.stops, alpha=alpha),
        },
        title=f"{about}, alpha {alpha_text(alpha)}",
        specs=[run.spec for run in runs],
    )


def numbers_row(explored: Explored) -> None:
    """What the alpha costs and gives, as a sentence and six numbers."""
    k = max(system.k for system in explored.tradeoff.systems)
    several = len(explored.tradeoff.systems) > 1
    limit = explored.within_percent
    of = f" Average over {len(explored.tradeoff.systems)} runs." if several else ""
    labels = [
        ("Folds used", f"Mean stop over all orders of the folds.{of}"),
        ("Energy used" if explored.cost == "energy" else "Share of folds", "Of all k folds."),
        ("Difference", f"Expected difference to the k-fold mean.{of}"),
        ("95 % of orders within", f"Only 5 % of the orders end further from the k-fold mean.{of}"),
        ("Interval coverage", f"How often the interval at the stop holds the k-fold mean.{of}"),
        (f"Within {limit:g} %", f"How often the difference is at most {limit:g} %.{of}"),
    ]
    same_k = explored.tradeoff.baseline is not None

    def by_count(stop: float) -> str:
        of_energy = same_k and explored.cost == "energy"
        return f"by fold count {100 * stop / k:.1f} % · " if of_energy else ""

    values, notes, sentences = [], [], []
    for alpha, text in zip(explored.alphas, explored.texts, strict=True):
        at = explored.tradeoff.average.at(alpha)
        within = 100 * (at.within or 0.0)
        values.append(
            [
                f"{at.mean_stop:.2f}",
                f"{at.cost_percent:.1f} %",
                f"{at.mean_difference_percent:.2f} %",
                f"{at.difference_quantiles[0.95]:.2f} %",
                f"{100 * at.coverage:.1f} %",
                f"{within:.1f} %",
            ]
        )
        notes.append(
            [
                f"of {k} · paper {PAPER_STOP}",
                f"{by_count(at.mean_stop)}paper {PAPER_COST_PERCENT} %",
                f"paper {PAPER_DIFFERENCE_PERCENT} %",
                "of the k-fold mean",
                "95 % is promised",
                "of all orders",
            ]
        )
        spent = f"{at.cost_percent:.0f} % of the {explored.cost}"
        sentences.append(
            f"With alpha {text}, the rule stops after {at.mean_stop:.1f} of {k} folds on average: "
            f"{spent}, and a score {at.mean_difference_percent:.2f} % from the {k}-fold mean."
        )
    numbers(
        SLIDER,
        key="explore-numbers",
        labels=labels,
        values=values,
        notes=notes,
        sentences=sentences,
    )
    st.caption(_exactness(explored))


def charts(explored: Explored) -> None:
    """The trade-off and the distribution of the stop, each with its data."""
    left, right = st.columns([1.55, 1], gap="medium")
    with left:
        st.header("Energy and difference", anchor=False)
        plot(
            lambda dark: tradeoff_figure(explored.frame, cost=explored.cost, dark=dark),
            version=explored.version,
            key="tradeoff",
            alt="Cost against difference to the k-fold mean, for every alpha.",
            slider=SLIDER,
            steps=lambda: tradeoff_steps(explored.frame, explored.alphas, explored.texts),
            name="trade-off of all alphas",
            opens={
                one.name: f"replay?run={one.run_id}"
                for one in explored.tradeoff.systems
                if one.run_id
            },
            table=lambda: explored.frame,
        )
        if any(one.run_id for one in explored.tradeoff.systems):
            st.caption("A click on a run's line plays it in Replay, in any order of its folds.")
    with right:
        st.header("Where the rule stops", anchor=False)
        plot(
            lambda dark: stops_figure(explored.stops, dark=dark),
            version=explored.version,
            key="stops",
            alt="Share of orders that stop after each fold.",
            slider=SLIDER,
            steps=lambda: stops_steps(explored.stops, explored.alphas, explored.texts),
            name="where the rule stops",
            table=lambda: explored.stops,
        )
    if explored.cost == "energy":
        systems = explored.tradeoff.systems
        energy_bar(
            (fold for one in with_own_joules(systems) for fold in one.results or ()),
            left_out_words(systems),
        )


def _exactness(explored: Explored) -> str:
    """How the numbers are known, said honestly."""
    systems = explored.tradeoff.systems
    drawn = [other.rule for other in explored.others if other.sampled]
    words = ["Exact over every order of the folds, none of it sampled"]
    if drawn:
        words = [f"Exact over every order of the folds; only {' and '.join(drawn)} sampled"]
    if len(systems) > 1:
        words.append(f"each of the {len(systems)} runs counts the same")
    if explored.cost == "energy":
        sources = sorted({SOURCES.get(system.source, system.source) for system in systems})
        words.append(f"energy: {', '.join(sources)}")
    else:
        words.append("no energy was recorded, so every fold costs the same")
    return ". ".join(word[:1].upper() + word[1:] for word in words) + "."
