"""How a strategy splits: the choice beside the toy, then the same on the data, part by part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pandas as pd
import streamlit as st

from ecv_core import dataset as datasets
from ecv_core import splits
from ecv_core.analysis.split_tables.parts import parts_frame
from ecv_core.analysis.split_tables.toy import ToySplit, toy_split
from ecv_core.dataset.preparation import prepared
from ecv_core.figures.splits import timeline_figure, timeline_steps
from ecv_core.figures.words import counted, dataset_title, is_or_are, titled, titles_of
from ecv_core.fold import folds_of
from ecv_core.fold.spec import make_spec
from ecv_core.records.errors import EcvError
from ecv_core.records.interactions import Folds, Part
from ecv_core.records.parameters import percent_text
from ecv_core.records.spec import RunSpec
from ecv_core.records.tasks import Task
from ecv_core.splits import SPLITS, FoldParts, Leakage, Strategy, serving
from ecv_core.splits.parts import day
from ecv_core.stopping import NEVER_STOPS
from pages.shared.address.link import translate_address, write_into_link
from pages.shared.base.glossary import explained, glossary_link
from pages.shared.base.rows import row_container
from pages.shared.charts.plot import plot
from pages.shared.live.state import errors_as_sentences, escaped, sentence
from pages.shared.widgets.dataset_picker import PickedDataset, not_ready, pick_dataset
from pages.shared.widgets.setting_widgets import (
    SEED,
    SPLIT,
    K,
    owner_of_split_parameters,
    parameter_key,
    pick_setting,
    pick_strategy,
    pick_strategy_parameters,
    set_usual_k,
    split_advice,
    split_download,
    titles_in,
)
from pages.shared.widgets.sliders import show_numbers_of_slider, watch_slider
from pages.shared.widgets.tables import (
    FOLD_HELP,
    draw_csv_button,
    file_name,
    number,
    table,
    with_folds_from_1,
)

_SPECS: dict[str | type[Any], Callable[[Any], Any]] = {RunSpec: RunSpec.to_json}


class ViewedFold(NamedTuple):
    """One fold of a dataset under a split."""

    data_version: str
    """Of the dataset: another one where its file has changed."""
    spec: RunSpec
    fold: int

    @property
    def title(self) -> str:
        """The dataset as people read it."""
        return dataset_title(self.spec.dataset)

    def frame(self, folds: Iterable[int]) -> pd.DataFrame:
        """What is in each part of these folds, as a table."""
        return parts_frame({fold: _parts(self._replace(fold=fold)) for fold in folds})


@st.cache_data(show_spinner=False, max_entries=256, hash_funcs=_SPECS)
def _parts(viewed: ViewedFold) -> FoldParts:
    folds = _folds(viewed.data_version, viewed.spec)
    return splits.fold_parts(prepared(viewed.spec.dataset), folds, viewed.fold)


@st.cache_data(show_spinner="Comparing times ...", max_entries=256, hash_funcs=_SPECS)
def _leakage(viewed: ViewedFold) -> Leakage | None:
    folds = _folds(viewed.data_version, viewed.spec)
    return splits.leakage(prepared(viewed.spec.dataset), folds, viewed.fold)


@st.cache_resource(show_spinner=False, max_entries=4, hash_funcs=_SPECS)
def _folds(data_version: str, spec: RunSpec) -> Folds:
    """Some megabytes for a million interactions, so only the newest few are kept."""
    return folds_of(spec)


@st.cache_data(show_spinner=False, max_entries=64, hash_funcs=_SPECS)
def _toy(spec: RunSpec) -> ToySplit:
    """The toy under the chosen strategy, cut where the toy's own time allows."""
    params = dict(spec.split_params)
    params.pop("time_point", None)  # the toy example has another calendar
    return toy_split(spec.split, spec.k, spec.seed, params)


SLIDER = "split-fold"
FOLD = "fold"
_BOX = "split-fold-box"
_MOST_STEPS = 50
"""More folds than this are not stepped through in the browser."""


