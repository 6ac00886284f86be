"""The answer with every option that keeps the promise, and what each alpha costs and gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from ecv_core.analysis.tradeoff.curves import (
    PAPER_COST_PERCENT,
    PAPER_DIFFERENCE_PERCENT,
    PAPER_STOP,
)
from ecv_core.analysis.tradeoff.decision import ALL_FOLDS, FoldsAdvice, decide, fixed_folds
from ecv_core.analysis.tradeoff.rules import RuleCurve
from ecv_core.energy.meter import SOURCES
from ecv_core.energy.parts import left_out_words, with_own_joules
from ecv_core.figures.report.advice import (
    checked_sentence,
    decision_sentence,
    options_frame,
    way_out_sentence,
)
from ecv_core.figures.report.describe import describe_advice
from ecv_core.figures.report.pictures import printed
from ecv_core.figures.tradeoff import (
    stops_at,
    stops_figure,
    stops_steps,
    tradeoff_at,
    tradeoff_figure,
    tradeoff_steps,
)
from ecv_core.figures.words import alpha_text, counted
from ecv_core.fold.spec import make_spec
from ecv_core.records.run import RunRecord
from ecv_core.stopping import PAPERS_RULE, RULES
from pages.folds.curves import Explored
from pages.run.start_form import fill_form
from pages.shared.address.link import chosen, write_into_link
from pages.shared.address.navigation import go
from pages.shared.charts.energy_parts import energy_bar
from pages.shared.charts.plot import plot
from pages.shared.live.state import KEPT, escaped, run_list
from pages.shared.widgets.cite import for_paper, made_with
from pages.shared.widgets.glossary import explained
from pages.shared.widgets.sliders import KEY as ALPHA_KEY
from pages.shared.widgets.sliders import SLIDER, numbers
from pages.shared.widgets.tables import number, table
from pages.shared.widgets.words import run_label

_FILE = "the scores file: whoever opens it adds it again"
LIMIT_KEY, SHARE_KEY = "off", "orders"


def promise_input() -> tuple[float, float]:
    """The acceptable difference in percent, and the share of orders in (0, 1]."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        limit = st.number_input(
            "Acceptable difference (%)",
            value=2.0,
            min_value=0.1,
            max_value=50.0,
            step=0.5,
            format="%.1f",
            key=LIMIT_KEY,
            **KEPT,
            width=205,
            help=explained(
                "The difference to the k-fold mean that you can accept, in percent of it.",
                "difference",
            ),
        )
        share = st.number_input(
            "Share of fold orders (%)",
            value=95.0,
            min_value=1.0,
            max_value=100.0,
            step=1.0,
            format="%.0f",
            key=SHARE_KEY,
            **KEPT,
            width=205,
            help=explained(
                "Folds can come in any order. In this share of all orders the score at the stop "
                "has to be within the acceptable difference.",
                "order",
            ),
        )
    return float(limit), float(share) / 100


def decision_of(explored: Explored, share: float) -> FoldsAdvice:
    """Every option that keeps the promise, and which rules keep it at no setting."""
    return _decided(explored.version, tuple(RULES), share, explored)


@st.cache_resource(show_spinner=False, max_entries=64)
def _decided(
    version: str, rules: tuple[str, ...], share: float, _explored: Explored
) -> FoldsAdvice:
    """Worked out once: checking every rule on every dataset takes a good part of a page."""
    explored = _explored
    systems, limit = explored.tradeoff.systems, explored.within_percent
    candidates = [
        fixed_folds(systems, within_percent=limit),
        RuleCurve(rule=PAPERS_RULE, curves=dict(enumerate(explored.tradeoff.curves))),
        *explored.others,
    ]
    return decide(systems, candidates, within_percent=limit, share=share)


def answer(explored: Explored, found: FoldsAdvice, whose: str) -> None:
    """The sentence, and what it rests on."""
    text = decision_sentence(found, whose=whose, cost=explored.cost)
    head, _, result = text.partition(": ")
    st.markdown(f"### {head}: :primary[{result}]")
    lines = [way_out_sentence(found), checked_sentence(found)]
    if found.best.rule != ALL_FOLDS and not found.best.checks:
        lines.append("Runs on other datasets would check it.")
    st.markdown(" ".join(escaped(one) for one in lines if one))


def run_button(found: FoldsAdvice, runs: Sequence[RunRecord]) -> None:
    """Opens the form of Run with the rule and the value of the answer; nothing for all folds.

    Args:
        found: the answer.
        runs: that it is about, whose other settings the form gets; none of a file.
    """
    rule, setting = RULES.get(found.best.rule), found.best.outcome.setting
    if found.best.rule == ALL_FOLDS or rule is None or rule.axis is None or setting is None:
        return
    if st.button("Run with this rule", icon=":material/play_circle:", key="use-advice"):
        known = [run.spec for run in runs] or [
            make_spec(dataset="synthetic", algorithm="item-knn", k=found.k)
        ]
        own = any(one.name == rule.axis.name for one in rule.parameters)
        spec = replace(
            known[0],
            rule=rule.id,
            rule_params=rule.resolve({rule.axis.name: setting} if own else {}),
            min_folds=rule.default_folds if own else int(setting),
            full=False,
        )
        here = [one.algorithm for one in known if one.dataset == spec.dataset]
        fill_form(spec, here)
        go("run/run.py", {"rule": rule.title})


