"""Ranks under several splits: the table with arrows, tau, two splits as points, swapped pairs."""

from __future__ import annotations

import streamlit as st

from ecv_core.analysis.rank_swaps.frames import headline, pairs_frame, points_frame, winners
from ecv_core.figures.splits import (
    WIDTH,
    rank_scatter_figure,
    rank_scatter_words,
    rank_table_figure,
    rank_table_words,
    tau_figure,
    tau_text,
    tau_words,
)
from ecv_core.records.errors import EcvError
from pages.shared.charts.plot import plot
from pages.shared.live.state import escaped, sentence
from pages.shared.widgets.choices import pick_one
from pages.shared.widgets.glossary import glossary_link
from pages.shared.widgets.tables import chart_table
from pages.shared.widgets.words import large
from pages.studies.own import start_form
from pages.studies.swaps_choice import Compared, choose, recorded_split_runs, source_runs

_ACROSS, _UPWARDS = "swaps_across", "swaps_upwards"
_NAMES, _COLUMN = 140, 92
"""Pixels of the rows' names, and of a column that can still be read."""
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


def ranks_under_splits() -> None:
    """Everything below the title.

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
    with st.expander("Compare splits yourself", icon=":material/add:", expanded=not runs):
        start_form(recorded_split_runs(), several=True)


def _show(compared: Compared) -> None:
    found, reference = compared.swaps, compared.reference
    said = f"{winners(found)} {headline(found, reference)}"
    large(said)
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


def rank_table(compared: Compared) -> None:
    """Table 3 of the paper: ranks, arrows against the reference, scores."""
    st.header("Ranks under each split", anchor=False)
    st.caption(
        f"{escaped(compared.metric)}. Large: the {glossary_link('rank')}, 1 is best. "
        f"↑ and ↓: ranks gained and lost against **{escaped(compared.reference)}**, = where it "
        "keeps its rank. Small: the score."
    )
    plot(
        lambda dark: rank_table_figure(compared.ranks, dark=dark),
        version=compared.version,
        key="swaps-table",
        alt=rank_table_words(compared.ranks),
        name=compared.name,
        table=lambda: compared.ranks,
        least_width=_NAMES + _COLUMN * len(compared.swaps.splits),
    )


def tau_triangle(compared: Compared) -> None:
    """Kendall's tau between every two splits, with intervals."""
    st.header("How alike do two splits rank? Kendall's tau", anchor=False)
    st.caption(
        f"{glossary_link('kendalls-tau')} is 1 for the same ranking, 0 where pairs agree as often "
        f"as not, -1 for the reverse. Below it the 95 % {glossary_link('bootstrap')} interval over "
        f"{glossary_link('user', 'users')}."
    )
    plot(
        lambda dark: tau_figure(compared.taus, dark=dark),
        version=compared.version,
        key="swaps-tau",
        alt=tau_words(compared.taus),
        name=f"{compared.name} tau",
        table=lambda: compared.taus,
        least_width=_NAMES + _COLUMN * (len(compared.swaps.splits) - 1),
    )


def scatter(compared: Compared) -> None:
    """Figure 2 of the paper for two splits: one point per algorithm."""
    st.header("Two splits against each other", anchor=False)
    splits = compared.swaps.splits
    with st.container(horizontal=True, vertical_alignment="bottom"):
        across = pick_one("Across", splits, _ACROSS, usual=compared.reference)
        others = [split for split in splits if split != across]
        least = _least_alike(compared, across)
        upwards = pick_one("Upwards", others, _UPWARDS, usual=least)
    st.caption(
        "One point per algorithm, with its rank under both. Along one rising line the ranking is "
        "the same; a point below and to the right of another has swapped with it. Bars are 95 % "
        "bootstrap intervals over users: algorithms share the users, so two of them can differ for "
        "sure although their bars overlap."
    )
    points = points_frame(compared.ranks, across, upwards)
    taus = compared.taus
    two = taus[taus["split"].isin([across, upwards]) & taus["other"].isin([across, upwards])]
    tau = tau_text(two.iloc[0])
    plot(
        lambda dark: rank_scatter_figure(points, compared.metric, tau, dark=dark),
        version=(*compared.version, across, upwards),
        key="swaps-scatter",
        alt=rank_scatter_words(points, compared.metric, tau),
        name=f"{compared.name} {across} {upwards}",
        table=lambda: points,
        least_width=WIDTH,
    )


def pairs_table(compared: Compared) -> None:
    """Which pairs swap, and in how many bootstrap samples: behind a button, the answer has it."""
    st.header("Which pairs swap", anchor=False)
    chart_table(
        lambda: pairs_frame(compared.swaps, compared.reference),
        key="swaps-pairs",
        name=f"{compared.name} pairs",
        alt="every pair of algorithms under every split, swapped or not.",
    )


def _least_alike(compared: Compared, across: str) -> str:
    """The split whose ranking differs most from this one's."""
    taus = compared.taus
    mine = taus[(taus["split"] == across) | (taus["other"] == across)].sort_values(
        "tau", kind="stable"
    )
    first = mine.iloc[0]
    return str(first["other"] if first["split"] == across else first["split"])
