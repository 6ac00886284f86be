"""Selections played from folds that ran before: the recorded study, and grids of one parameter."""

from __future__ import annotations

import streamlit as st

from ecv_core.analysis.selection import play
from ecv_core.analysis.selection.contenders import contenders_of
from ecv_core.evaluation import metric_of
from ecv_core.records.run import Scores
from ecv_core.records.spec import RunSpec
from ecv_core.store.configurations import GRIDS, configuration_names, read_configurations, specs_of
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
    contenders, specs = _grid(name) if of_grid else _study(name)
    terms = asked.terms(specs[0].k, higher_is_better=metric_of(specs[0]).higher_is_better)
    return Shown(
        contenders=contenders,
        terms=terms,
        played=play(contenders, terms, range(terms.k)),
        version=name,
        specs=specs,
        runs=[] if of_grid else runs_of(name),
    )


@st.cache_resource(show_spinner="Reading the recorded folds ...", max_entries=4)
def _study(dataset: str) -> tuple[list[Scores], list[RunSpec]]:
    runs = runs_of(dataset)
    return contenders_of(runs, results()), [run.spec for run in runs]


@st.cache_resource(show_spinner="Reading the recorded folds ...", max_entries=4)
def _grid(name: str) -> tuple[list[Scores], list[RunSpec]]:
    found = read_configurations(GRIDS / f"{name}.json")
    return found.scores, specs_of(found.spec, found.configurations)
