"""Chapter 7: four traps, each with exact numbers from recorded runs."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from ecv_core.figures.words import alpha_text, run_title
from ecv_core.records.parameters import percent_text, score_text
from pages.learn.material.misleading_scores import (
    K,
    coincidence,
    coverage_by_stop,
    scaled_stops,
)
from pages.learn.material.recorded_runs import moments_in_order
from pages.learn.parts import draw_figure_1, guide, show_takeaway
from pages.shared.widgets.choices import switch

ALPHA = 1e-4
_DEVIATION = 0.01
_RUNS = 100_000
_kept_coverage_by_stop = st.cache_data(show_spinner=False)(coverage_by_stop)


def show() -> None:
    """The choice of the trap, and the trap."""
    trap = switch("Trap", list(TRAPS), "trap", label_visibility="collapsed")
    TRAPS[trap]()


def _show_chance() -> None:
    guide_run = guide()
    chance = coincidence(guide_run.scores, ALPHA)
    moments = moments_in_order(guide_run.scores, chance.order)
    stop = moments[2]  # the moment after three folds
    assert stop.interval is not None  # only a single fold has no interval
    show_takeaway(
        "**Three folds that agree by chance look like certainty.** In this order the rule stops at "
        f"once and promises {score_text(stop.mean)} ± {score_text(stop.interval.width / 2)} (95 % "
        f"interval of the mean). The mean of all {guide_run.k} is **{chance.times_too_narrow:.0f} "
        "times as far away** as that."
    )
    stop_sentence = (
        f"The rule stops after {stop.n} folds with {score_text(stop.mean)}; the mean of all "
        f"{guide_run.k} is {score_text(moments[-1].mean)}."
    )
    draw_figure_1(
        moments,
        guide_run.run,
        chapter="misleading",
        sentence=stop_sentence,
        stopped_at=stop.n,
        title=run_title(guide_run.run),
        cache_key=(chance.order, guide_run.cache_key),
        key="learn-chance",
        name="trap chance",
    )
    st.markdown(
        f"With alpha {alpha_text(ALPHA)}, **{percent_text(chance.share, '.0f')}** of all orders of "
        f"these folds stop after three. In **{percent_text(chance.share_wrong, '.0f')}** of all "
        "orders, that stop is wrong: its interval misses the mean of all folds. *Way out: ask for "
        "at least 4 or 5 folds.*"
    )
    st.caption(f"{guide_run.note} Every order of the folds is counted, none is sampled.")


def _show_looking() -> None:
    coverages = _kept_coverage_by_stop(ALPHA, _DEVIATION, runs=_RUNS)
    # The first coverage is that of all runs together; one for each stop follows, the earliest
    # first.
    all_stops, first_stop, *_ = coverages
    show_takeaway(
        "**If you look after every fold, and stop when you like what you see, you will stop too "
        "early.** Of all 95 % intervals of the mean, "
        f"{percent_text(all_stops.t_interval_holds, '.0f')} hold the true mean, but only "
        f"**{percent_text(first_stop.t_interval_holds, '.0f')}** of those at a stop after "
        f"{first_stop.stop} folds: the earlier the stop, the more of it was luck."
    )
    rows = []
    for coverage in coverages:
        rows.append(
            {
                "stop after": str(coverage.stop or "any"),
                "share of runs": percent_text(coverage.share, ".1f"),
                "interval of the mean holds": percent_text(coverage.t_interval_holds, ".1f"),
                "allowing for the stop": percent_text(coverage.look_interval_holds, ".1f"),
            }
        )
    st.dataframe(rows, hide_index=True)
    st.markdown(
        "*Way out: decide on alpha before you look, and report the interval that allows for the "
        f"stop.* It holds the true mean in {percent_text(all_stops.look_interval_holds, '.0f')} of "
        f"runs, and in {percent_text(first_stop.look_interval_holds, '.0f')} of those that stop "
        f"after {first_stop.stop} folds."
    )
    st.caption(
        f"These are {_RUNS:,} simulated runs with alpha {alpha_text(ALPHA)}, k = {K} and normal "
        f"fold scores with a standard deviation of {_DEVIATION}."
    )


def _show_unit() -> None:
    guide_run = guide()
    stops = scaled_stops(guide_run.scores, ALPHA, [1.0, 10.0, 100.0])
    show_takeaway(
        "**With the same scores in another unit, the rule changes its mind.** Alpha has the unit "
        f"of the score *squared*: alpha {alpha_text(ALPHA)} stops after **{stops[0]}** folds for "
        f"scores from 0 to 1, after **{stops[1]}** for the same scores from 0 to 10, and after "
        f"**{stops[2]}** for the same scores in percent."
    )
    st.markdown(
        "The same happens from one dataset to the next: where scores are small, the same alpha "
        "is large, and the rule stops at fold 3 whatever happens. *Way out: choose alpha for your "
        "metric and data, on the page How many folds? Scores 100 times larger need an alpha "
        "10,000 times larger.*"
    )
    st.caption(f"{guide_run.note} Its score is {guide_run.metric}.")


def _show_shared_data() -> None:
    k = guide().k
    share = (k - 2) / (k - 1)
    show_takeaway(
        f"**Folds are not independent.** Any two models of {k}-fold cross-validation share "
        f"**{percent_text(share, '.0f')}** of their training data: {k - 2} of the {k - 1} "
        "parts that each of them learns from. Student's t assumes that every score is fresh "
        "evidence."
    )
    st.markdown(
        "So the interval says how folds *of this data* vary, not how another dataset would turn "
        "out. No formula can tell this exactly from folds alone (Bengio and Grandvalet 2004). *Way "
        "out: before you claim that one algorithm beats another, use several datasets.*"
    )


TRAPS: dict[str, Callable[[], None]] = {
    "Chance": _show_chance,
    "Looking again and again": _show_looking,
    "The unit of alpha": _show_unit,
    "Shared training data": _show_shared_data,
}
"""Each trap by its name on the page."""
