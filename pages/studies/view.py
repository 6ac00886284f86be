"""The study of datasets and algorithms: headline, figures 2 to 4, the rules as a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from ecv_core.analysis.tradeoff.recorded import WITHIN_PERCENT
from ecv_core.analysis.tradeoff.rule_curves import curves_by_rule
from ecv_core.figures.heatmap import heatmap_at, ranks_at
from ecv_core.figures.palette import difference_scale, stop_scale
from ecv_core.figures.report.describe import Description, describe_study
from ecv_core.figures.report.pictures import printed_figure
from ecv_core.figures.study_summary import Summary, scores_frame, summary, systems_of
from ecv_core.figures.words import alpha_text, counted
from ecv_core.records.run import RunRecord, Scores
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import RULES
from ecv_core.store.recorded import recorded_runs, recorded_stopped_runs
from pages.shared.address.link import params_of_widgets, repeat_link_warnings, write_into_link
from pages.shared.address.navigation import RANKS
from pages.shared.charts.cite import draw_paper_panel, machine_and_versions
from pages.shared.charts.precision_curves import user_rule_curves
from pages.shared.live.state import errors_as_sentences
from pages.shared.widgets.choices import pick_runs, picked_line, runs_words
from pages.shared.widgets.sliders import KEY as ALPHA_KEY
from pages.shared.widgets.tabs import draw_tabs
from pages.studies.figures import (
    draw_slider,
    show_differences,
    show_energy_sources,
    show_headline,
    show_ranks,
    show_rules,
    show_scores,
    show_stops,
)
from pages.studies.own import (
    RECORDED,
    cells_of,
    compares_splits,
    draw_start_form,
    pick_study,
    show_progress,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_NOT_YET = "The figures come as soon as a run has all its folds."


def show_study() -> None:
    """Everything below the title.

    Raises:
        EcvError: If a study cannot be shown.
    """
    repeat_link_warnings()
    recorded = _recorded_study()
    study_id = pick_study()
    if study_id != RECORDED:
        _show_own_study(study_id)
    elif recorded:
        _show_figures(recorded, [run.spec for run in recorded])
    else:
        st.info("No recorded runs came with this copy; start a study of your own below.")
    with st.expander("Start a study of your own", icon=":material/add:", key=f"new-{study_id}"):
        draw_start_form(recorded)


def _show_own_study(study_id: str) -> None:
    cells = cells_of(study_id)
    show_progress(study_id, cells)
    if compares_splits(study_id):
        st.info(f"This study compares splits: it is in the view **{RANKS}**.")
        return
    runs = []
    for cell in cells:
        if cell.run is not None and (cell.run.whole or cell.ended_early):
            runs.append(cell.run)
    if not runs:
        st.info(_NOT_YET)
        return
    _show_figures(runs, [cell.spec for cell in cells])


def _recorded_study() -> list[RunRecord]:
    """The whole recorded runs, and of the other cells those that ended at their stop.

    A damaged file is a sentence, and the others still count.
    """
    whole = []
    with errors_as_sentences():
        whole = [run for run in recorded_runs() if run.whole]
        return whole + recorded_stopped_runs()
    return whole


def _show_figures(runs: Sequence[RunRecord], specs: Sequence[RunSpec]) -> None:
    """The choice among runs, and the figures of those that are picked.

    Args:
        runs: At least one.
        specs: The specs of all runs that the study is to have.
    """
    line, widgets = picked_line(key="picked-study")
    with widgets:
        picked_runs = pick_runs(runs, specs, prefix="study_")
    whole_runs = [run for run in picked_runs if run.whole]
    words = runs_words(picked_runs)
    if len(picked_runs) > len(whole_runs):
        # The table of scores marks these runs with the same sign.
        words += f", {len(picked_runs) - len(whole_runs)} of them ended early †"
    line.markdown(words)
    scores_table = scores_frame(picked_runs)
    if whole_runs:
        systems = systems_of(whole_runs)
        # Ranks take longest, so they are made only in their tab.
        study = summary_of(systems, ranked=False)
        draw_slider(study, partial(_show_at_alpha, study, systems, whole_runs, scores_table))
    elif picked_runs:
        st.info(_NOT_YET)
        show_scores(scores_table)


def _show_at_alpha(
    study: Summary,
    systems: list[Scores],
    runs: Sequence[RunRecord],
    scores_table: pd.DataFrame,
    alpha: float,
) -> None:
    """The answer at this alpha, and its pictures behind tabs, made when they are opened.

    Args:
        study: The study, without ranks.
        systems: Its runs as systems.
        runs: Its runs, all of them whole.
        scores_table: As of `scores_frame`, of these runs and of those that ended early.
        alpha: The one of the slider.
    """
    specs = [run.spec for run in runs]

    def draw_rules() -> None:
        show_rules(study, _rules_frame(study, tuple(RULES)))

    def draw_ranks() -> None:
        # `study` has no ranks, so the summary is made again, with them.
        show_ranks(summary_of(systems), scores_table)

    def describe() -> Description:
        return describe_study(study.cells, runs, machine_and_versions(runs), alpha=alpha)

    show_headline(study, specs)
    draw_tabs(
        {
            "Difference": partial(show_differences, study, scores_table),
            "Folds used": partial(show_stops, study, scores_table),
            "Ranks": draw_ranks,
            "Rules": draw_rules,
            "Scores": partial(show_scores, scores_table),
        },
        key="study-part",
    )
    params = params_of_widgets("study_datasets", "study_algorithms")
    params[ALPHA_KEY] = [alpha_text(alpha)]
    write_into_link(params)
    show_energy_sources(study, runs)
    draw_paper_panel(
        describe,
        key="study",
        pictures=_pictures(study, systems, alpha),
        title=f"{counted(len(runs), 'run')}, alpha {alpha_text(alpha)}",
        specs=specs,
    )


def _pictures(
    study: Summary, systems: list[Scores], alpha: float
) -> dict[str, Callable[[], Figure]]:
    """Name of each figure for print -> what draws it, at one alpha."""
    cells = study.cells[study.cells["alpha"] == alpha]
    draw_differences = partial(
        heatmap_at, cells, alpha, value="difference_percent", scale=difference_scale(cells)
    )
    draw_stops = partial(heatmap_at, cells, alpha, value="mean_stop", scale=stop_scale(study.k))

    def print_ranks() -> Figure:
        ranked = summary_of(systems)
        return printed_figure(partial(ranks_at, ranked.ranks, ranked.stability, alpha))

    pictures: dict[str, Callable[[], Figure]] = {
        "Difference": partial(printed_figure, draw_differences),
        "Folds used": partial(printed_figure, draw_stops),
    }
    if len(systems) > study.cells["dataset"].nunique():  # ranks need a dataset with two algorithms
        pictures["Ranks"] = print_ranks
    return pictures


@st.cache_data(
    show_spinner="Walking through every order of the folds ...",
    max_entries=24,
    hash_funcs={Scores: attrgetter("fingerprint")},
)
def summary_of(systems: list[Scores], *, ranked: bool = True) -> Summary:
    """The study's figures as data, which Streamlit keeps.

    Args:
        systems: At least one, in the order in which rows and columns are to come.
        ranked: Whether with ranks.

    Raises:
        EcvError: If scores cannot be explored.
    """
    return summary(systems, ranked=ranked)


@st.cache_data(
    show_spinner="Comparing the rules ...",
    max_entries=24,
    hash_funcs={Summary: attrgetter("fingerprint")},
)
def _rules_frame(study: Summary, rules: tuple[str, ...]) -> pd.DataFrame:
    """Every rule beside the paper's, which Streamlit keeps."""
    # `rules` is only part of the cache's key, so that a rule that is registered later is compared
    # too.
    systems = study.tradeoff.systems
    return study.rules(
        curves_by_rule(user_rule_curves(system, WITHIN_PERCENT) for system in systems)
    )