def options(explored: Explored, found: FoldsAdvice) -> None:
    """All options as a table, the check on data left out, what does not keep the promise."""
    st.header("All options that keep this, cheapest first", anchor=False)
    frame = options_frame(found)
    limit = found.within_percent
    cost = "share of energy" if explored.cost == "energy" else "share of folds"
    table(
        frame,
        {
            "folds": number("folds", "%.1f", "Expected folds used, over all orders of the folds."),
            "cost": number(cost, "%.0f %%", "Of all folds, averaged over runs."),
            "risk": number(
                "risk",
                "%.1f %%",
                f"Share of orders that end more than {limit:g} % from the k-fold mean.",
            ),
            "95 % of orders within": number(
                None, "%.2f %%", "The difference that 95 % of orders do not exceed."
            ),
            "runs that keep it": st.column_config.TextColumn(
                help="The promise is about the average over runs; so many keep it one by one."
            ),
            "kept on data left out": st.column_config.TextColumn(
                help="The setting is chosen on all datasets but one and used on that one, for "
                "each: on how many of them it keeps the promise."
            ),
            "orders": st.column_config.TextColumn(
                help="Whether all orders were counted, or some were drawn."
            ),
        },
        key="folds-options",
        alt=f"{len(frame)} options, cheapest first: {', '.join(frame['rule'])}.",
    )
    st.caption(
        f"Risk: share of orders of the folds that end more than {limit:g} % from the k-fold mean."
    )
    if failing := [RULES[rule].title for rule in found.failing if rule in RULES]:
        st.caption(f"Keeps it at no setting that saves anything: {escaped(', '.join(failing))}.")
    there = {one.rule for one in explored.others}
    for known in RULES.values():
        if known.needs_user_scores and known.id not in there:
            st.caption(
                f"{escaped(known.title)} needs the score of every user, or sample, which some of "
                "these runs come without."
            )


def view_link(explored: Explored) -> None:
    """Says what the link has of what is chosen, defaults too: another place has other ones."""
    ids = st.session_state.get("runs") or []
    mine = [run_label(run) for run in run_list().rows() if run.run_id in ids] if ids else []
    write_into_link(
        chosen("source", "datasets", "algorithms")
        | ({"runs": mine} if mine else {})
        | {ALPHA_KEY: [alpha_text(explored.usual)]},
        without=_FILE if st.session_state.get("source") == "My file" else "",
    )


def take_away(explored: Explored, found: FoldsAdvice, runs: Sequence[RunRecord]) -> None:
    """What a paper takes: the decision, and both charts at the alpha that keeps the promise."""
    names = [system.name for system in explored.tradeoff.systems]
    about = names[0] if len(names) == 1 else counted(len(names), "run")
    settings = [one.outcome.setting for one in found.options if one.rule == PAPERS_RULE]
    alpha = (settings and settings[0]) or explored.usual
    tradeoff = partial(tradeoff_at, explored.frame, alpha, cost=explored.cost)
    stops = partial(stops_at, explored.stops, alpha)
    for_paper(
        lambda: describe_advice(found, runs, made_with(runs), cost=explored.cost),
        key="folds",
        pictures={"Trade-off": partial(printed, tradeoff), "Stops": partial(printed, stops)},
        title=f"{about}, alpha {alpha_text(alpha)}",
        specs=[run.spec for run in runs],
    )


def numbers_row(explored: Explored) -> None:
    """What each alpha costs and gives, in words that follow the slider; how they are known."""
    k = max(system.k for system in explored.tradeoff.systems)
    limit = explored.within_percent
    sentences = []
    for alpha, text in zip(explored.alphas, explored.texts, strict=True):
        at = explored.tradeoff.average.at(alpha)
        sentences.append(
            f"With alpha {text}, the rule stops after {at.mean_stop:.1f} of {k} folds on average "
            f"(paper {PAPER_STOP}): {at.cost_percent:.0f} % of the {explored.cost} (paper "
            f"{PAPER_COST_PERCENT} %), and a score {at.mean_difference_percent:.2f} % from the "
            f"{k}-fold mean (paper {PAPER_DIFFERENCE_PERCENT} %). 95 % of the orders end within "
            f"{at.difference_quantiles[0.95]:.2f} % of it, {100 * (at.within or 0.0):.0f} % within "
            f"{limit:g} %; the interval at the stop holds it in {100 * at.coverage:.0f} %."
        )
    numbers(SLIDER, key="explore-numbers", sentences=sentences)
    st.caption(_exactness(explored))


def tradeoff(explored: Explored) -> None:
    """What every alpha costs against how far off it ends; a click on a run leads to its replay."""
    of_runs = {
        one.name: f"replay?run={one.run_id}" for one in explored.tradeoff.systems if one.run_id
    }
    plot(
        lambda dark: tradeoff_figure(explored.frame, cost=explored.cost, dark=dark),
        version=explored.version,
        key="tradeoff",
        alt="Cost against difference to the k-fold mean, for every alpha.",
        slider=SLIDER,
        steps=lambda: tradeoff_steps(explored.frame, explored.alphas, explored.texts),
        name="trade-off of all alphas",
        opens=of_runs,
        table=lambda: explored.frame,
    )
    if of_runs:
        st.caption("A click on a run's line plays it in Replay, in any order of its folds.")


def stops(explored: Explored) -> None:
    """Where the rule stops, over all orders; and what the energy of all folds is made up of."""
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
    drawn = [RULES[other.rule].title for other in explored.others if other.sampled]
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
