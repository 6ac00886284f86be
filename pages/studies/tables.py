"""The rules beside each other at equal energy and at equal difference, following the slider."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from ecv_core.analysis.tradeoff.rules import CELLS, JOULES
from ecv_core.figures.study_summary import Summary
from ecv_core.figures.words import setting_words
from ecv_core.stopping import PAPERS_RULE
from pages.shared.widgets.component import component
from pages.shared.widgets.sliders import SLIDER, numbers
from pages.shared.widgets.tables import chart_table

_GROUPS = {CELLS: "Every run counts the same", JOULES: "Every joule counts the same"}

_table = component(
    __file__,
    "ecv_step_table",
    html='<div class="ecv-steps" role="region" tabindex="0"></div>',
    css="rules_table.css",
    js="rules_table.js",
)

TwoLines = tuple[str, str]
"""A number and the smaller line below it."""


def rules_table(done: Summary, frame: pd.DataFrame) -> None:
    """The table with its CSV, and how to read it."""
    st.header("Which rule gives most for the energy?", anchor=False)
    groups = [name for name in _GROUPS if name in set(frame["weighting"])]
    numbers(
        SLIDER,
        key="study-rules-sentence",
        sentences=verdicts(frame, done.alphas, done.texts, groups[-1]),
    )
    _table(
        key="study-rules",
        data={
            "slider": SLIDER,
            "caption": "Rules compared at the alpha picked above",
            "of": "Rule",
            "groups": [_GROUPS[name] for name in groups],
            "columns": ["difference at e-fold's energy", "energy at e-fold's difference"],
            "steps": table_steps(frame, done.alphas, groups),
        },
    )
    st.caption(
        "Each rule is set so that it uses **as much energy as e-fold** does at the alpha picked, "
        "and again so that its **difference** is the same. Between two settings the rule uses a "
        "mix: 3.4 folds are 3 folds in 60 % of the runs and 4 in the rest, whose expected cost and "
        "difference lie on the straight line between both, so every interpolated point is "
        "achievable. The difference is averaged over runs in both halves; in the right half "
        "energy is the sum of joules, where "
        "large data and slow models dominate. e-fold, fixed and precision are exact over every "
        "order; rules that need the whole history, as std-stagnation does, are sampled (± is the "
        "standard error)."
    )
    chart_table(lambda: frame, key="study-rules", name="study rules", alt="the comparison of rules")


def verdicts(frame: pd.DataFrame, alphas: list[float], texts: list[str], group: str) -> list[str]:
    """Per alpha what the rules need for e-fold's difference, cheapest first, in one sentence."""
    here = frame[frame["weighting"] == group]
    most = here["cells"].max()
    energy = here[here["cells"] == most].pivot(
        index="alpha", columns="rule", values="equal_difference_energy_percent"
    )
    off = here[here["rule"] == PAPERS_RULE].set_index("alpha")["difference_percent"]
    bill = "of the total energy" if group == JOULES else "of the energy"
    found = []
    for alpha, text in zip(alphas, texts, strict=True):
        ranked = energy.loc[alpha].sort_values(kind="stable")
        needs = ", ".join(f"{rule} {share:.0f} %" for rule, share in ranked.items())
        found.append(
            f"For a difference of {off.loc[alpha]:.2f} %, that of e-fold with alpha {text}, the "
            f"rules need this much {bill}: {needs}."
        )
    return found


def table_steps(
    frame: pd.DataFrame, alphas: list[float], groups: list[str]
) -> list[list[tuple[str, list[TwoLines]]]]:
    """Per alpha the rows: a rule's name, and two cells per group."""
    whole = int(frame["cells"].max())
    numbers = frame.drop(columns=["alpha", "weighting", "rule"]).astype(float)
    values = zip(*(frame[name] for name in ("alpha", "weighting", "rule")), strict=True)
    columns = [str(name) for name in numbers.columns]
    keyed = {
        key: dict(zip(columns, row, strict=True))
        for key, row in zip(values, numbers.to_numpy().tolist(), strict=True)
    }
    rules = list(dict.fromkeys(frame["rule"]))
    steps = []
    for alpha in alphas:
        rows: list[tuple[str, list[TwoLines]]] = []
        for rule in rules:
            found = [keyed[alpha, group, rule] for group in groups]
            cells = int(found[0]["cells"])
            some = f" ({cells} of {whole} runs)" if cells < whole else ""
            if some:  # what the rule is compared with there
                there = [cell for one in found for cell in _reference(one)]
                rows.append((f"{PAPERS_RULE}{some}", there))
            both = [cell for one in found for cell in _pair(rule, one)]
            rows.append((rule + some, both))
        steps.append(rows)
    return steps


def _reference(row: dict[str, float]) -> list[TwoLines]:
    return [
        (f"{row['difference_percent']:.2f} %", f"with {row['energy_percent']:.1f} % of the energy"),
        (f"{row['energy_percent']:.1f} %", f"{row['difference_percent']:.2f} %"),
    ]


def _pair(rule: str, row: dict[str, float]) -> list[TwoLines]:
    if rule == PAPERS_RULE:
        return _reference(row)
    off, energy = row["equal_energy_difference_percent"], row["equal_difference_energy_percent"]
    if off != off:
        least = row["least_energy_percent"]
        first = ("-", f"never below {least:.0f} % of the energy")
    else:
        first = (
            f"{off:.2f} %{_error(row['equal_energy_error'], 2)}",
            setting_words(rule, row["equal_energy_setting"]),
        )
    second = (
        f"{energy:.1f} %{_error(row['equal_difference_error'], 1)}",
        setting_words(rule, row["equal_difference_setting"]),
    )
    return [first, second]


def _error(error: float, digits: int) -> str:
    return f" ± {error:.{digits}f}" if error else ""
