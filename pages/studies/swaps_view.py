"""Ranks under several splits: the choice, the table with arrows, Kendall's tau."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import streamlit as st

from ecv_core.analysis.rank_swaps.blocks import Block, largest_block
from ecv_core.analysis.rank_swaps.frames import ranks_frame, taus_frame
from ecv_core.analysis.rank_swaps.sentences import headline, winners
from ecv_core.analysis.rank_swaps.swaps import Swaps, common_metrics, rank_block
from ecv_core.evaluation import METRICS, column_title
from ecv_core.figures.split_ranks import rank_table_figure, rank_table_words, tau_figure, tau_words
from ecv_core.figures.words import (
    algorithm_title,
    dataset_title,
    in_catalogue_order,
    titled,
    titles_of,
)
from ecv_core.models import ALGORITHMS
from ecv_core.records.errors import InputError
from ecv_core.records.run import RunRecord
from ecv_core.store.recorded import recorded_runs_of_all_splits
from pages.shared.address.link import translate_address
from pages.shared.base.glossary import glossary_link
from pages.shared.charts.plot import plot
from pages.shared.live.state import errors_as_sentences, escaped, results
from pages.shared.widgets.choices import pick_one
from pages.shared.widgets.words import show_large
from pages.studies.own import RECORDED, cells_of, draw_start_form, pick_study, show_progress

_DATASET = "swaps_dataset"
_METRIC = "swaps_metric"
_REFERENCE = "swaps_reference"
"""Keys of the three choices, and in the address."""
_NAMES_WIDTH = 140
_COLUMN_WIDTH = 92
"""Pixels of the rows' names, and of a column that can still be read."""


class SplitComparison(NamedTuple):
    """What is compared."""

    block: Block
    """The same algorithms on the same data under several splits."""
    metric: str
    reference: str
    """The split whose ranks the others are compared with."""


_METHOD = """
**Ranks** are by the mean over folds of the mean over users; equal scores share their mean rank.
**Kendall's tau** (tau-b) between two splits is 1 where they rank all algorithms alike, 0 where as
many pairs agree as not, -1 where every pair is the other way round. **Intervals** (95 %) are the
percentile bootstrap's: {resamples:,} times as many users as there are, drawn with replacement, the
same ones for all algorithms under all splits. They say how much of a swap may be due to the
users who happened to be there, not what other folds, seeds or parameters would change. That of
tau is no confidence interval: where the orders agree, tau can only fall from sample to sample, and
where algorithms differ by no more than chance, tau is lower than endless users would show.
With {pairs} pairs under several splits a few swap by chance alone;
chance does not explain a share near 100 %.

After Meng, McCreadie, Macdonald and Ounis (2020), *Exploring Data Splitting Strategies for the
Evaluation of Recommendation Models*: table 3, with intervals added.
"""


def show_ranks_under_splits() -> None:
    """Everything below the title.

    Raises:
        EcvError: If runs cannot be read.
    """
    st.markdown(
        "The same algorithms, the same data, another split: does the winner stay the winner?"
    )
    runs = _picked_runs()
    # A block is a set of runs on one dataset: every algorithm of it under every split of it.
    blocks = _blocks(runs)
    if blocks:
        _show_comparison(_pick_comparison(blocks))
    else:
        st.info(
            "There are no complete runs of two algorithms under two splits yet: ranks can only "
            "swap between splits. Start some below.",
            icon=":material/info:",
        )
    with st.expander("Compare splits yourself", icon=":material/add:", expanded=not runs):
        draw_start_form(_recorded_runs(), compare_splits=True)


def _picked_runs() -> list[RunRecord]:
    """The complete runs of the study that is picked."""
    study_id = pick_study()
    if study_id == RECORDED:
        return _recorded_runs()
    cells = cells_of(study_id)
    runs = []
    for cell in cells:
        if cell.run is not None and cell.run.whole:
            runs.append(cell.run)
    with st.expander(
        "The runs of this study", icon=":material/grid_on:", expanded=len(runs) < len(cells)
    ):
        show_progress(study_id, cells)
    return runs


def _recorded_runs() -> list[RunRecord]:
    """The complete recorded runs under every split; a damaged file is a sentence."""
    with errors_as_sentences():
        return [run for run in recorded_runs_of_all_splits() if run.whole]
    return []


def _pick_comparison(blocks: Mapping[str, Block]) -> SplitComparison:
    """What is compared, by which metric, against which split; with their widgets.

    Args:
        blocks: Dataset -> what can be compared on it; at least one.
    """

    def run_count(dataset: str) -> int:
        return len(blocks[dataset].runs)

    largest_first = sorted(blocks, key=run_count, reverse=True)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        translate_address(_DATASET, titles_of(largest_first, dataset_title))
        block = blocks[pick_one("Dataset", largest_first, _DATASET, words=dataset_title)]
        metric = pick_one(
            "Metric",
            common_metrics(block),
            _METRIC,
            words=column_title,
            help="Those that every run has. Intervals need every user's score, which the "
            "recorded runs keep of nDCG@10 and Recall@10.",
        )
        translate_address(_REFERENCE, {split: titled(split) for split in block.splits})
        reference = pick_one(
            "Reference split",
            block.splits,
            _REFERENCE,
            words=titled,
            help="Arrows and swaps are against its ranking.",
        )
    return SplitComparison(block, metric, reference)


