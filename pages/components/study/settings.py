"""What all cells of a new study share: the folds, the score and the stopping rule."""

from __future__ import annotations

import streamlit as st

from ecv_core.evaluation import METRICS
from ecv_core.splits import SPLITS
from ecv_core.stopping import RULES
from pages.components.run.score_settings import CHOICES, METRIC_HELP
from pages.components.run.stop_settings import (
    ALPHAS,
    PRESETS,
    TOLERANCE,
    TOLERANCES,
    tolerance_text,
)
from pages.components.shared.words import alpha_text


def study_settings() -> dict[str, object]:
    """Folds, score and rule, as arguments of `make_spec`."""
    return _split_and_metric() | _folds_and_rule()


def _split_and_metric() -> dict[str, object]:
    split, metric, top = st.columns([2, 1.5, 1])
    several = [name for name, known in SPLITS.items() if not known.single]
    return {
        "split": split.selectbox(
            "Fold strategy",
            several,
            format_func=lambda name: f"{name}: {SPLITS[name].title.lower()}",
            key="new_split",
            persist_state="session",
            help="With its default parameters; those that make several folds.\n\n"
            + "\n".join(f"- **{name}**: {SPLITS[name].help}" for name in several),
        ),
        "metric": metric.selectbox(
            "Metric",
            CHOICES,
            format_func=lambda name: METRICS[name].title,
            key="new_metric",
            persist_state="session",
            help=METRIC_HELP,
        ),
        "n": int(
            top.number_input("List length (n)", value=10, key="new_n", persist_state="session")
        ),
    }


def _folds_and_rule() -> dict[str, object]:
    seed, folds, which, setting = st.columns(4)
    found: dict[str, object] = {
        "seed": int(
            seed.number_input(
                "Seed",
                value=42,
                key="new_seed",
                persist_state="session",
                help="Fixes the folds and every random choice; all algorithms get the same folds.",
            )
        ),
        "k": int(folds.number_input("Folds (k)", value=10, key="new_k", persist_state="session")),
    }
    rule = which.selectbox(
        "Stopping rule",
        [name for name in RULES if name != "fixed"],  # whose number is no setting here
        format_func=lambda name: RULES[name].title,
        key="new_rule",
        persist_state="session",
        help="What is shown as the stop while the study runs. Once all folds are in, every rule "
        "and alpha can be looked at.",
    )
    found["rule"] = rule
    if "alpha" in RULES[rule].settings:
        found["alpha"] = setting.select_slider(
            "alpha",
            ALPHAS,
            value=PRESETS["Balanced"],
            format_func=alpha_text,
            key="new_alpha",
            persist_state="session",
        )
    elif "tolerance" in RULES[rule].settings:
        found["tolerance"] = setting.select_slider(
            "Tolerance",
            TOLERANCES,
            value=TOLERANCE,
            format_func=tolerance_text,
            key="new_tolerance",
            persist_state="session",
        )
    return found
