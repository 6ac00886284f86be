"""The decision: one sentence, every option that keeps the promise, the check on data left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from ecv_core.analysis.tradeoff.decision import (
    ALL_FOLDS,
    FoldsAdvice,
    decide,
    fixed_folds,
)
from ecv_core.analysis.tradeoff.rules import RuleCurve
from ecv_core.figures.report.advice import (
    checked_sentence,
    decision_sentence,
    options_frame,
    way_out_sentence,
)
from ecv_core.fold.spec import make_spec
from ecv_core.records.run import Run
from ecv_core.stopping import PAPERS_RULE, RULES
from pages.folds.curves import Explored
from pages.run.start_form import fill_form
from pages.shared.address.navigation import go
from pages.shared.live.state import KEPT, escaped
from pages.shared.widgets.glossary import explained
from pages.shared.widgets.tables import csv_button, number, table

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
            width=220,
            help=explained(
                "The difference to the k-fold mean that you can accept, in percent of it.",
                "difference",
            ),
        )
        share = st.number_input(
            "Required share of fold orders (%)",
            value=95.0,
            min_value=1.0,
            max_value=100.0,
            step=1.0,
            format="%.0f",
            key=SHARE_KEY,
            **KEPT,
            width=260,
            help=explained(
                "Folds can come in any order. In this share of all orders the score at the stop "
                "has to be within the acceptable difference.",
                "order",
            ),
        )
    return float(limit), float(share) / 100


def decision_of(explored: Explored, share: float) -> FoldsAdvice:
    """Every option, from the rules that are worked out by now."""
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
    lines = [
        way_out_sentence(found),
        checked_sentence(found),
    ]
    if found.best.rule != ALL_FOLDS and not found.best.checks:
        lines.append("Runs on other datasets would check it.")
    st.markdown(" ".join(escaped(one) for one in lines if one))
    if not explored.complete:
        st.caption("Other rules are still being worked out and may turn out cheaper.")


def run_button(found: FoldsAdvice, runs: Sequence[Run]) -> None:
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
                "each: on how many of them it keeps the promise.",
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
    for known in RULES.values() if explored.complete else ():
        if known.needs_user_scores and known.id not in there:
            st.caption(
                f"{escaped(known.title)} needs the score of every user, or sample, which some of "
                "these runs come without."
            )
    csv_button("Options as CSV", frame, "folds-options.csv")