def _blocks(runs: Sequence[RunRecord]) -> dict[str, Block]:
    """What can be compared of these runs, by dataset."""
    blocks = {}
    for dataset in in_catalogue_order(run.spec.dataset for run in runs):
        on_dataset = [run for run in runs if run.spec.dataset == dataset]
        with suppress(InputError):  # on this dataset, nothing can be compared
            blocks[dataset] = largest_block(on_dataset, list(ALGORITHMS))
    return blocks


@st.cache_data(show_spinner="Drawing users a thousand times ...", max_entries=24)
def _swaps(run_ids: tuple[str, ...], metric: str, _block: Block) -> Swaps:
    """The ranks of a block of runs, which Streamlit keeps by the ids of these runs."""
    return rank_block(_block, metric, results().user_scores)


def _show_comparison(comparison: SplitComparison) -> None:
    """The answer, what it leaves out, the ranks and how alike they are."""
    block = comparison.block
    metric = comparison.metric
    reference = titled(comparison.reference)
    run_ids = tuple(run.run_id for run in block.runs.values())
    swaps_by_ids = _swaps(run_ids, metric, block)
    swaps = replace(  # people read titles, in place of ids
        swaps_by_ids,
        algorithms=tuple(map(algorithm_title, swaps_by_ids.algorithms)),
        splits=tuple(map(titled, swaps_by_ids.splits)),
    )
    title = escaped(_metric_title(metric))
    show_large(f"{winners(swaps)} {headline(swaps, reference)}")
    if block.left_out:
        missing = "; ".join(map(titled, block.left_out))
        st.caption(f"Left out, because some of their runs are missing: {escaped(missing)}.")
    if swaps.without_users:
        st.caption(
            f"No intervals for {escaped('; '.join(swaps.without_users))}: "
            f"{title} of every user is not kept there."
        )
    name = f"rank swaps {block.dataset} {metric}"
    _show_ranks(swaps, reference, title, run_ids, name)
    _show_taus(swaps, (*run_ids, metric), f"{name} tau")
    with st.expander("How this is worked out", icon=":material/calculate:"):
        st.markdown(_METHOD.format(resamples=swaps.samples.shape[-1], pairs=len(swaps.pairs)))


def _show_ranks(swaps: Swaps, reference: str, metric: str, run_ids: Hashable, name: str) -> None:
    """The table of ranks under each split.

    Args:
        swaps: The ranks.
        reference: The split that they are compared with.
        metric: As Markdown.
        run_ids: The ids of the runs, by which the figure is kept.
        name: The name of files.
    """
    frame = ranks_frame(swaps, reference)
    st.header("Ranks under each split", anchor=False)
    st.caption(
        f"{metric}. Large: the {glossary_link('rank')}, 1 is best. "
        f"↑ and ↓: ranks gained and lost against **{escaped(reference)}**, = where it "
        "keeps its rank. Small: the score."
    )
    plot(
        partial(rank_table_figure, frame),
        cache_key=(run_ids, metric, reference),
        key="swaps-table",
        alt=rank_table_words(frame),
        name=name,
        table=frame.copy,
        least_width=_NAMES_WIDTH + _COLUMN_WIDTH * len(swaps.splits),
    )


def _show_taus(swaps: Swaps, cache_key: Hashable, name: str) -> None:
    """Kendall's tau between every two splits.

    Args:
        swaps: The ranks.
        cache_key: Another for other runs or another metric; as of `plot`.
        name: The name of files.
    """
    frame = taus_frame(swaps)
    st.header("How alike do two splits rank? Kendall's tau", anchor=False)
    st.caption(
        f"{glossary_link('kendalls-tau')} is 1 for the same ranking, 0 where pairs agree as often "
        f"as not, -1 for the reverse. Below it is where tau lies in 95 % of the "
        f"{glossary_link('bootstrap')} samples of {glossary_link('user', 'users')}."
    )
    plot(
        partial(tau_figure, frame),
        cache_key=cache_key,
        key="swaps-tau",
        alt=tau_words(frame),
        name=name,
        table=frame.copy,
        least_width=_NAMES_WIDTH + _COLUMN_WIDTH * (len(swaps.splits) - 1),
    )


def _metric_title(metric: str) -> str:
    """'nDCG@10'; 'Gini index@10 (lower is better)'."""
    title = column_title(metric)
    metric_id, _, _ = metric.partition("@")  # the id of a metric stands before its cut-off
    definition = METRICS.get(metric_id)
    if definition is not None and not definition.higher_is_better:
        title += " (lower is better)"
    return title
