"""Ranks under several splits: the choice, the table with arrows, two splits, swapped pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd
import streamlit as st

from ecv_core.analysis.rank_swaps import (
    FEWEST,
    Block,
    Swaps,
    block_of,
    common_metrics,
    headline,
    pairs_frame,
    points_frame,
    ranks_frame,
    split_label,
    swaps,
    taus_frame,
    winners,
)
from ecv_core.evaluation import METRICS, column_title
from ecv_core.figures.splits import (
    WIDTH,
    rank_scatter_figure,
    rank_scatter_words,
    rank_table_figure,
    rank_table_words,
    tau_text,
)
from ecv_core.figures.words import algorithm_title, dataset_title, in_order, titles_of
from ecv_core.models import ALGORITHMS
from ecv_core.records.errors import EcvError, InputError
from ecv_core.records.run import Run
from ecv_core.store.recorded import recorded_under_splits
from pages.shared.address.link import label_from_link
from pages.shared.charts.plot import plot
from pages.shared.live.state import escaped, results, sentence, sentences
from pages.shared.widgets.choices import pick_one, pick_several
from pages.shared.widgets.glossary import glossary_link
from pages.shared.widgets.tables import chart_table
from pages.shared.widgets.words import large
from pages.studies.own import RECORDED, cells_of, pick_study, show_progress, start_form

_DATASET, _METRIC, _REFERENCE, _SPLITS = (
    "swaps_dataset",
    "swaps_metric",
    "swaps_reference",
    "swaps_splits",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What is looked at."""

    version: tuple[str, ...]
    """Changes with the runs, the metric and the reference."""
    swaps: Swaps
    metric: str
    """Its name as shown."""
    reference: str
    ranks: pd.DataFrame
    taus: pd.DataFrame
    left_out: tuple[str, ...]

    @property
    def name(self) -> str:
        """Of files."""
        return f"rank swaps {self.swaps.dataset} {self.swaps.metric}"


def choose(runs: Sequence[Run]) -> Compared | None:
    """The comparison that is picked; None while there is nothing to pick.

    Raises: InputError if the picked runs have too few splits or algorithms in common.
    """
    datasets = _with_several_splits(runs)
    if not datasets:
        raise InputError(
            "there are no complete runs of two algorithms under two splits yet: ranks can only "
            "swap between splits. Start some below"
        )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        label_from_link(_DATASET, titles_of(datasets, dataset_title))
        dataset = pick_one("Dataset", datasets, _DATASET, words=dataset_title)
        here = [run for run in runs if run.spec.dataset == dataset]
        whole = block_of(here, list(ALGORITHMS))
        metric = pick_one(
            "Metric",
            common_metrics(whole),
            _METRIC,
            words=column_title,
            help="Those that every run has. Intervals need every user's score, which the "
            "recorded runs keep of nDCG@10 and recall@10.",
        )
        reference = pick_one(
            "Reference split",
            whole.splits,
            _REFERENCE,
            help="Arrows and swaps are against its ranking.",
        )
    picked = pick_several(
        "Splits",
        {split: split for split in whole.splits},
        _SPLITS,
        help="The reference is always among them. A split with k > 1 is scored by the mean of its "
        "folds.",
    )
    wanted = {reference, *picked}
    if len(wanted) < FEWEST:
        raise InputError("pick at least one split besides the reference")
    kept = [run for run in whole.runs.values() if split_label(run.spec) in wanted]
    return _compared(block_of(kept, list(ALGORITHMS)), metric, reference, whole.left_out)


def metric_title(metric: str) -> str:
    """'nDCG@10'; 'Gini index@10 (lower is better)'."""
    known = METRICS.get(metric.partition("@")[0])
    lower = known is not None and not known.higher_is_better
    return column_title(metric) + " (lower is better)" * lower


def _compared(block: Block, metric: str, reference: str, left_out: tuple[str, ...]) -> Compared:
    content = tuple(run.run_id for run in block.runs.values())
    found = _swaps(content, metric, block)
    found = replace(found, algorithms=tuple(map(algorithm_title, found.algorithms)))
    return Compared(
        version=(*content, metric, reference),
        swaps=found,
        metric=metric_title(metric),
        reference=reference,
        ranks=ranks_frame(found, reference),
        taus=taus_frame(found),
        left_out=left_out,
    )


@st.cache_data(show_spinner="Drawing users a thousand times ...", max_entries=24)
def _swaps(content: tuple[str, ...], metric: str, _block: Block) -> Swaps:
    return swaps(_block, metric, results().user_scores)


def _with_several_splits(runs: Sequence[Run]) -> list[str]:
    """Datasets on which anything can be compared; the one with most runs first."""
    found = {}
    for dataset in dict.fromkeys(run.spec.dataset for run in runs):
        try:
            block = block_of([run for run in runs if run.spec.dataset == dataset], list(ALGORITHMS))
        except InputError:
            continue
        found[dataset] = len(block.runs)
    return sorted(in_order(found), key=lambda dataset: -found[dataset])


def source_runs() -> list[Run]:
    """The complete runs of the study that is picked."""
    study_id = pick_study()
    if study_id == RECORDED:
        return recorded_split_runs()
    cells = cells_of(study_id)
    unfinished = any(cell.run is None or not cell.run.whole for cell in cells)
    with st.expander("The runs of this study", icon=":material/grid_on:", expanded=unfinished):
        show_progress(study_id, cells)
    return [cell.run for cell in cells if cell.run is not None and cell.run.whole]


def recorded_split_runs() -> list[Run]:
    """The complete recorded runs under every split; a damaged file is a sentence."""
    with sentences():
        return [run for run in recorded_under_splits() if run.whole]
    return []


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
        "the same; a point below and to the right of another has swapped with it. "
        f"{glossary_link('kendalls-tau')} is 1 for the same ranking, -1 for the reverse. Bars are "
        f"95 % {glossary_link('bootstrap')} intervals over {glossary_link('user', 'users')}: "
        "algorithms share the users, so two of them can differ for sure although their bars "
        "overlap."
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
