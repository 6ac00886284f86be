"""Chapter 8: what the rule would have spared in every recorded run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import plotly.graph_objects as go

from ecv_core.figures.heatmap import heatmap_at
from ecv_core.figures.palette import stop_scale
from ecv_core.figures.study_summary import Summary, scores_frame, systems_of
from ecv_core.figures.words import runs_in_catalogue_order
from ecv_core.records.run import RunRecord
from ecv_core.records.spec import RunSpec
from pages.learn.material.recorded_runs import complete_runs
from pages.learn.parts import save_chart
from pages.studies.figures import (
    draw_slider,
    headline_sentences,
    show_energy_sources,
    show_headline,
    show_stops,
)
from pages.studies.view import summary_of

_LEAST_WIDTH = 700
"""Pixels in which the numbers of a saved picture can still be read."""


def show() -> None:
    """The slider, the sums, the folds of every run: the study as its page has it."""
    runs = runs_in_catalogue_order(complete_runs())
    study = summary_of(systems_of(runs), ranked=False)
    draw_slider(study, partial(_show_at_alpha, study, runs))


def _show_at_alpha(study: Summary, runs: Sequence[RunRecord], alpha: float) -> None:
    specs = [run.spec for run in runs]
    show_headline(study, specs)
    show_stops(study, scores_frame(runs))
    _draw_save_menu(study, specs, alpha)
    show_energy_sources(study, runs)


def _draw_save_menu(study: Summary, specs: Sequence[RunSpec], alpha: float) -> None:
    """The menu that saves the stops at each alpha, as steps."""
    scale = stop_scale(study.k)

    def draw(*, dark: bool) -> list[go.Figure]:
        figures = []
        for step_alpha in study.alphas:
            figures.append(
                heatmap_at(study.cells, step_alpha, value="mean_stop", scale=scale, dark=dark)
            )
        return figures

    save_chart(
        "savings",
        draw,
        subtitle=f"Mean stop of {len(specs)} recorded runs in every order of the folds, "
        f"k = {study.k}",
        sentences=headline_sentences(study, specs),
        step_names=[f"alpha {text}" for text in study.alpha_texts],
        initial_step=study.alphas.index(alpha),
        least_width=_LEAST_WIDTH,
    )
