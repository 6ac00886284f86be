"""'At most 2 % off in 95 % of orders': the alpha that spends least, and how well it travels."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from ecv_core.analysis.orders import Outcome
from ecv_core.analysis.tradeoff import CarryOver, cheapest, leave_one_dataset_out
from ecv_core.words import setting_words
from pages.components.folds.curves import Explored
from pages.components.shared.alpha_slider import KEY
from pages.components.shared.state import KEPT
from pages.components.shared.words import alpha_text

LIMIT_KEY, SHARE_KEY = "off", "orders"


def limit_input() -> float:
    """How far off is close enough, in percent."""
    return float(
        st.number_input(
            "Close enough: at most ... % off",
            value=2.0,
            min_value=0.1,
            max_value=50.0,
            step=0.5,
            format="%.1f",
            key=LIMIT_KEY,
            **KEPT,
            help="The difference to the k-fold mean that you can live with, in percent of it.",
        )
    )


def adviser(explored: Explored) -> None:
    """The wish, the advice, and the check on data that it was not chosen on."""
    st.header("Which alpha should I use?", anchor=False)
    left, right = st.columns([1, 2.4], gap="medium")
    with left:
        share = (
            st.number_input(
                f"At most {explored.within_percent:g} % off in ... % of orders",
                value=95.0,
                min_value=1.0,
                max_value=100.0,
                step=1.0,
                format="%.0f",
                key=SHARE_KEY,
                **KEPT,
            )
            / 100
        )
    with right:
        advice = cheapest(explored.tradeoff.average, share)
        st.markdown(advice_text(explored, advice, share))
        if advice is not None and advice.setting is not None:
            step = careful_step(explored.alphas, advice.setting)
            st.button(
                f"Move the slider to {alpha_text(step)}",
                icon=":material/tune:",
                key="use-advice",
                on_click=_use,
                args=(step,),
            )
    checks = leave_one_dataset_out(explored.tradeoff, share)
    if checks:
        _check(checks, share)


def advice_text(explored: Explored, advice: Outcome | None, share: float) -> str:
    """The advice beside its honest companions, always e folds and the precision rule."""
    promise = f"{100 * share:.0f} % of orders end at most {explored.within_percent:g} % off"
    if advice is None or advice.setting is None:
        return f"No alpha here keeps the promise that {promise}: use all folds."
    k = max(system.k for system in explored.tradeoff.systems)
    lines = [
        f"### alpha {alpha_text(float(f'{advice.setting:.1e}'))}",
        f"spends least of all with which {promise}: **{advice.mean_stop:.1f}** of {k} folds, "
        f"**{advice.cost_percent:.0f} %** of the {explored.cost}, "
        f"{advice.mean_difference_percent:.2f} % off on average.",
    ]
    if explored.tradeoff.baseline is not None:
        fixed = cheapest(explored.tradeoff.baseline, share)
        if fixed is not None and fixed.setting is not None:
            lines.append(
                f"\n\nSimply always using **{fixed.setting:.0f} folds** keeps it too, for "
                f"**{fixed.cost_percent:.0f} %**."
            )
    if explored.precision is not None:
        own = cheapest(explored.precision, share)
        if own is not None and own.setting is not None:
            lines.append(
                f" The precision rule with a tolerance of **{100 * own.setting:.1f} %** keeps it "
                f"for **{own.cost_percent:.0f} %**."
            )
    for other in explored.others:
        own = cheapest(other.curve, share)
        if own is not None and own.setting is not None:
            lines.append(
                f" The rule {other.rule}, {setting_words(other.rule, own.setting)}, keeps it for "
                f"**{own.cost_percent:.0f} %**{' (sampled)' if other.sampled else ''}."
            )
    return "\n".join(lines[:2]) + "".join(lines[2:])


def careful_step(alphas: list[float], advised: float) -> float:
    """The slider's largest step that is no larger than what is advised."""
    return max((alpha for alpha in alphas if alpha <= advised), default=alphas[0])


def check_frame(checks: list[CarryOver]) -> pd.DataFrame:
    """One row per dataset left out."""
    return pd.DataFrame(
        {
            "dataset left out": [one.dataset for one in checks],
            "alpha from the others": [
                "all folds" if one.alpha is None else alpha_text(float(f"{one.alpha:.1e}"))
                for one in checks
            ],
            "kept": [one.kept for one in checks],
            "orders close enough": [100 * one.within for one in checks],
            "cost": [one.cost_percent for one in checks],
            "cost of its own best alpha": [one.own_cost_percent for one in checks],
        }
    )


def _check(checks: list[CarryOver], share: float) -> None:
    kept = sum(one.kept for one in checks)
    st.markdown(
        f"**Does it carry over?** Chosen on the other datasets and used on the one left out, such "
        f"an alpha kept the promise on **{kept} of {len(checks)}** datasets."
    )
    frame = check_frame(checks)
    percent = st.column_config.NumberColumn(format="%.0f %%")
    st.dataframe(
        frame,
        hide_index=True,
        column_config={
            "kept": st.column_config.CheckboxColumn(
                "kept", help=f"At least {100 * share:.0f} % of its orders ended close enough."
            ),
            "orders close enough": percent,
            "cost": percent,
            "cost of its own best alpha": percent,
        },
        key="carry-over",
        alt=f"Leave-one-dataset-out check: the promise was kept on {kept} of {len(checks)}.",
    )
    st.download_button(
        "The check as CSV",
        frame.to_csv(index=False),
        file_name="carry-over.csv",
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
        key="csv-carry-over",
        type="tertiary",
    )


def _use(alpha: float) -> None:
    st.session_state[KEY] = alpha
