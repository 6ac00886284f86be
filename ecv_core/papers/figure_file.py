"""Any figure that a paper can print -> a file: of a run, of the recorded study, of a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ecv_core.figures.p_values import p_values_figure
from ecv_core.figures.report.figure_file import (
    OF_A_STUDY,
    TitledChart,
    chart_of_run,
    chart_of_study,
    check_begun,
    form_of,
    write_chart,
)
from ecv_core.figures.report.moving import (
    MovingForm,
    moving_form_of,
    moving_run,
    write_moving,
)
from ecv_core.figures.report.pictures import Make
from ecv_core.figures.report.race import ContenderRace, last_round_figure, moving_race
from ecv_core.jobs.plans.select import SelectPlan, results_of, terms_for
from ecv_core.papers.published import published, published_datasets, recorded_entries
from ecv_core.papers.rating_figures import (
    board_figure,
    board_frame,
    curves_figure,
    dimension_frame,
    dimension_of,
    factor_runs,
    spaces_figure,
    steps_frame,
)
from ecv_core.records.errors import InputError, UnknownName
from ecv_core.records.parameters import listed
from ecv_core.records.run import RunRecord
from ecv_core.selection.contenders import contenders_of
from ecv_core.selection.replay import select_in_order
from ecv_core.selection.rounds import USUAL_LOSS
from ecv_core.selection.tuning.metrics_study import curves_frame, study_metrics
from ecv_core.stopping import PAPERS_RULE, axis_of
from ecv_core.store.configurations import (
    TUNINGS,
    configuration_names,
    recorded_spaces,
    recorded_tuning,
)
from ecv_core.store.lookup import find_run, full_plan_id
from ecv_core.store.outputs import check_folder
from ecv_core.store.plans import SELECTION, stored_plan
from ecv_core.store.recorded import FOLDER, recorded_runs
from ecv_core.store.results import Results
from ecv_core.store.store import open_store

STUDY = "study"
RACE = "race"
"""The kind of a selection."""
_KINDS_WITH_ALPHA = OF_A_STUDY
"""Kinds that show what the paper's rule does at one alpha."""


def write_figure(
    subject: str | RunRecord,
    kind: str,
    path: Path,
    alpha: object = None,
    recorded_folder: Path = FOLDER,
) -> str:
    """Draw a figure and write the file, in the form that its name says.

    Args:
        subject: A run, its id, that of a recorded one, or 'study' for the recorded study; for
            'race' a selection's id or a dataset of the recorded study, for 'p-values' a recorded
            tuning, for 'dimensions' and 'steps' ml-100k or ml-1m, for 'board' a dataset with
            published results, for 'spaces' one with recorded spaces.
        kind: A choice of `FigureKind`.
        path: FILE.pdf, FILE.svg, FILE.pgf or FILE.png; of the kinds 'efold' and 'race' also
            FILE.html, FILE.gif or FILE.webp, which play fold by fold.
        alpha: The alpha of the paper's rule, for 'difference', 'stops', 'ranks' and 'tradeoff';
            None for its usual one.
        recorded_folder: The recorded runs.

    Returns:
        What the figure shows.

    Raises:
        InputError: For what cannot be drawn.
        RunError: If the file cannot be written.
    """
    if alpha is not None and kind not in _KINDS_WITH_ALPHA:
        raise InputError(
            f"alpha is for the figures {listed(_KINDS_WITH_ALPHA)}, so {kind} takes none; leave it "
            "out"
        )
    moving_form = moving_form_of(path)
    if moving_form is not None:
        return _write_moving(subject, kind, moving_form, path, recorded_folder)
    form = form_of(path)
    chart = _chart_of(subject, kind, alpha, recorded_folder)
    write_chart(chart, form, path)
    return chart.title


def _chart_of(
    subject: str | RunRecord, kind: str, alpha: object, recorded_folder: Path
) -> TitledChart:
    """What `write_figure` draws where nothing moves; its arguments."""
    if kind == RACE:
        race = _race_of(str(subject), recorded_folder)
        return TitledChart(partial(last_round_figure, race), f"{race.question} Last round")
    # Some charts show a record that came with e-fold: the subject names its dataset or its tuning.
    if kind in CHARTS_OF_RECORDS:
        chart_of_record = CHARTS_OF_RECORDS[kind]
        return TitledChart(chart_of_record(str(subject)), f"{kind} of {subject}")
    # All others show the recorded study or a run under the paper's rule. Alpha is the parameter of
    # that rule which decides how early it stops.
    alpha_parameter = axis_of(PAPERS_RULE)
    if alpha is None:
        alpha = alpha_parameter.default
    checked_alpha = float(alpha_parameter.parse(alpha))
    if subject == STUDY:
        return chart_of_study(kind, checked_alpha, recorded_folder)
    return chart_of_run(_run_of(subject, recorded_folder), kind, checked_alpha, recorded_folder)


