"""A study at one alpha -> a report of one page: headline, table of cells, two heatmaps."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd

from ecv_core.analysis.tradeoff.curves import (
    PAPER_COST_PERCENT,
    PAPER_DIFFERENCE_PERCENT,
    PAPER_STOP,
)
from ecv_core.energy.meter import SOURCES
from ecv_core.energy.parts import left_out_words, parts_words, with_own_joules
from ecv_core.figures.report.latex import bibtex
from ecv_core.figures.report.page import page
from ecv_core.figures.report.pictures import cells_picture
from ecv_core.figures.report.plotting import inline
from ecv_core.figures.report.provenance import Provenance, machine_words, version_words
from ecv_core.figures.scales import CellScale, difference_scale, stop_scale
from ecv_core.figures.words import alpha_text, metric_label, watt_hours
from ecv_core.records.errors import UnknownName
from ecv_core.records.run import Run
from ecv_core.store.command import command_for


def study_report(
    cells: pd.DataFrame,
    runs: Sequence[Run],
    known: Provenance,
    *,
    alpha: float,
    title: str = "e-fold study",
) -> str:
    """One HTML page about datasets x algorithms under the paper's rule.

    Args:
        cells: one row per cell, from `tradeoff.study_frames.cells_frame`: dataset, algorithm,
            difference_percent, mean_stop, energy_percent, k_fold_mean, and alpha; rows of other
            alphas are left out.
        runs: of the cells, for settings, energy and the commands; those of other cells are ignored.
        known: where and when the report is made.
        alpha: one that `cells` holds.
        title: of the page.
    Returns: HTML with everything in it; all text of the study is escaped.
    Raises: ValueError if `cells` holds no row of this alpha.
    """
    at = cells[cells["alpha"] == alpha] if "alpha" in cells else cells
    if at.empty:
        raise ValueError(f"no cell of the study was worked out at alpha {alpha}")
    of = {(run.spec.dataset, run.spec.algorithm): run for run in runs}
    mine = [of[cell] for cell in zip(at["dataset"], at["algorithm"], strict=True) if cell in of]
    difference = float(at["difference_percent"].mean())
    stop, energy = float(at["mean_stop"].mean()), float(at["energy_percent"].mean())
    datasets, algorithms = at["dataset"].nunique(), at["algorithm"].nunique()
    headers, rows = _table(at, of)
    k = max((run.spec.k for run in mine), default=10)
    return page(
        "study.html",
        title=title,
        under=f"{len(at)} runs: {datasets} datasets, {algorithms} algorithms · "
        f"e-fold rule, alpha {alpha_text(alpha)} · {known.made_at:%Y-%m-%d}",
        origin="",
        arithmetic="",
        conclusion=f"Stopping at alpha {alpha_text(alpha)} uses {stop:.2f} folds and "
        f"{energy:.1f} % of the energy on average; the score differs from that of all folds by "
        f"{difference:.2f} %.",
        numbers=[
            ("Difference", f"{difference:.2f} %", f"paper {PAPER_DIFFERENCE_PERCENT} %"),
            ("Folds used", f"{stop:.2f}", f"paper {PAPER_STOP}"),
            ("Energy used", f"{energy:.1f} %", f"paper {PAPER_COST_PERCENT} %"),
        ],
        headers=headers,
        rows=rows,
        pictures=[
            _picture(
                at,
                "difference_percent",
                difference_scale(at),
                "Difference to the k-fold mean, percent.",
            ),
            _picture(at, "mean_stop", stop_scale(k), "Folds used until the stop."),
        ],
        energy=_energy(mine),
        commands=_commands(mine),
        machine=machine_words(known.made_with),
        versions=version_words(known.made_with),
        data_keys=[f"{key}  {name}" for name, key in known.data_keys.items()],
        bibtex=bibtex(*known.bibtex),
        known=known,
    )


def _table(at: pd.DataFrame, of: dict[tuple[str, str], Run]) -> tuple[list[str], list[list[str]]]:
    columns = ["k_fold_mean", "mean_stop", "difference_percent", "energy_percent"]
    rows = []
    for dataset, algorithm, values in zip(
        at["dataset"], at["algorithm"], at[columns].to_numpy(dtype=float), strict=True
    ):
        run = of.get((dataset, algorithm))
        joules = run.joules if run else 0.0
        score, folds, difference, energy = values
        cost = [f"{score:.4f}", f"{folds:.2f}", f"{difference:.2f} %", f"{energy:.1f} %"]
        rows.append([dataset, algorithm, *cost, watt_hours(joules) if joules else "-"])
    labels = {metric_label(run.spec) for run in of.values()}
    label = labels.pop() if len(labels) == 1 else "score"
    headers = ["dataset", "algorithm", label, "folds used", "difference", "energy", "all folds"]
    return headers, rows


def _picture(at: pd.DataFrame, value: str, scale: CellScale, caption: str) -> tuple[str, str]:
    """A table of cells as markup, and its caption."""
    low, high = (f"{end:.{scale.digits}f}" for end in (at[value].min(), at[value].max()))
    alt = f"{caption} From {low} to {high}."
    return inline(partial(cells_picture, at, value, scale=scale), alt=alt), caption


def _energy(runs: Sequence[Run]) -> str:
    folds = [fold for run in with_own_joules(runs) for fold in run.folds]
    sources = sorted({fold.energy.source for fold in folds})
    if not folds or sources == ["none"]:
        return "No energy was recorded: every fold counts the same."
    words = "; ".join(SOURCES.get(source, source) for source in sources)
    whole = sum(run.joules for run in with_own_joules(runs))
    text = f"{watt_hours(whole)} for all {len(folds)} folds of these runs: {words}."
    return f"{text} {parts_words(folds)} {left_out_words(runs)}".strip()


def _commands(runs: Sequence[Run]) -> list[str]:
    commands = []
    for run in runs:
        try:
            commands.append(command_for(run.spec))
        except UnknownName as error:
            commands.append(f"# {run.spec.dataset}, {run.spec.algorithm}: {error}")
    return commands
