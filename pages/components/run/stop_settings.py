"""When to stop: rule, its alpha or tolerance and what that means, interval, minimum folds."""

from __future__ import annotations

from math import sqrt
from typing import Any

import streamlit as st

from ecv_core.energy import countries
from ecv_core.models import ALGORITHMS
from ecv_core.records import SETTINGS, Need, Role
from ecv_core.stopping import RULES, Rule
from pages.components.shared.given import give, keep_given
from pages.components.shared.glossary import explained
from pages.components.shared.setting_widgets import about, other_settings, setting_widget
from pages.components.shared.words import alpha_text

PRESETS = {"Thrifty": 1e-3, "Balanced": SETTINGS["alpha"].default, "Careful": 1e-5}
"""Alphas with a name: fewer folds and less energy, or more folds and more certainty."""

ALPHAS = [step * 10.0**power for power in range(-7, -2) for step in (1, 2, 5)] + [1e-2]
ALPHAS = [float(f"{alpha:.0e}") for alpha in ALPHAS]  # 5e-07, not 4.9999999999999998e-07
TOLERANCES = (0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1)
TOLERANCE = 0.03
RULE_TITLES = {name: known.title for name, known in RULES.items()}
_PLACED = ("rule", "alpha", "tolerance", "adjust_by", "full", "confidence", "min_folds", "country")
"""Settings that have a place of their own on the form."""


def stop_settings(k: int) -> dict[str, Any]:
    """Widgets of the stopping rule for a cross-validation of k folds.

    Returns: what was picked, as arguments of `make_spec`.
    """
    rules = "\n\n".join(f"**{known.title}**: {known.help}" for known in RULES.values())
    rule = st.segmented_control(
        options=list(RULES),
        default=SETTINGS["rule"].default,
        required=True,
        format_func=RULE_TITLES.__getitem__,
        **about("rule", help=explained(rules, "stopping-rule")),
    )
    chosen = RULES[rule]
    picked: dict[str, Any] = {"rule": chosen.id}
    picked["alpha"] = float(st.session_state.get("alpha", PRESETS["Balanced"]))
    if "alpha" in chosen.settings:
        picked["alpha"] = _alpha()
    if "tolerance" in chosen.settings:
        picked["tolerance"] = _tolerance()
    if "adjust_by" in chosen.settings:
        picked["adjust_by"] = _adjust_by()
    if not {"alpha", "tolerance"} & set(chosen.settings):
        st.caption(chosen.help)
    at_hand = chosen.axis == "min_folds"  # what the rule is about is not folded away
    if at_hand:
        picked["min_folds"] = _min_folds(chosen, k)
    if chosen.id != "never":
        picked["full"] = setting_widget("full")
    folded = "Interval, energy" if at_hand else "Interval, minimum folds, energy"
    with st.expander(folded, icon=":material/straighten:"):
        left, right = st.columns(2)
        picked["confidence"] = setting_widget("confidence", left, step=0.01, format="%.3f")
        if not at_hand:
            with right:
                picked["min_folds"] = _min_folds(chosen, k)
        picked["country"] = _country()
        picked |= other_settings((Role.STOP, Role.REPORT), _PLACED, chosen.id)
    return picked


def _min_folds(chosen: Rule, k: int) -> int:
    """The minimum number of folds; of the rule 'fixed' it is the number itself."""
    label = {"label": "Number of folds"} if chosen.id == "fixed" else {}
    return int(
        st.number_input(
            value=min(chosen.default_folds, k),
            disabled="min_folds" not in chosen.settings,
            width=200,
            **about("min_folds", key=min_folds_key(chosen.id), bind=None, **label),
        )
    )


def min_folds_key(rule: str) -> str:
    """The session's key of the minimum: each rule has a default and a least one of its own."""
    return f"min_folds-{rule}"


def tolerance_text(tolerance: float) -> str:
    """'3%', '7.5%'."""
    return f"{tolerance:.1%}".replace(".0%", "%")


def nearest_tolerance(tolerance: float | None) -> float:
    """The slider's step that is closest to this tolerance."""
    return min(TOLERANCES, key=lambda step: abs(step - (tolerance or TOLERANCE)))


def nearest_alpha(alpha: float) -> float:
    """The slider's step that is closest to this alpha, on its logarithmic scale."""
    return min(ALPHAS, key=lambda step: max(step / alpha, alpha / step))


def alpha_meaning(alpha: float) -> str:
    """One line that says what an alpha does, in the unit of the score.

    A width w that changes by a tenth has w * 0.1 w = alpha, so w = sqrt(10 alpha).
    """
    width = sqrt(10 * alpha)
    return (
        f"Stops once an interval {width:.2g} wide changes by no more than "
        f"{width / 10:.2g} from one fold to the next; a wider interval must be steadier."
    )


def _country() -> str:
    known = countries()
    codes = list(known)
    code: str = st.selectbox(
        options=codes,
        index=codes.index(SETTINGS["country"].default),
        format_func=lambda code: known[code].name,
        **about("country"),
    )
    st.caption(f"{known[code].grams_co2e_per_kwh:.0f} g CO2e per kWh ({known[code].year}).")
    return code


def _alpha() -> float:
    def use_preset() -> None:
        keep_given()  # or a preset that the slider has just left would take it back
        if preset := st.session_state.get("preset"):
            give({"alpha": PRESETS[preset]})

    alpha = float(st.session_state.get("alpha", PRESETS["Balanced"]))
    named = next((name for name, value in PRESETS.items() if value == alpha), None)
    if st.session_state.get("preset") != named:
        give({"preset": named}, drawn=True)
    st.segmented_control(
        "How careful",
        list(PRESETS),
        default="Balanced",
        key="preset",
        on_change=use_preset,
        help="Three named values of alpha.",
    )
    picked = st.select_slider(
        options=ALPHAS, value=PRESETS["Balanced"], format_func=alpha_text, **about("alpha")
    )
    st.caption(alpha_meaning(float(picked)))
    return float(picked)


def _adjust_by() -> tuple[str, ...]:
    """Of the models that draw no random numbers: their folds are the quick ones."""
    cheap = [
        known.id
        for known in ALGORITHMS.values()
        if not known.random and known.needs is Need.NOTHING
    ]
    return tuple(st.multiselect(options=cheap, placeholder="none", **about("adjust_by")))


def _tolerance() -> float:
    picked = st.select_slider(
        options=TOLERANCES, value=TOLERANCE, format_func=tolerance_text, **about("tolerance")
    )
    st.caption(
        f"Stops once the mean of all folds is known to within {float(picked):.1%} of the score, "
        "with the confidence below."
    )
    return float(picked)