def _run_of(subject: str | RunRecord, recorded_folder: Path) -> RunRecord:
    """A run, or the one with this id."""
    if isinstance(subject, RunRecord):
        return subject
    return find_run(subject, folder=recorded_folder)


def _write_moving(
    subject: str | RunRecord, kind: str, form: MovingForm, path: Path, recorded_folder: Path
) -> str:
    """Write a figure that plays fold by fold; its title. Arguments as of `write_figure`."""
    check_folder(path)
    if kind == RACE:
        return write_moving(moving_race(_race_of(str(subject), recorded_folder)), form, path)
    if kind != "efold" or subject == STUDY:
        raise InputError(
            f"only --kind efold of a run and --kind race of a selection play, so {kind} cannot be "
            f"written as {path}; use FILE.pdf, FILE.svg, FILE.pgf or FILE.png"
        )
    run = _run_of(subject, recorded_folder)
    check_begun(run)
    title = write_moving(moving_run(run), form, path)
    return f"{title}, fold by fold"


def _race_of(name: str, recorded_folder: Path) -> ContenderRace:
    """The selection with this id, or that of all recorded runs of the dataset with this name.

    Raises:
        InputError: If there is neither, or its first round is not complete.
    """
    runs = [run for run in recorded_runs(recorded_folder) if run.spec.dataset == name]
    if len(runs) > 1:
        return _recorded_race(runs, recorded_folder)
    # No dataset of this name has runs to choose from, so it is the beginning of a selection's id.
    store = open_store()
    record = stored_plan(store, SELECTION, full_plan_id(store, SELECTION, name))
    selection = SelectPlan.of(record)
    # The state is that after the folds that have run. It has a result once the first round is done.
    state = selection.state_after(results_of(store, record))
    if state.result is None:
        raise InputError(
            f"the selection {name} has not finished its first round, so there is nothing to draw; "
            "let it go on first"
        )
    return ContenderRace(
        contenders=state.scores,
        terms=state.terms,
        result=state.result,
        specs=[contender.spec for contender in state.contenders],
    )


def _recorded_race(runs: Sequence[RunRecord], recorded_folder: Path) -> ContenderRace:
    """Which of these recorded runs to use, played again from their folds."""
    contenders = contenders_of(runs, Results(None, recorded_folder=recorded_folder))
    terms = terms_for(runs[0].spec, expected_loss=USUAL_LOSS)
    return ContenderRace(
        contenders=contenders,
        terms=terms,
        result=select_in_order(contenders, terms, range(terms.k)),
        specs=[run.spec for run in runs],
    )


def _p_values_chart(tuning: str) -> Make:
    """Sorted p values of all pairs of settings of a recorded tuning."""
    tunings = configuration_names(TUNINGS)
    if not tunings:
        raise InputError(
            "recorded tunings stay in the project, and none came with this copy; "
            "draw p-values in a clone of it"
        )
    _check_name("recorded tuning", tuning, tunings)
    study = study_metrics(recorded_tuning(tuning))
    return partial(p_values_figure, curves_frame(study))


def _board_chart(dataset: str) -> Make:
    """Published results of a dataset beside recorded ones."""
    _check_name("dataset with published results", dataset, published_datasets())
    entries = [*published(dataset).entries, *recorded_entries(dataset)]
    return partial(board_figure, board_frame(entries))


def _spaces_chart(dataset: str) -> Make:
    """What different search spaces of a dataset find."""
    spaces = recorded_spaces()
    _check_name("dataset with recorded spaces", dataset, list(spaces))
    return partial(spaces_figure, spaces[dataset])


def _dimensions_chart(dataset: str) -> Make:
    """RMSE over the number of dimensions of factor models."""
    runs = _factor_runs(dataset)
    sizes = dimension_frame(runs, [run.spec.algorithm for run in runs])
    return partial(curves_figure, sizes, x_column="dimension")


def _steps_chart(dataset: str) -> Make:
    """RMSE over the sampling steps of the factor models with the most dimensions."""
    runs = [run for run in _factor_runs(dataset) if "steps" in dict(run.spec.params)]
    # A run has the RMSE of its first fold after each step of the sampling.
    largest_dimension = max(dimension_of(run) for run in runs)
    steps = steps_frame([run for run in runs if dimension_of(run) == largest_dimension])
    return partial(curves_figure, steps, x_column="step")


def _factor_runs(dataset: str) -> list[RunRecord]:
    """The recorded runs of rating models that have a number of dimensions."""
    runs = factor_runs(dataset)
    if not runs:
        raise UnknownName("dataset with recorded rating predictions", dataset, ["ml-100k", "ml-1m"])
    return runs


def _check_name(what: str, name: str, names: Sequence[str]) -> None:
    if name not in names:
        raise UnknownName(what, name, names)


CHARTS_OF_RECORDS = {
    "p-values": _p_values_chart,
    "dimensions": _dimensions_chart,
    "steps": _steps_chart,
    "board": _board_chart,
    "spaces": _spaces_chart,
}
"""Kind of figure -> the function that draws it from the name of a recorded dataset or tuning."""
