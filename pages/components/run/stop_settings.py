"""When to stop: rule, its alpha or tolerance and what that means, interval, minimum folds."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import streamlit as st

from ecv_core.energy import countries
from ecv_core.stopping import RULES
from pages.components.shared.given import give, keep_given
from pages.components.shared.glossary import explained
from pages.components.shared.words import alpha_text

PRESETS = {"Thrifty": 1e-3, "Balanced": 1e-4, "Careful": 1e-5}
"""Alphas with a name: fewer folds and less energy, or more folds and more certainty."""

ALPHAS = [step * 10.0**power for power in range(-7, -2) for step in (1, 2, 5)] + [1e-2]
ALPHAS = [float(f"{alpha:.0e}") for alpha in ALPHAS]  # 5e-07, not 4.9999999999999998e-07
COUNTRY = "DEU"
TOLERANCES = (0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1)
TOLERANCE = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class StopSettings:
    """What was picked."""

    rule: str
    alpha: float
    tolerance: float | None
    """For the precision rule; None for the others."""
    full: bool
    confidence: float
    min_folds: int
    country: str


def stop_settings(k: int) -> StopSettings:
    """Widgets of the stopping rule for a cross-validation of k folds."""
    rule = st.segmented_control(
        "Stopping rule",
        list(RULES),
        default="e-fold",
        required=True,
        key="rule",
        bind="query-params",
        persist_state="session",
        help=explained(
            "\n\n".join(f"**{known.id}**: {known.help}" for known in RULES.values()),
            "stopping-rule",
        ),
    )
    chosen = RULES[rule or "e-fold"]
    early = chosen.id != "never"
    alpha = float(st.session_state.get("alpha", PRESETS["Balanced"]))
    alpha = _alpha() if "alpha" in chosen.settings else alpha
    tolerance = _tolerance() if "tolerance" in chosen.settings else None
    if not {"alpha", "tolerance"} & set(chosen.settings):
        st.caption(chosen.help)
    full = early and st.toggle(
        "Go on to k after the stop, to check it",
        key="full",
        bind="query-params",
        persist_state="session",
        help="Runs the folds that the rule would have saved, and shows how far the score at the "
        "stop is from the k-fold mean. Costs the energy that stopping saves.",
    )
    with st.expander("Interval, minimum folds, country", icon=":material/straighten:"):
        left, right = st.columns(2)
        confidence = left.number_input(
            "Confidence",
            value=0.95,
            step=0.01,
            format="%.3f",
            key="confidence",
            bind="query-params",
            persist_state="session",
            help=explained(
                "Of the interval of the mean (Student's t with n - 1 degrees of freedom).",
                "confidence",
                "confidence-interval",
            ),
        )
        min_folds = right.number_input(
            "Minimum folds",
            value=min(chosen.default_folds, k),
            key=min_folds_key(chosen.id),
            persist_state="session",
            disabled="min_folds" not in chosen.settings,
            help=explained(
                "Never stop before this fold; the rule 'fixed' stops right after it. The paper's "
                "rule needs two widths, so 3 is the first fold at which it can stop.",
                "min-folds",
            ),
        )
        country = _country()
    return StopSettings(
        rule=chosen.id,
        alpha=alpha,
        tolerance=tolerance,
        full=full,
        confidence=float(confidence),
        min_folds=int(min_folds),
        country=country,
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
    picked = st.selectbox(
        "Country",
        codes,
        index=codes.index(COUNTRY),
        format_func=lambda code: known[code].name,
        key="country",
        bind="query-params",
        persist_state="session",
        help="Its electricity turns energy into emissions. Nothing looks up where you are: pick "
        "it yourself (carbon intensity from Our World in Data, through CodeCarbon).",
    )
    code = picked or COUNTRY
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
        "alpha",
        ALPHAS,
        value=PRESETS["Balanced"],
        format_func=alpha_text,
        key="alpha",
        bind="query-params",
        persist_state="session",
        help=explained(
            "Larger saves energy, smaller is more certain. It has the unit of the score squared, "
            "so its scale is logarithmic.",
            "alpha",
            "interval-width",
        ),
    )
    st.caption(alpha_meaning(float(picked)))
    return float(picked)


def _tolerance() -> float:
    picked = st.select_slider(
        "Tolerance",
        TOLERANCES,
        value=TOLERANCE,
        format_func=tolerance_text,
        key="tolerance",
        bind="query-params",
        persist_state="session",
        help=explained(
            "How far the score may be from the mean of all k folds. Large data may need one "
            "fold, noisy data nearly all: the rule looks at every user's scores.",
            "tolerance",
            "precision-rule",
        ),
    )
    st.caption(
        f"Stops once the mean of all folds is known to within {float(picked):.1%} of the score, "
        "with the confidence below."
    )
    return float(picked)
