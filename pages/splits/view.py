"""How a strategy splits: settings beside the toy, then the same on the data, part by part."""

from __future__ import annotations

from urllib.parse import urlencode

import streamlit as st

import ecv_core.dataset as datasets
from ecv_core.records.errors import EcvError
from ecv_core.records.spec import RunSpec
from ecv_core.splits import SPLITS
from pages.shared.address.link import copy_link
from pages.shared.live.state import sentence, sentences
from pages.shared.widgets.dataset_picker import not_ready
from pages.shared.widgets.setting_widgets import (
    SEED,
    SPLIT,
    K,
    parameter_key,
    parameters_owner,
    split_download,
)
from pages.splits.choice import choose_split, strategy_list
from pages.splits.computed import check_split, content_of
from pages.splits.leakage import leakage_section
from pages.splits.on_data import on_data, parts_section
from pages.splits.toy import fold_slider, toy_picture


def how_it_splits() -> None:
    """The whole view.

    Raises: EcvError for a choice that cannot be.
    """
    left, right = st.columns([2, 3], gap="large")
    with left:
        spec, ready = choose_split()
    with right:
        fold = fold_slider(spec)
        with sentences():
            toy_picture(spec)
    strategy_list(spec.dataset, ready)
    if not ready:
        st.info(not_ready(datasets.entry(spec.dataset)), icon=":material/cloud_download:")
        return
    content = content_of(spec.dataset)
    try:
        with st.spinner("Splitting ..."):
            check_split(content, spec)
    except EcvError as error:
        st.warning(sentence(error), icon=":material/block:")
        return
    on_data(content, spec, fold)
    leakage_section(content, spec, fold)
    parts_section(content, spec, fold)
    take_along(spec)


def take_along(spec: RunSpec) -> None:
    """Buttons in a row."""
    st.header("Use this split", anchor=False)
    with st.container(horizontal=True, vertical_alignment="center"):
        # A tab of its own: a link within this session would lose choices that came by the address.
        st.link_button(
            "Run with this split",
            f"./?{urlencode(address_of(spec))}",
            icon=":material/play_circle:",
            type="primary",
            help="Opens the Run page in a new tab, with this dataset and split filled in.",
        )
        split_download(spec, key="split-zip", label="ZIP with CSV files")
        split_download(spec, key="split-recbole", label="ZIP for RecBole", form="recbole")
        copy_link(address_of(spec))
    st.caption(
        "The files name users and items, so the licence of the data applies to them; a README in "
        "them says strategy, seed, filtering and what is in each part."
    )


def address_of(spec: RunSpec) -> dict[str, str]:
    """The query parameters that choose this split, here and on the Run page."""
    owner = parameters_owner(spec.split)
    return {
        "dataset": spec.dataset,
        SPLIT: spec.split,
        SEED: str(spec.seed),
        **({} if SPLITS[spec.split].single else {K: str(spec.k)}),
        **{
            parameter_key(owner, name): str(value).lower()
            for name, value in spec.split_params
            if value != ""
        },
    }
