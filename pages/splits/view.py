"""How a strategy splits: the choice beside the toy, then the same on the data, part by part."""

from __future__ import annotations

from urllib.parse import urlencode

import streamlit as st

import ecv_core.dataset as datasets
from ecv_core.fold.spec import make_spec
from ecv_core.records.errors import EcvError, UnknownName
from ecv_core.records.spec import RunSpec, Task
from ecv_core.splits import SPLITS, Strategy, serving, strategy
from ecv_core.stopping import NEVER_STOPS
from pages.shared.address.link import link_has
from pages.shared.live.state import escaped, sentence, sentences
from pages.shared.widgets.dataset_picker import dataset_picker, not_ready
from pages.shared.widgets.glossary import explained
from pages.shared.widgets.setting_widgets import (
    SEED,
    SPLIT,
    K,
    known_split,
    parameter_key,
    parameters_owner,
    setting_widget,
    split_download,
    strategy_parameters,
    strategy_select,
    usual_k,
)
from pages.splits.computed import check_split
from pages.splits.on_data import leakage_section, on_data, parts_section
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
    if not ready:
        st.info(not_ready(datasets.entry(spec.dataset)), icon=":material/cloud_download:")
        return
    content = datasets.source_key(spec.dataset)
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
            f"./run?{urlencode(address_of(spec))}",
            icon=":material/play_circle:",
            type="primary",
            help="Opens the Run page in a new tab, with this dataset and split filled in.",
        )
        split_download(spec, key="split-zip", label="ZIP with CSV files")
        split_download(spec, key="split-recbole", label="ZIP for RecBole", form="recbole")
        link_has(address_of(spec))
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


MODEL = "popular"
"""A split has no model, but a spec has; this one is the cheapest."""

_CHECKS = {"dataset": datasets.entry, SPLIT: strategy}


def choose_split() -> tuple[RunSpec, bool]:
    """The picked split as a spec, and whether its dataset is ready to be used.

    Raises: InputError for a value that cannot work.
    """
    _link_check()
    known_split()
    with st.container(border=True):
        entry, ready = dataset_picker()
        split_id = strategy_select(serving(Task.TOP_N))
        known = SPLITS[split_id]
        st.caption(f"**{escaped(known.title)}.** {escaped(known.help)}")
        params = strategy_parameters(known)
        left, right = st.columns(2)
        seed = setting_widget("seed", left, help=explained(_SEED_HELP, "seed"), width=200)
        usual_k(split_id)
        k = 1
        if not known.single:
            k = setting_widget("k", right, help=explained(_K_HELP, "k", "fold"))
        _more(known)
    spec = make_spec(
        dataset=entry.id,
        algorithm=MODEL,
        split=split_id,
        split_params=params,
        k=k,
        seed=seed,
        rule=NEVER_STOPS,
    )
    return spec, ready


def _more(known: Strategy) -> None:
    st.caption(f"*e-fold cross-validation.* {escaped(known.ecv)}")
    st.caption(f"*Source.* {escaped(known.source)}.")


_SEED_HELP = "Fixes every random choice of the split: same seed, same split."
_K_HELP = (
    "How many folds, repetitions, windows or steps back the strategy makes; of repetitions and "
    "steps back, fold 0 is the single split that papers report."
)


def _link_check() -> None:
    """Say what the address asks for that is not here; the widgets show the usual instead."""
    for name, check in _CHECKS.items():
        for value in st.query_params.get_all(name):
            try:
                check(value)
            except UnknownName as error:
                st.warning(f"From the link: {sentence(error)}", icon=":material/link_off:")
            except EcvError as error:
                st.warning(sentence(error), icon=":material/link_off:")
