"""Compared runs: other tests than the one that decides, where a reader asks for them."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from ecv_core.analysis.comparison.further import MARGIN, further_tests, rank_over_datasets
from ecv_core.analysis.comparison.paired_runs import Comparison
from ecv_core.figures.compare import NamedRun
from ecv_core.figures.verdicts import p_words, ranks_sentence
from ecv_core.figures.words import algorithm_title, counted
from ecv_core.records.parameters import percent_text
from ecv_core.records.run import RunRecord
from pages.shared.live.state import escaped, results, store
from pages.shared.widgets.tables import number, table, text


def offer_further_tests(runs: Sequence[NamedRun], tested: Sequence[Comparison]) -> None:
    """A switch, and behind it what other tests say: they take a while for many users.

    Args:
        runs: All that are compared, under their names.
        tested: Their pairs, under the ids of the runs.
    """
    if not st.toggle("Details: other tests", key="compare-details"):
        return
    st.caption(
        "The correlated Bayesian t test over folds (Benavoli et al., 2017): how likely each "
        f"learner is better by more than {percent_text(MARGIN)} of the better mean, or neither is. "
        "Wilcoxon's signed-rank test and a randomization test over users or samples. None of them "
        "is corrected for several comparisons."
    )
    records = [run for _, run in runs]
    cache_key = tuple((run.run_id, len(run.folds)) for run in records)
    frame = _further_tests_frame(store().url, cache_key, records, tested)
    name_of_id = {run.run_id: name for name, run in runs}
    frame[["first", "second"]] = frame[["first", "second"]].replace(name_of_id)
    table(
        frame,
        {
            "first better %": number(None, "%.1f"),
            "equivalent %": number(None, "%.1f"),
            "second better %": number(None, "%.1f"),
            "signed rank": text("p (Wilcoxon)"),
            "randomization": text("p (randomization)"),
        },
        key="compare-further-tests",
        alt=f"Other tests of {counted(len(tested), 'pair')}",
    )
    for ranks in rank_over_datasets(records, algorithm_title):
        st.markdown(escaped(ranks_sentence(ranks)))
        for reason in ranks.left_out:
            st.caption(escaped(f"Not ranked: {reason}."))


@st.cache_data(show_spinner="Testing all pairs ...", max_entries=8)
def _further_tests_frame(
    database_url: str, cache_key: object, _runs: Sequence[RunRecord], _tested: Sequence[Comparison]
) -> pd.DataFrame:
    """A row for each pair."""
    # Streamlit keeps the frame by the arguments without an underscore: the database, and what the
    # tests depend on.
    with_users = list(map(results().with_user_scores, _runs))
    rows = []
    for pair in further_tests(_tested, with_users):
        row: dict[str, object] = {"first": pair.first, "second": pair.second}
        if pair.chances is not None:
            row["first better %"] = 100 * pair.chances.first
            row["equivalent %"] = 100 * pair.chances.equivalent
            row["second better %"] = 100 * pair.chances.second
        if pair.signed_rank_p is not None and pair.randomization_p is not None:
            row["signed rank"] = p_words(pair.signed_rank_p)
            row["randomization"] = p_words(pair.randomization_p)
        rows.append(row)
    return pd.DataFrame(rows)