def pick_fold(spec: RunSpec) -> int:
    """Which fold, repetition or window to look at; 0 where there is only one."""
    with st.container(key=_BOX):
        if spec.k == 1:
            watch_slider(SLIDER, container=_BOX, step=0)
            return 0
        fold = _fold_of_address(spec.k)
        st.session_state[FOLD] = fold + 1
        word = SPLITS[spec.split].fold_word
        st.slider(
            f"Which {word}", 1, spec.k, key=FOLD, help=FOLD_HELP, on_change=_write_fold_into_address
        )
        watch_slider(SLIDER, container=_BOX, step=fold)
        return fold


def _fold_of_address(k: int) -> int:
    """The fold that the address names, of k; the first where it names none."""
    try:
        fold = int(st.query_params.get(FOLD, 0))
    except ValueError:
        return 0
    return min(max(fold, 0), k - 1)


def _write_fold_into_address() -> None:
    """As in files, folds count from 0 in the address, and people see them from 1."""
    st.query_params[FOLD] = str(st.session_state[FOLD] - 1)


def draw_toy(spec: RunSpec) -> None:
    """The figure and its sentence.

    Raises:
        FoldsError: If even the toy cannot be split so.
    """
    toy = _toy(spec)
    steps = range(min(spec.k, _MOST_STEPS))
    # The toy example may have fewer folds than the slider has steps. It then stays at its last
    # fold.
    folds = [min(step, toy.k - 1) for step in steps]
    sentences = [toy_sentence(toy, fold) for fold in folds]
    marks = toy.marks.drop(columns=["user", "level"])
    draw_steps = partial(timeline_steps, toy, sentences, folds)
    people = toy.marks["user"].nunique()
    st.caption(f"An example with {people} made-up users; the dataset itself is below.")
    plot(
        partial(timeline_figure, toy),
        cache_key=(spec.split, spec.k, spec.seed, spec.split_params),
        key="split-toy",
        alt=sentences[0],
        slider_name=SLIDER,
        steps=draw_steps,
        name=f"{spec.split} on an example",
        table=marks.copy,
    )
    show_numbers_of_slider(SLIDER, key="split-toy-words", sentences=sentences)
    if toy.k < spec.k:
        st.caption(
            f"The example has room for {toy.k} of the {spec.k:,} folds; later ones show its last."
        )
    if dict(spec.split_params).get("time_point"):
        st.caption("The example has a calendar of its own: it is cut where its last share begins.")


def toy_sentence(toy: ToySplit, fold: int) -> str:
    """What the picture of a fold shows, in words."""
    interactions = toy.marks[toy.marks["fold"] == fold]  # a row for each interaction, with its part
    counts = Counter(interactions["part"])
    learnt = counts["training"] + counts["fold-in"]
    tested = counts["test"]
    words = (
        f"The model learns from {counted(learnt, 'interaction')}; {tested} "
        f"{is_or_are(tested)} tested."
    )
    unknown = counts["unknown"]
    if unknown:
        words += (
            f" {unknown} more {is_or_are(unknown)} of a person or an item that training does not "
            "know."
        )
    leak = toy.leaks[fold]
    if leak is not None:
        # The leak has two rows: a later training interaction, and an earlier one that is tested.
        learnt_later, tested_earlier = leak.to_dict("records")
        words += (
            f" The arrow goes back in time: {learnt_later['name']} takes {learnt_later['item']} on "
            f"day {learnt_later['day']}, and a model that learned this predicts that "
            f"{tested_earlier['name']} takes it on day {tested_earlier['day']}."
        )
    elif toy.periods[fold] is not None:
        words += " Nothing that the model learns from lies after the line, so nothing leaks."
    return words


def _counts_sentence(viewed: ViewedFold) -> str:
    """How much is learnt from and tested, and from when it is."""
    counts = _parts(viewed).counts
    train = counts[Part.TRAIN]
    test = counts[Part.TEST]
    words = (
        f"A model learns from {counted(train.interactions, 'interaction')} of "
        f"{counted(train.users, 'user')} and is tested on {counted(test.interactions, 'other')} of "
        f"{counted(test.users, 'user')}."
    )
    if train.first_time is None or test.first_time is None:
        return words
    return (
        f"{words} Training data are from {day(train.first_time)} to {day(train.last_time)}, "
        f"test data from {day(test.first_time)} to {day(test.last_time)}."
    )


_MOST_FOLDS = 100
"""In a file; each takes some seconds for large data."""


