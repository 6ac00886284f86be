"""Take the split along: a link, a run with it, files for others."""

from __future__ import annotations

from urllib.parse import urlencode

import streamlit as st

from ecv_core.records import RunSpec
from ecv_core.splits import SPLITS
from pages.components.shared.link import copy_link
from pages.components.shared.parameter_widgets import parameter_key
from pages.components.shared.split_download import split_download
from pages.components.shared.split_widgets import SEED, SPLIT, K, parameters_owner


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
