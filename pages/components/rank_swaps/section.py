"""What splits do to the ranking: table with arrows, tau between splits, scatter, pairs."""

from __future__ import annotations

from html import escape

import streamlit as st

from ecv_core.analysis import rank_swaps
from ecv_core.errors import EcvError
from pages.components.rank_swaps.choice import Compared, choose
from pages.components.rank_swaps.source import source_runs
from pages.components.rank_swaps.start import start_form
from pages.components.rank_swaps.view import pairs_table, rank_table, scatter, tau_triangle
from pages.components.shared.state import escaped, sentence

_LARGE = "font-size: 1.3rem; line-height: 1.45; font-weight: 600; max-width: 62rem; margin: 0"
_METHOD = """
**Ranks** are by the mean over folds of the mean over users; equal scores share their mean rank.
**Kendall's tau** (tau-b) between two splits is 1 where they rank all algorithms alike, 0 where as
many pairs agree as not, -1 where every pair is the other way round. **Intervals** (95 %) are the
percentile bootstrap's: {resamples:,} times as many users as there are, drawn with replacement, the
same ones for all algorithms under all splits. They say how much of a swap is the chance of which
users came, not what other folds, seeds or parameters would do. Where the orders agree, tau can only
fall from sample to sample, so its interval reaches down further than up. With {pairs} pairs under
several splits a few swap by chance alone; a share near 100 % is not for chance to explain.

After Meng, McCreadie, Macdonald and Ounis (2020), *Exploring Data Splitting Strategies for the
Evaluation of Recommendation Models*: table 3 and figure 2, with intervals added.
"""


def rank_swaps_section() -> None:
    """Everything below the tab.

    Raises: EcvError where runs cannot be read.
    """
    st.markdown(
        "The same algorithms, the same data, another split: does the winner stay the winner?"
    )
    runs = source_runs()
    try:
        compared = choose(runs)
    except EcvError as error:
        st.info(sentence(error), icon=":material/info:")
        compared = None
    if compared is not None:
        _show(compared)
    start_form(runs)


def _show(compared: Compared) -> None:
    found, reference = compared.swaps, compared.reference
    said = f"{rank_swaps.winners(found)} {rank_swaps.headline(found, reference)}"
    st.html(f"<p style='{_LARGE}'>{escape(said)}</p>")
    if compared.left_out:
        st.caption(
            f"Left out, because not every run is there: {escaped(', '.join(compared.left_out))}."
        )
    if found.without_users:
        st.caption(
            f"No intervals for {escaped(', '.join(found.without_users))}: "
            f"{escaped(compared.metric)} of every user is not kept there."
        )
    rank_table(compared)
    tau_triangle(compared)
    scatter(compared)
    pairs_table(compared)
    with st.expander("How this is worked out", icon=":material/calculate:"):
        st.markdown(
            _METHOD.format(resamples=found.samples.shape[-1], pairs=len(found.pairs)),
        )
