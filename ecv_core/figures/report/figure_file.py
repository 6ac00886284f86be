"""A run, or the recorded study -> a picture in a column's width, as a file for a paper."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import get_args

from ecv_core.analysis.baselines import published, published_datasets, recorded, recorded_entries
from ecv_core.analysis.tradeoff.curves import rankings, tradeoff
from ecv_core.analysis.tradeoff.frames import (
    cells_frame,
    ranks_frame,
    stability_frame,
    stops_frame,
    tradeoff_frame,
)
from ecv_core.analysis.tradeoff.recorded import WITHIN_PERCENT
from ecv_core.analysis.tradeoff.rules import RuleCurve, by_rule, curves_of_run
from ecv_core.analysis.tuning.metrics_study import curves_frame, study_metrics
from ecv_core.figures.baselines import (
    board_figure,
    board_frame,
    curves_figure,
    dimension_frame,
    spaces_figure,
    steps_frame,
)
from ecv_core.figures.efold_plot import run_figure
from ecv_core.figures.heatmap import heatmap_at, ranks_at
from ecv_core.figures.palette import difference_scale, stop_scale
from ecv_core.figures.report.pictures import FORMS, Form, Make, printed, saved
from ecv_core.figures.selection import p_values_figure
from ecv_core.figures.study_summary import recorded_study, systems_of
from ecv_core.figures.tradeoff import stops_at, tradeoff_at
from ecv_core.figures.words import FigureKind, alpha_text, in_order, rule_words, run_title
from ecv_core.records.errors import InputError, RunError, UnknownName
from ecv_core.records.run import RunRecord
from ecv_core.splits import check_exchangeable
from ecv_core.stopping import PAPERS_RULE, axis_of
from ecv_core.store.recorded import (
    FOLDER,
    SPACES,
    TUNINGS,
    configuration_names,
    read_configurations,
    recorded_run,
)
from ecv_core.store.results import Results
from ecv_core.store.store import open_store

STUDY = "study"
OF_A_RUN, OF_A_STUDY = ("efold", "stops", "tradeoff"), ("difference", "stops", "ranks", "tradeoff")
CURVES = ("p-values", "dimensions", "steps", "board", "spaces")
"""Kinds of a recorded tuning, or of a dataset with recorded rating predictions or spaces."""


def write_figure(
    run: str | RunRecord, kind: str, path: Path, alpha: object = None, folder: Path = FOLDER
) -> str:
    """Draw it and write the file, in the form that its name says.

    Args:
        run: a run, its id, that of a recorded one, or 'study' for the recorded study; for
            'p-values' a recorded tuning, for 'dimensions' and 'steps' ml-100k or ml-1m, for
            'board' a dataset with published results, for 'spaces' one with recorded spaces.
        kind: one of FigureKind.
        path: FILE.pdf, FILE.svg, FILE.pgf or FILE.png.
        alpha: of the paper's rule, for all kinds but efold; None for its usual one.
        folder: the recorded runs.
    Returns: what it shows.
    Raises: InputError for what cannot be drawn; RunError if the file cannot be written.
    """
    form, axis = _form(path), axis_of(PAPERS_RULE)
    wanted = float(axis.parse(axis.default if alpha is None else alpha))
    if kind not in get_args(FigureKind):
        raise UnknownName("kind of figure", str(kind), get_args(FigureKind))
    if kind in CURVES:
        return _written(_curves(str(run), kind), form, path, f"{kind} of {run}")
    if run == STUDY:
        runs, one = _recorded(folder), None
    else:
        known = recorded_run(run, folder) or open_store().run(run) if isinstance(run, str) else run
        runs, one = [known], known
    kinds = OF_A_STUDY if one is None else OF_A_RUN
    if kind not in kinds:
        what = "a study" if one is None else "a single run"
        raise InputError(f"--kind {kind} is no figure of {what}; choose one of: {', '.join(kinds)}")
    if one is not None and kind == "efold":
        make, title = _efold(one)
    else:
        make, title = _over_orders(kind, runs, wanted, folder, one)
    return _written(make, form, path, title)


def _written(make: Make, form: Form, path: Path, title: str) -> str:
    content = saved(partial(printed, make), form, title=title)
    try:
        path.write_bytes(content)
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror}") from None
    return title


def _form(path: Path) -> Form:
    for form in FORMS:
        if path.suffix == f".{form}":
            if path.absolute().parent.is_dir():
                return form
            raise InputError(f"the folder of {path} does not exist; make it first")
    raise InputError(
        f"a figure is written as FILE.pdf, FILE.svg, FILE.pgf or FILE.png, not as {path}"
    )


def _curves(name: str, kind: str) -> Make:
    """A kind of CURVES."""
    if kind == "p-values":
        if name not in (known := configuration_names(TUNINGS)):
            if not known:
                raise InputError(
                    "recorded tunings stay in the project, and none came with this copy; "
                    "draw p-values in a clone of it"
                )
            raise UnknownName("recorded tuning", name, known)
        study = study_metrics(read_configurations(TUNINGS / f"{name}.json"))
        return lambda: p_values_figure(curves_frame(study))
    if kind == "board":
        if name not in (known := published_datasets()):
            raise UnknownName("dataset with published results", name, known)
        entries = [*published(name).entries, *recorded_entries(name)]
        return lambda: board_figure(board_frame(entries))
    if kind == "spaces":
        if name not in (known := [path.stem for path in sorted(SPACES.glob("*.json"))]):
            raise UnknownName("dataset with recorded spaces", name, known)
        return partial(spaces_figure, json.loads((SPACES / f"{name}.json").read_text()))
    runs = [run for run in recorded(name) if "dimension" in dict(run.spec.params)]
    if not runs:
        raise UnknownName("dataset with recorded rating predictions", name, ["ml-100k", "ml-1m"])
    if kind == "dimensions":
        sizes = dimension_frame(runs, [run.spec.algorithm for run in runs])
        return lambda: curves_figure(sizes, across="dimension")
    runs = [run for run in runs if "steps" in dict(run.spec.params)]
    largest = max(int(dict(run.spec.params)["dimension"]) for run in runs)
    steps = steps_frame([run for run in runs if dict(run.spec.params)["dimension"] == largest])
    return lambda: curves_figure(steps, across="step")


def _recorded(folder: Path) -> list[RunRecord]:
    """The complete runs of the study, as rows and columns are to come."""
    runs = recorded_study(folder)
    rows = in_order(run.spec.dataset for run in runs)
    columns = in_order(run.spec.algorithm for run in runs)
    return sorted(
        runs, key=lambda run: (rows.index(run.spec.dataset), columns.index(run.spec.algorithm))
    )


def _efold(run: RunRecord) -> tuple[Make, str]:
    if not run.folds:
        raise InputError(f"run {run.run_id} has no finished fold yet, so there is nothing to draw")
    return partial(run_figure, run), f"{run_title(run)}, {rule_words(run.spec)}"


def _over_orders(
    kind: str, runs: Sequence[RunRecord], wanted: float, folder: Path, one: RunRecord | None
) -> tuple[Make, str]:
    """What every order of the folds says, at one alpha."""
    if one is not None and not one.whole:
        raise InputError(
            f"run {one.run_id} has {len(one.folds)} of {one.spec.k} folds, and --kind {kind} needs "
            "them all; run it again with --full"
        )
    if one is not None:
        check_exchangeable(
            one.spec.split, f"--kind {kind} looks at other orders of them: use --kind efold"
        )
    systems = systems_of(runs)
    found = tradeoff(systems, within_percent=WITHIN_PERCENT)
    alpha = found.alpha_at(wanted)
    title = f"{run_title(one) if one else f'{len(runs)} recorded runs'}, alpha {alpha_text(alpha)}"
    match kind:
        case "stops" if one is not None:
            return partial(stops_at, stops_frame(found.average), alpha), title
        case "tradeoff":
            frame = tradeoff_frame(found, _others(runs, folder))
            cost = "folds" if any(one.source == "none" for one in systems) else "energy"
            return partial(tradeoff_at, frame, alpha, cost=cost), title
        case "ranks":
            ranked = rankings(systems, [alpha])
            if not ranked:
                raise InputError(f"no dataset in {folder} has two complete runs to be ranked")
            frames = ranks_frame(ranked), stability_frame(ranked)
            return partial(ranks_at, *frames, alpha), title
    cells = cells_frame(found, [alpha])
    value, scale = "mean_stop", stop_scale(found.average.k)
    if kind == "difference":
        value, scale = "difference_percent", difference_scale(cells)
    return partial(heatmap_at, cells, alpha, value=value, scale=scale), title


def _others(runs: Sequence[RunRecord], folder: Path) -> list[RuleCurve]:
    """The rules that need users' scores, over the same runs; those without for any left out."""
    own = open_store() if len(runs) == 1 else None  # it may be one of the user's own
    results = Results(own, folder=folder)
    known = by_rule(
        curves_of_run(results.scores(run), within_percent=WITHIN_PERCENT) for run in runs
    )
    return [
        RuleCurve(rule=rule, curves=curves)
        for rule, curves in known.items()
        if len(curves) == len(runs)
    ]