def show_parts(viewed: ViewedFold) -> None:
    """Table, what training does not know, CSV."""
    spec = viewed.spec
    st.header("What is in each part", anchor=False)
    columns = {name: number(name) for name in ("users", "items", "interactions", "baskets")}
    columns["percent"] = number("%", "%.1f")
    columns["fold"] = number("fold", help=FOLD_HELP)
    table(
        with_folds_from_1(viewed.frame([viewed.fold])),
        columns,
        placeholder="",
        key="split-parts",
        alt=f"Users, items and interactions of every part of {titled(spec.split)}, {viewed.title}",
    )
    st.markdown(_unknown_words(viewed))
    st.caption(
        f"A {glossary_link('validation-part')} is for choosing settings. Training holds the "
        f"{glossary_link('fold-in')} of tested users, where the strategy has one; a user without "
        f"any training is a {glossary_link('cold-user')}."
    )
    folds = range(min(spec.k, _MOST_FOLDS))
    label = "CSV"
    if spec.k > 1:
        label = f"CSV of all {len(folds)} folds"
    draw_csv_button(
        label,
        partial(viewed.frame, folds),
        f"{file_name(f'parts {spec.split} {spec.dataset}')}.csv",
        key="split-parts-csv",
    )


def _unknown_words(viewed: ViewedFold) -> str:
    parts = _parts(viewed)
    fold = f"In fold {viewed.fold + 1}"
    if not parts.unknown_interactions and not parts.dropped:
        return f"{fold}, training knows every user and every item that is tested."
    return (
        f"{fold}, training does not know **{counted(parts.unknown_users, 'user')}** and "
        f"**{counted(parts.unknown_items, 'item')}** of what is or would be tested: "
        f"{counted(parts.unknown_interactions, 'test interaction')}. For this reason "
        f"{counted(parts.dropped, 'held-out interaction')} dropped out."
    )


def show_leakage(viewed: ViewedFold) -> None:
    """The share of training that lies later than what it predicts, with its sentence."""
    st.header("Does the future leak into training?", anchor=False)
    leakage = _leakage(viewed)
    if leakage is None:
        st.info(
            f"{escaped(viewed.title)} has neither timestamps nor any other order, so it is not "
            "known what came later. Pick a dataset with timestamps, such as Synthetic.",
            icon=":material/schedule:",
        )
        return
    share = leakage.of_any_user
    of_users = "of any user"
    if share is None:
        share = leakage.of_same_user
        of_users = "of the same user"
    st.metric(
        f"Training that lies later ({of_users})",
        _share_text(share),
        help=explained(
            "A pair is a training interaction and a test interaction that it helps to predict; "
            "it leaks where the training interaction is strictly later.",
            "leakage",
            "interaction",
        ),
    )
    if share:
        pairs_of_100 = percent_text(share, ".0f").removesuffix(" %")
        st.markdown(
            f"Of every 100 pairs of a training and a test interaction {of_users}, "
            f"**{pairs_of_100}** have the training interaction later: the model learns what "
            "it could not have known then."
        )
    elif share is not None:
        st.markdown(
            f"**Nothing leaks**: no training interaction {of_users} lies after what it helps to "
            "predict."
        )
    if leakage.of_any_user is None:
        st.caption(
            "Times of different users cannot be compared here, so it is not known what others did "
            "later."
        )
        return
    same_item = _share_text(leakage.of_same_item)
    same_user = _share_text(leakage.of_same_user)
    st.caption(
        f"Among pairs of the same item this share is {same_item}, among pairs of the same user "
        f"{same_user}. At least one later training interaction is there for "
        f"{_share_text(leakage.leaked_tests)} of the test interactions."
    )


def _share_text(share: float | None) -> str:
    if share is None:
        return "unknown"
    return percent_text(share, ".1f").replace(" ", "\u00a0")


