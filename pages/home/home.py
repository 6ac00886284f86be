"""The front page: a race that plays by itself, and four doors: learn, try, my data, my scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from ecv_core.figures.words import algorithm_title, run_title
from ecv_core.fold.spec import make_spec
from ecv_core.records.errors import EcvError
from ecv_core.records.run import RunRecord
from ecv_core.store.recorded import recorded_run
from pages.replay.race import play_race
from pages.shared.address.navigation import open_page, page
from pages.shared.base.glossary import glossary_link
from pages.shared.base.present import draw_present_button
from pages.shared.base.rows import row_container, spread_row
from pages.shared.live.person import run_actions
from pages.shared.live.state import errors_as_sentences, manager, sentence

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

_RUN = "ml-1m--neu-mf"
"""It stops after three of ten folds, the commonest stop: that of 33 of the 72 recorded runs."""
_ALGORITHM = "multi-vae"
"""On the embedded data a fold takes it about two seconds: a hall can follow, and nobody waits."""


def show_introduction(raced_run: RunRecord | None) -> None:
    """The title and what e-fold does, with the race below as its example."""
    with spread_row():
        st.title("Know when you have evaluated enough", anchor=False, width="content")
        draw_present_button()
    example = ""
    if raced_run is not None:
        example = (
            f" Below, a recorded run of **{run_title(raced_run)}** is replayed as a race: e-fold, "
            f"which stopped after **{raced_run.stopped_at} of {raced_run.k} folds**, against "
            "cross-validation with all of them."
        )
    st.markdown(
        f"{glossary_link('e-fold', 'e-fold cross-validation')} evaluates a recommender "
        f"{glossary_link('fold')} by fold, like {glossary_link('k-fold', 'k-fold')} "
        "cross-validation, but stops as soon as the score is steady enough, which "
        f"{glossary_link('energy-saved', 'saves energy')}.{example}"
    )


def draw_doors() -> None:
    """A box for each, side by side where there is room."""
    learn, live, data, scores = st.columns(4)
    with _door(learn, "Why do scores differ from fold to fold, and how many folds are enough?"):
        st.page_link("learn/learn.py", label="Learn it", icon=":material/school:")
    with _door(
        live, f"{algorithm_title(_ALGORITHM)} on ten folds takes half a minute on an idle machine."
    ):
        _offer_live_run()
    with _door(data, "You have ratings, clicks or purchases: which algorithm is best on them?"):
        st.page_link("data/data.py", label="My data", icon=":material/upload_file:")
    with _door(scores, "You already have fold scores: how many folds would have been enough?"):
        st.page_link(
            "folds/folds.py",
            label="My scores",
            icon=":material/tune:",
            query_params={"source": "My file"},
        )


def _door(column: DeltaGenerator, question: str) -> DeltaGenerator:
    box = column.container(border=True, height="stretch", vertical_alignment="distribute")
    box.markdown(question)
    return box


def _offer_live_run() -> None:
    """A button that starts a run and opens it, or why it may not be started."""
    spec = make_spec(dataset="synthetic", algorithm=_ALGORITHM, full=True)
    refusal = run_actions().start_refusal([spec])
    row = row_container()
    pressed = row.button(
        "Try it live",
        type="primary",
        icon=":material/play_arrow:",
        key="try-it",
        disabled=refusal is not None,
    )
    if pressed:
        with errors_as_sentences():
            # Every fold is computed anew: folds of an earlier run would leave nothing to watch.
            open_page("run/run.py", {"run": run_actions().start([spec], anew=True)})
    if refusal:
        st.caption(sentence(EcvError(refusal)))
    row.page_link("run/run.py", label="Choose", icon=":material/settings:")


with page():
    # This is None only where an installation came without the recorded runs.
    raced_run = recorded_run(_RUN)
    show_introduction(raced_run)
    if raced_run is not None:
        play_race(raced_run, autoplay=True)
    draw_doors()
    manager()  # starts the worker before anybody needs it
