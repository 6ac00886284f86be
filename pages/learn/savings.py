"""Chapter 8: what the rule would have spared in every recorded run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ecv_core.figures.study_summary import Summary, scores_frame, systems_of
from ecv_core.figures.words import runs_in_order
from ecv_core.records.run import RunRecord
from pages.learn.material.recorded_runs import complete_runs
from pages.studies.figures import draw_slider, show_energy_sources, show_headline, show_stops
from pages.studies.view import studied


def show() -> None:
    """The slider, the sums, the folds of every run: the study as its page has it."""
    runs = runs_in_order(complete_runs())
    done = studied(systems_of(runs), ranked=False)
    draw_slider(done, partial(_show_parts, done, runs))


def _show_parts(done: Summary, runs: Sequence[RunRecord], alpha: float) -> None:
    show_headline(done, [run.spec for run in runs])
    show_stops(done, scores_frame(runs))
    show_energy_sources(done, runs)