def show_splits() -> None:
    """The whole view.

    Raises:
        EcvError: If a choice does not work.
    """
    left_column, right_column = st.columns([2, 3], gap="large")
    with left_column:
        spec, dataset = choose_split()
    with right_column:
        fold = pick_fold(spec)
        with errors_as_sentences():
            draw_toy(spec)
    if not dataset.ready:
        st.info(not_ready(dataset.entry), icon=":material/cloud_download:")
        return
    viewed = ViewedFold(datasets.source_key(dataset.entry), spec, fold)
    try:
        with st.spinner("Splitting ..."):
            # The folds are kept, so that what is shown below need not wait for them again.
            _folds(viewed.data_version, spec)
    except EcvError as error:
        st.warning(sentence(error), icon=":material/block:")
        return
    st.header(f"On {escaped(viewed.title)}", anchor=False)
    st.markdown(_counts_sentence(viewed))
    show_leakage(viewed)
    show_parts(viewed)
    offer_split(spec)


def offer_split(spec: RunSpec) -> None:
    """Buttons in a row."""
    st.header("Use this split", anchor=False)
    with row_container():
        # The link opens another tab, as in this one it would lose the choices that came by the
        # address.
        st.link_button(
            "Run with this split",
            f"./run?{urlencode(address_of(spec))}",
            icon=":material/play_circle:",
            type="primary",
            help="Opens the Run page in a new tab, with this dataset and split filled in.",
        )
        split_download(spec, key="split-zip", label="ZIP with CSV files")
        write_into_link(address_of(spec))
    st.caption(
        "The files name users and items, so the licence of the data applies to them; a README in "
        "them says strategy, seed, filtering and what is in each part."
    )


def address_of(spec: RunSpec) -> dict[str, str]:
    """The query parameters that choose this split, here and on the Run page."""
    params = {"dataset": spec.dataset, SPLIT: spec.split, SEED: str(spec.seed)}
    if not SPLITS[spec.split].single:
        params[K] = str(spec.k)
    owner = owner_of_split_parameters(spec.split)
    for name, value in spec.split_params:
        if value != "":  # an empty text has no place in the address
            # In an address, Streamlit writes a switch that is on as 'true'.
            params[parameter_key(owner, name)] = str(value).lower()
    return params


MODEL = "popular"
"""A split has no model, but a spec has; this one is the cheapest."""


class ChosenSplit(NamedTuple):
    """A split of a dataset."""

    spec: RunSpec
    """Of a run on it."""
    dataset: PickedDataset


def _explain_strategy(strategy: Strategy, dataset: PickedDataset) -> None:
    """What a strategy means to e-fold cross-validation, its source, and advice for the dataset."""
    st.caption(f"*e-fold cross-validation.* {escaped(strategy.ecv)}")
    source_and_advice = f"*Source.* {escaped(strategy.source)}."
    if dataset.ready:
        source_and_advice += f"\n\n{split_advice(dataset.entry.id, strategy)}"
    st.caption(source_and_advice)


def choose_split() -> ChosenSplit:
    """Draw the widgets of a split, and give what is picked.

    Raises:
        InputError: If a value does not work.
    """
    translate_address(
        "dataset", titles_of(datasets.catalogue(), dataset_title), warns_of_unknown=True
    )
    translate_address(SPLIT, titles_in(SPLITS), warns_of_unknown=True)
    with st.container(border=True):
        dataset = pick_dataset()
        strategy = SPLITS[pick_strategy(serving(Task.TOP_N))]
        st.caption(escaped(strategy.help))
        params = pick_strategy_parameters(strategy)
        left_column, right_column = st.columns(2)
        seed = pick_setting("seed", left_column, help=explained(_SEED_HELP, "seed"), width=200)
        set_usual_k(strategy.id)
        k = 1  # A strategy that splits only once, such as a hold-out, asks for no k.
        if not strategy.single:
            k = pick_setting("k", right_column, help=explained(_K_HELP, "k", "fold"))
        _explain_strategy(strategy, dataset)
    spec = make_spec(
        dataset=dataset.entry.id,
        algorithm=MODEL,  # a spec needs an algorithm; the split is the same for all
        split=strategy.id,
        split_params=params,
        k=k,
        seed=seed,
        rule=NEVER_STOPS,
    )
    return ChosenSplit(spec, dataset)


_SEED_HELP = "Fixes every random choice of the split: same seed, same split."
_K_HELP = (
    "How many folds, repetitions, windows or steps back the strategy makes; of repetitions and "
    "steps back, the first fold is the single split that papers report."
)
