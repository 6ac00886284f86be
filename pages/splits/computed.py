"""A chosen split -> what the page shows of it, worked out once and kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import streamlit as st

from ecv_core import splits
from ecv_core.analysis.split_tables.roles import Period, period, roles, spread
from ecv_core.analysis.split_tables.toy import ToySplit, toy_split
from ecv_core.fold import folds_of, prepared
from ecv_core.records.interactions import Folds
from ecv_core.records.spec import RunSpec
from ecv_core.splits import FoldParts, Leakage

_SPECS: dict[str | type[Any], Callable[[Any], Any]] = {RunSpec: RunSpec.to_json}


@st.cache_data(show_spinner=False, max_entries=64, hash_funcs=_SPECS)
def toy_of(spec: RunSpec) -> ToySplit:
    """The toy under the chosen strategy, cut where the toy's own time allows."""
    params = dict(spec.split_params)
    params.pop("time_point", None)  # the toy has another calendar
    return toy_split(spec.split, spec.k, spec.seed, params)


@st.cache_data(show_spinner=False, max_entries=256, hash_funcs=_SPECS)
def spread_of(content: str, spec: RunSpec, fold: int) -> pd.DataFrame:
    """When the interactions of each part of a fold were; of a dataset with timestamps."""
    interactions = prepared(spec.dataset)
    found = roles(splits.strategy(spec.split), interactions, _folds(content, spec), fold)
    return spread(interactions, found)


@st.cache_data(show_spinner=False, max_entries=256, hash_funcs=_SPECS)
def period_of(content: str, spec: RunSpec, fold: int) -> Period | None:
    """From when on a fold holds out; None without a common point in time."""
    return period(
        prepared(spec.dataset), spec.split, spec.k, spec.seed, dict(spec.split_params), fold
    )


@st.cache_data(show_spinner=False, max_entries=256, hash_funcs=_SPECS)
def parts_of(content: str, spec: RunSpec, fold: int) -> FoldParts:
    """What is in each part of a fold."""
    return splits.fold_parts(prepared(spec.dataset), _folds(content, spec), fold)


@st.cache_data(show_spinner="Comparing times ...", max_entries=256, hash_funcs=_SPECS)
def leakage_of(content: str, spec: RunSpec, fold: int) -> Leakage | None:
    """How much of a fold's training lies after what it helps to predict."""
    return splits.leakage(prepared(spec.dataset), _folds(content, spec), fold)


@st.cache_resource(show_spinner=False, max_entries=4, hash_funcs=_SPECS)
def _folds(content: str, spec: RunSpec) -> Folds:
    """Some megabytes for a million interactions, so only the newest few are kept."""
    return folds_of(spec)


def check_split(content: str, spec: RunSpec) -> None:
    """Raises: FoldsError with the reason why the dataset cannot be split so, if it cannot."""
    _folds(content, spec)
