"""Runs -> one dataset, a metric, splits to compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd
import streamlit as st

from ecv_core.analysis.rank_swaps.frames import ranks_frame, taus_frame
from ecv_core.analysis.rank_swaps.swaps import (
    FEWEST,
    Block,
    Swaps,
    block_of,
    common_metrics,
    split_label,
    swaps,
)
from ecv_core.evaluation import METRICS, column_title
from ecv_core.figures.words import algorithm_title, dataset_title, in_order, titles_of
from ecv_core.models import ALGORITHMS
from ecv_core.records.errors import InputError
from ecv_core.records.run import Run
from ecv_core.store.recorded import recorded_under_splits
from pages.shared.address.link import label_from_link
from pages.shared.live.state import results, sentences
from pages.shared.widgets.choices import pick_one, pick_several
from pages.studies.own import RECORDED, cells_of, pick_study, show_progress

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
