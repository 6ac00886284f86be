"""A run, or the recorded study -> a picture in a column's width, as a file for a paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ecv_core.analysis.tradeoff.curves import Tradeoff, tradeoff
from ecv_core.analysis.tradeoff.frames import (
    cells_frame,
    ranks_frame,
    stability_frame,
    stops_frame,
    tradeoff_frame,
)
from ecv_core.analysis.tradeoff.rankings import rankings
from ecv_core.analysis.tradeoff.recorded import WITHIN_PERCENT
from ecv_core.analysis.tradeoff.rule_curves import RuleCurve, curves_by_rule, curves_of_run
from ecv_core.figures.efold_plot import run_figure
from ecv_core.figures.heatmap import heatmap_at, ranks_at
from ecv_core.figures.palette import difference_scale, stop_scale
from ecv_core.figures.report.pictures import Make, printed_figure
from ecv_core.figures.report.saving import FORMS, Form, figure_bytes
from ecv_core.figures.study_summary import recorded_study, systems_of
from ecv_core.figures.tradeoff import stops_at, tradeoff_at
from ecv_core.figures.words import alpha_text, rule_words, run_title, runs_in_catalogue_order
from ecv_core.records.errors import InputError
from ecv_core.records.run import RunRecord
from ecv_core.splits import check_exchangeable
from ecv_core.store.outputs import check_folder, write_result
from ecv_core.store.results import Results
from ecv_core.store.store import open_store

OF_A_RUN = ("efold", "stops", "tradeoff")
OF_A_STUDY = ("difference", "stops", "ranks", "tradeoff")


class TitledChart(NamedTuple):
    """What draws a chart, and the title of its file."""

    make: Make
    title: str


def chart_of_run(run: RunRecord, kind: str, alpha: float, folder: Path) -> TitledChart:
    """A figure of one run.

    Args:
        run: A finished run, or one that goes on.
        kind: One of OF_A_RUN.
        alpha: The alpha of the paper's rule; 'efold' does not need it.
        folder: The recorded runs.

    Raises:
        InputError: For what cannot be drawn of this run.
    """
    _check_kind(kind, OF_A_RUN, "a single run")
    if kind == "efold":
        check_begun(run)
        return TitledChart(partial(run_figure, run), f"{run_title(run)}, {rule_words(run.spec)}")
    if not run.whole:
        raise InputError(
            f"run {run.run_id} has {len(run.folds)} of {run.spec.k} folds, but --kind {kind} "
            "needs all of them; run it again with --full"
        )
    # For folds in the order of time this raises an error, because they cannot be put in other
    # orders.
    end_of_error = f"--kind {kind} looks at other orders of them: use --kind efold"
    check_exchangeable(run.spec.split, end_of_error)
    orders = _orders_of([run], alpha)
    if kind == "stops":
        make: Make = partial(stops_at, stops_frame(orders.tradeoff.average), orders.alpha)
    else:
        make = _tradeoff_maker(orders, folder)
    return TitledChart(make, f"{run_title(run)}, alpha {alpha_text(orders.alpha)}")


def check_begun(run: RunRecord) -> None:
    """Refuse a run without a finished fold. Raises: InputError."""
    if not run.folds:
        raise InputError(f"run {run.run_id} has no finished fold yet, so there is nothing to draw")


def chart_of_study(kind: str, alpha: float, folder: Path) -> TitledChart:
    """A figure of the recorded study; as `chart_of_run`."""
    _check_kind(kind, OF_A_STUDY, "a study")
    orders = _orders_of(runs_in_catalogue_order(recorded_study(folder)), alpha)
    cells = cells_frame(orders.tradeoff, [orders.alpha])
    cells_at = partial(heatmap_at, cells, orders.alpha)
    match kind:
        case "stops":
            k = orders.tradeoff.average.k
            make: Make = partial(cells_at, value="mean_stop", scale=stop_scale(k))
        case "difference":
            scale = difference_scale(cells)
            make = partial(cells_at, value="difference_percent", scale=scale)
        case "ranks":
            make = _ranks_maker(orders, folder)
        case _:
            make = _tradeoff_maker(orders, folder)
    title = f"{len(orders.runs)} recorded runs, alpha {alpha_text(orders.alpha)}"
    return TitledChart(make, title)


def _check_kind(kind: str, kinds: Sequence[str], what: str) -> None:
    if kind not in kinds:
        raise InputError(
            f"--kind {kind} does not exist for {what}; choose one of: {', '.join(kinds)}"
        )


def write_chart(chart: TitledChart, form: Form, path: Path) -> None:
    """Write a chart to a file. Raises: RunError if it cannot be written."""
    write_result(path, figure_bytes(partial(printed_figure, chart.make), form, title=chart.title))


def form_of(path: Path) -> Form:
    """The form that a file's name says.

    Raises:
        InputError: For another form, or where the folder does not exist.
    """
    for form in FORMS:
        if path.suffix == f".{form}":
            check_folder(path)
            return form
    raise InputError(
        f"a figure is written to FILE.pdf, FILE.svg, FILE.pgf or FILE.png, not to {path}"
    )


@dataclass(frozen=True, kw_only=True)
class _Orders:
    """What every order of the folds of some runs says at one alpha."""

    runs: Sequence[RunRecord]
    tradeoff: Tradeoff
    alpha: float
    """The nearest below the one that was asked for that was worked out."""


def _orders_of(runs: Sequence[RunRecord], alpha: float) -> _Orders:
    explored = tradeoff(systems_of(runs), within_percent=WITHIN_PERCENT)
    return _Orders(runs=runs, tradeoff=explored, alpha=explored.alpha_at(alpha))


def _tradeoff_maker(orders: _Orders, folder: Path) -> Make:
    """Energy against difference, or folds where some run has no energy."""
    cost = "energy"
    if any(system.source == "none" for system in orders.tradeoff.systems):
        cost = "folds"
    frame = tradeoff_frame(orders.tradeoff, _curves_of_rules_by_users(orders.runs, folder))
    return partial(tradeoff_at, frame, orders.alpha, cost=cost)


def _ranks_maker(orders: _Orders, folder: Path) -> Make:
    ranked = rankings(orders.tradeoff.systems, [orders.alpha])
    if not ranked:
        raise InputError(f"no dataset in {folder} has two complete runs to rank")
    return partial(ranks_at, ranks_frame(ranked), stability_frame(ranked), orders.alpha)


def _curves_of_rules_by_users(runs: Sequence[RunRecord], folder: Path) -> list[RuleCurve]:
    """The rules that need users' scores, over the same runs; those without for any left out."""
    store = None
    if len(runs) == 1:
        # A single run may be one of the user's own; several runs are recorded ones.
        store = open_store()
    results = Results(store, recorded_folder=folder)
    curves_of_runs = []
    for run in runs:
        # A curve says for each setting of a rule what it saves over all orders of the folds, and
        # how often the mean ends near that of all folds.
        curves_of_runs.append(curves_of_run(results.scores(run), within_percent=WITHIN_PERCENT))
    rule_curves = []
    for rule, curves in curves_by_rule(curves_of_runs).items():
        # Rules are compared over the same runs. A run whose users' scores are missing, or that has
        # too many folds, has no curve, and then the rule is left out.
        if len(curves) == len(runs):
            rule_curves.append(RuleCurve(rule=rule, curves=curves))
    return rule_curves
