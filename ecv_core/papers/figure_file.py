"""Any figure that a paper can print -> a file: of a run, of the recorded study, of a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ecv_core.figures.p_values import p_values_figure
from ecv_core.figures.report.figure_file import (
    check_begun,
    check_folder,
    form_of,
    picture_of_run,
    picture_of_study,
    written,
)
from ecv_core.figures.report.moving import MovingForm, moving_form_of, write_moving
from ecv_core.figures.report.pictures import Make
from ecv_core.figures.words import CURVES
from ecv_core.papers.published import published, published_datasets, recorded, recorded_entries
from ecv_core.papers.rating_figures import (
    board_figure,
    board_frame,
    curves_figure,
    dimension_frame,
    spaces_figure,
    steps_frame,
)
from ecv_core.records.errors import InputError, UnknownName
from ecv_core.records.run import RunRecord
from ecv_core.selection.tuning.metrics_study import curves_frame, study_metrics
from ecv_core.stopping import PAPERS_RULE, axis_of
from ecv_core.store.configurations import (
    TUNINGS,
    configuration_names,
    recorded_spaces,
    recorded_tuning,
)
from ecv_core.store.lookup import find_run
from ecv_core.store.recorded import FOLDER

STUDY = "study"


def write_figure(
    run: str | RunRecord, kind: str, path: Path, alpha: object = None, folder: Path = FOLDER
) -> str:
    """Draw a figure and write the file, in the form that its name says.

    Args:
        run: a run, its id, that of a recorded one, or 'study' for the recorded study; for
            'p-values' a recorded tuning, for 'dimensions' and 'steps' ml-100k or ml-1m, for
            'board' a dataset with published results, for 'spaces' one with recorded spaces.
        kind: a choice of `FigureKind`.
        path: FILE.pdf, FILE.svg, FILE.pgf or FILE.png; of kind 'efold' also FILE.html, FILE.gif or
            FILE.webp, which play fold by fold.
        alpha: of the paper's rule, for all kinds but efold; None for its usual one.
        folder: the recorded runs.

    Returns:
        What the figure shows.

    Raises:
        InputError: for what cannot be drawn.
        RunError: if the file cannot be written.
    """
    moving = moving_form_of(path)
    if moving is not None:
        return _write_moving(run, kind, moving, path, folder)
    form = form_of(path)
    if kind in CURVES:
        return written(CURVES_BY_KIND[kind](str(run)), form, path, f"{kind} of {run}")
    axis = axis_of(PAPERS_RULE)
    chosen_alpha = float(axis.parse(axis.default if alpha is None else alpha))
    if run == STUDY:
        make, title = picture_of_study(kind, chosen_alpha, folder)
    else:
        make, title = picture_of_run(_run_of(run, folder), kind, chosen_alpha, folder)
    return written(make, form, path, title)


def _run_of(run: str | RunRecord, folder: Path) -> RunRecord:
    """A run, or the one with this id."""
    if isinstance(run, RunRecord):
        return run
    return find_run(run, folder=folder)


def _write_moving(
    run: str | RunRecord, kind: str, form: MovingForm, path: Path, folder: Path
) -> str:
    """Write a figure that plays fold by fold; see `write_figure`."""
    if kind != "efold" or run == STUDY:
        raise InputError(
            f"only --kind efold of a run plays, so {kind} cannot be written as {path}; "
            "use FILE.pdf, FILE.svg, FILE.pgf or FILE.png"
        )
    check_folder(path)
    record = _run_of(run, folder)
    check_begun(record)
    return write_moving(record, form, path)


def _p_values(tuning: str) -> Make:
    """Sorted p values of all pairs of settings of a recorded tuning."""
    tunings = configuration_names(TUNINGS)
    if not tunings:
        raise InputError(
            "recorded tunings stay in the project, and none came with this copy; "
            "draw p-values in a clone of it"
        )
    _check_name("recorded tuning", tuning, tunings)
    study = study_metrics(recorded_tuning(tuning))
    return lambda: p_values_figure(curves_frame(study))


def _board(dataset: str) -> Make:
    """Published results of a dataset beside recorded ones."""
    _check_name("dataset with published results", dataset, published_datasets())
    entries = [*published(dataset).entries, *recorded_entries(dataset)]
    return lambda: board_figure(board_frame(entries))


def _spaces(dataset: str) -> Make:
    """What different search spaces of a dataset find."""
    spaces = recorded_spaces()
    _check_name("dataset with recorded spaces", dataset, list(spaces))
    return partial(spaces_figure, spaces[dataset])


def _dimensions(dataset: str) -> Make:
    """RMSE over the number of dimensions of factor models."""
    runs = _factor_runs(dataset)
    sizes = dimension_frame(runs, [run.spec.algorithm for run in runs])
    return lambda: curves_figure(sizes, across="dimension")


def _steps(dataset: str) -> Make:
    """RMSE over the sampling steps of the factor models with the most dimensions."""
    runs = [run for run in _factor_runs(dataset) if "steps" in dict(run.spec.params)]
    largest = max(int(dict(run.spec.params)["dimension"]) for run in runs)
    steps = steps_frame([run for run in runs if dict(run.spec.params)["dimension"] == largest])
    return lambda: curves_figure(steps, across="step")


def _factor_runs(dataset: str) -> list[RunRecord]:
    """The recorded runs of rating models that have a number of dimensions."""
    runs = [run for run in recorded(dataset) if "dimension" in dict(run.spec.params)]
    if not runs:
        raise UnknownName("dataset with recorded rating predictions", dataset, ["ml-100k", "ml-1m"])
    return runs


def _check_name(what: str, name: str, names: Sequence[str]) -> None:
    if name not in names:
        raise UnknownName(what, name, names)


CURVES_BY_KIND = {
    "p-values": _p_values,
    "dimensions": _dimensions,
    "steps": _steps,
    "board": _board,
    "spaces": _spaces,
}
