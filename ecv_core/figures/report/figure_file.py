"""A run, or the recorded study -> a picture in a column's width, as a file for a paper."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

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
from ecv_core.figures.efold_plot import run_figure
from ecv_core.figures.heatmap import heatmap_at, ranks_at
from ecv_core.figures.palette import difference_scale, stop_scale
from ecv_core.figures.report.pictures import Make, printed
from ecv_core.figures.report.saving import FORMS, Form, saved
from ecv_core.figures.study_summary import recorded_study, systems_of
from ecv_core.figures.tradeoff import stops_at, tradeoff_at
from ecv_core.figures.words import alpha_text, in_order, rule_words, run_title
from ecv_core.records.errors import InputError, RunError
from ecv_core.records.run import RunRecord
from ecv_core.splits import check_exchangeable
from ecv_core.store.results import Results
from ecv_core.store.store import open_store

OF_A_RUN = ("efold", "stops", "tradeoff")
OF_A_STUDY = ("difference", "stops", "ranks", "tradeoff")


def picture_of_run(run: RunRecord, kind: str, alpha: float, folder: Path) -> tuple[Make, str]:
    """What draws a figure of one run, and its title.

    Args:
        run: a finished run, or one that goes on.
        kind: one of OF_A_RUN.
        alpha: of the paper's rule; 'efold' does not need it.
        folder: the recorded runs.

    Raises:
        InputError: for what cannot be drawn of this run.
    """
    _check_kind(kind, OF_A_RUN, "a single run")
    if kind == "efold":
        return _efold(run)
    return _over_orders(kind, [run], alpha, folder, run)


def picture_of_study(kind: str, alpha: float, folder: Path) -> tuple[Make, str]:
    """What draws a figure of the recorded study, and its title; as `picture_of_run`."""
    _check_kind(kind, OF_A_STUDY, "a study")
    return _over_orders(kind, _recorded(folder), alpha, folder, None)


def _check_kind(kind: str, kinds: Sequence[str], what: str) -> None:
    if kind not in kinds:
        raise InputError(f"--kind {kind} is no figure of {what}; choose one of: {', '.join(kinds)}")


def written(make: Make, form: Form, path: Path, title: str) -> str:
    """Write a picture to a file; its title. Raises: RunError if it cannot be written."""
    content = saved(partial(printed, make), form, title=title)
    try:
        path.write_bytes(content)
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror}") from None
    return title


def form_of(path: Path) -> Form:
    """The form that a file's name says. Raises: InputError for another, or without a folder."""
    for form in FORMS:
        if path.suffix == f".{form}":
            if path.absolute().parent.is_dir():
                return form
            raise InputError(f"the folder of {path} does not exist; make it first")
    raise InputError(
        f"a figure is written as FILE.pdf, FILE.svg, FILE.pgf or FILE.png, not as {path}"
    )


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
