"""Ranks under several splits: the choice, the table with arrows, Kendall's tau."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import streamlit as st

from ecv_core.analysis.rank_swaps import (
    Block,
    Swaps,
    block_of,
    common_metrics,
    headline,
    ranks_frame,
    swaps,
    taus_frame,
    winners,
)
from ecv_core.evaluation import METRICS, column_title
from ecv_core.figures.split_ranks import rank_table_figure, rank_table_words, tau_figure, tau_words
from ecv_core.figures.words import algorithm_title, dataset_title, in_order, titled, titles_of
from ecv_core.models import ALGORITHMS
from ecv_core.records.errors import EcvError, InputError
from ecv_core.records.run import RunRecord
from ecv_core.store.recorded import recorded_under_splits
from pages.shared.address.link import label_from_link
from pages.shared.charts.plot import plot
from pages.shared.live.state import escaped, results, sentence, sentences
from pages.shared.widgets.choices import pick_one
from pages.shared.widgets.glossary import glossary_link
from pages.shared.widgets.words import large
from pages.studies.own import RECORDED, cells_of, pick_study, show_progress, start_form

_DATASET, _METRIC, _REFERENCE = "swaps_dataset", "swaps_metric", "swaps_reference"
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
Evaluation of Recommendation Models*: table 3, with intervals added.
"""


def ranks_under_splits() -> None:
    """Everything below the title. Raises: EcvError where runs cannot be read."""
    st.markdown(
        "The same algorithms, the same data, another split: does the winner stay the winner?"
    )
    runs = _source_runs()
    try:
        block, metric, reference = _choose(runs)
    except EcvError as error:
        st.info(sentence(error), icon=":material/info:")
    else:
        _show(block, metric, reference)
    with st.expander("Compare splits yourself", icon=":material/add:", expanded=not runs):
        start_form(recorded_split_runs(), several=True)


def _source_runs() -> list[RunRecord]:
    """The complete runs of the study that is picked."""
    study_id = pick_study()
    if study_id == RECORDED:
        return recorded_split_runs()
    cells = cells_of(study_id)
    unfinished = any(cell.run is None or not cell.run.whole for cell in cells)
    with st.expander("The runs of this study", icon=":material/grid_on:", expanded=unfinished):
        show_progress(study_id, cells)
    return [cell.run for cell in cells if cell.run is not None and cell.run.whole]


def recorded_split_runs() -> list[RunRecord]:
    """The complete recorded runs under every split; a damaged file is a sentence."""
    with sentences():
        return [run for run in recorded_under_splits() if run.whole]
    return []


def _choose(runs: Sequence[RunRecord]) -> tuple[Block, str, str]:
    """What is compared, by which metric, against which split.

    Raises: InputError while there is nothing to pick.
    """
    blocks: dict[str, Block] = {}
    for dataset in in_order(run.spec.dataset for run in runs):
        with suppress(InputError):  # nothing on it can be compared
            here = [run for run in runs if run.spec.dataset == dataset]
            blocks[dataset] = block_of(here, list(ALGORITHMS))
    if not blocks:
        raise InputError(
            "there are no complete runs of two algorithms under two splits yet: ranks can only "
            "swap between splits. Start some below"
        )
    datasets = sorted(blocks, key=lambda dataset: -len(blocks[dataset].runs))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        label_from_link(_DATASET, titles_of(datasets, dataset_title))
        block = blocks[pick_one("Dataset", datasets, _DATASET, words=dataset_title)]
        metric = pick_one(
            "Metric",
            common_metrics(block),
            _METRIC,
            words=column_title,
            help="Those that every run has. Intervals need every user's score, which the "
            "recorded runs keep of nDCG@10 and Recall@10.",
        )
        label_from_link(_REFERENCE, {one: titled(one) for one in block.splits})
        reference = pick_one(
            "Reference split",
            block.splits,
            _REFERENCE,
            words=titled,
            help="Arrows and swaps are against its ranking.",
        )
    return block, metric, reference


@st.cache_data(show_spinner="Drawing users a thousand times ...", max_entries=24)
def _swaps(content: tuple[str, ...], metric: str, _block: Block) -> Swaps:
    return swaps(_block, metric, results().user_scores)


def _show(block: Block, metric: str, reference: str) -> None:
    content = tuple(run.run_id for run in block.runs.values())
    found = _swaps(content, metric, block)
    found = replace(
        found,
        algorithms=tuple(map(algorithm_title, found.algorithms)),
        splits=tuple(map(titled, found.splits)),
    )
    reference = titled(reference)
    title = metric_title(metric)
    large(f"{winners(found)} {headline(found, reference)}")
    if block.left_out:
        missing = "; ".join(titled(one) for one in block.left_out)
        st.caption(f"Left out, because not every run is there: {escaped(missing)}.")
    if found.without_users:
        st.caption(
            f"No intervals for {escaped('; '.join(found.without_users))}: "
            f"{escaped(title)} of every user is not kept there."
        )
    ranks, taus = ranks_frame(found, reference), taus_frame(found)
    st.header("Ranks under each split", anchor=False)
    st.caption(
        f"{escaped(title)}. Large: the {glossary_link('rank')}, 1 is best. "
        f"↑ and ↓: ranks gained and lost against **{escaped(reference)}**, = where it "
        "keeps its rank. Small: the score."
    )
    plot(
        lambda dark: rank_table_figure(ranks, dark=dark),
        version=(*content, metric, reference),
        key="swaps-table",
        alt=rank_table_words(ranks),
        name=f"rank swaps {block.dataset} {metric}",
        table=lambda: ranks,
        least_width=_NAMES + _COLUMN * len(found.splits),
    )
    st.header("How alike do two splits rank? Kendall's tau", anchor=False)
    st.caption(
        f"{glossary_link('kendalls-tau')} is 1 for the same ranking, 0 where pairs agree as often "
        f"as not, -1 for the reverse. Below it the 95 % {glossary_link('bootstrap')} interval over "
        f"{glossary_link('user', 'users')}."
    )
    plot(
        lambda dark: tau_figure(taus, dark=dark),
        version=(*content, metric),
        key="swaps-tau",
        alt=tau_words(taus),
        name=f"rank swaps {block.dataset} {metric} tau",
        table=lambda: taus,
        least_width=_NAMES + _COLUMN * (len(found.splits) - 1),
    )
    with st.expander("How this is worked out", icon=":material/calculate:"):
        st.markdown(_METHOD.format(resamples=found.samples.shape[-1], pairs=len(found.pairs)))


def metric_title(metric: str) -> str:
    """'nDCG@10'; 'Gini index@10 (lower is better)'."""
    known = METRICS.get(metric.partition("@")[0])
    lower = known is not None and not known.higher_is_better
    return column_title(metric) + " (lower is better)" * lower
