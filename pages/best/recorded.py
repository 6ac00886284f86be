"""Selections played from folds that ran before: the recorded study, and grids of one parameter."""

from __future__ import annotations

import streamlit as st

from ecv_core.analysis.selection import play
from ecv_core.analysis.selection.names import contender_title
from ecv_core.analysis.selection.runs import contenders_of
from ecv_core.energy.parts import left_in_words
from ecv_core.evaluation import metric_of
from ecv_core.figures.words import dataset_title, metric_label
from ecv_core.records.run import Scores
from ecv_core.records.spec import RunSpec
from ecv_core.store.configurations import GRIDS, configuration_names, read_configurations
from pages.best.choice import runs_of
from pages.best.settings import SelectionSettings
from pages.best.show import Shown
from pages.shared.live.state import results


def recorded(name: str, asked: SelectionSettings) -> Shown:
    """A recorded selection.

    Args:
        name: a dataset of the recorded study, or a recorded grid.
        asked: what it is to find out.
    Raises: InputError for a damaged file.
    """
    of_grid = name in configuration_names(GRIDS)
    contenders, spec = _grid(name) if of_grid else _study(name)
    terms = asked.terms(spec.k, higher_is_better=metric_of(spec).higher_is_better)
    runs = [] if of_grid else runs_of(name)
    return Shown(
        contenders=contenders,
        titles=[contender_title(one.name) for one in contenders],
        terms=terms,
        played=play(contenders, terms, range(terms.k)),
        on=dataset_title(spec.dataset),
        version=name,
        metric=metric_label(spec),
        folds=[fold for run in runs for fold in run.folds],
        note=left_in_words(runs),
    )


@st.cache_resource(show_spinner="Reading the recorded folds ...", max_entries=4)
def _study(dataset: str) -> tuple[list[Scores], RunSpec]:
    runs = runs_of(dataset)
    return contenders_of(runs, results()), runs[0].spec


@st.cache_resource(show_spinner="Reading the recorded folds ...", max_entries=4)
def _grid(name: str) -> tuple[list[Scores], RunSpec]:
    found = read_configurations(GRIDS / f"{name}.json")
    return found.scores, found.spec
