"""What the interval at a stop holds, stop by stop."""

from __future__ import annotations

import streamlit as st

from ecv_core.lessons.stops import StopCoverage, at_the_stop
from pages.shared.widgets.words import alpha_text

_ALPHA, _DEVIATION, _RUNS = 1e-4, 0.01, 100_000


def coverage_by_stop() -> None:
    """A sentence and a table: the earliest stops are the lucky ones."""
    found = _coverages()
    first = found[1]
    st.markdown(
        f"**The earlier the stop, the luckier.** {found[0].plain:.0%} of all 95 % intervals of the "
        f"mean hold the true mean, but only **{first.plain:.0%}** of those at a stop after "
        f"{first.stop} folds. The interval that allows for the stop holds it in "
        f"{found[0].wide:.0%} of runs, and in {first.wide:.0%} of those."
    )
    st.dataframe(
        {
            "stop after": [str(one.stop or "any") for one in found],
            "share of runs": [f"{one.share:.1%}" for one in found],
            "interval of the mean holds": [f"{one.plain:.1%}" for one in found],
            "allowing for the stop": [f"{one.wide:.1%}" for one in found],
        },
        hide_index=True,
    )
    st.caption(
        f"Alpha {alpha_text(_ALPHA)}, normal fold scores with a standard deviation of "
        f"{_DEVIATION}, k = 10, {_RUNS:,} simulated runs."
    )


@st.cache_data(show_spinner=False)
def _coverages() -> list[StopCoverage]:
    return at_the_stop(_ALPHA, _DEVIATION, runs=_RUNS)
