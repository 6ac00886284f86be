"""How a strategy splits: settings beside the toy, then the same on the data, part by part."""

from __future__ import annotations

import streamlit as st

from ecv_core.errors import EcvError
from pages.components.shared.state import escaped, sentence, sentences
from pages.components.splits.choice import choose_split
from pages.components.splits.computed import check_split, content_of
from pages.components.splits.leakage import leakage_section
from pages.components.splits.on_data import on_data
from pages.components.splits.parts import parts_section
from pages.components.splits.strategies import strategy_list
from pages.components.splits.take import take_along
from pages.components.splits.toy import fold_slider, toy_picture


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
        st.info(
            f"Download {escaped(spec.dataset)} above to see this split on it.",
            icon=":material/cloud_download:",
        )
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
