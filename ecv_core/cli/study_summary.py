"""`study --summary`: what the recorded runs say at one alpha, as the page Studies shows it."""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

from ecv_core.analysis.orders import Curve
from ecv_core.analysis.tradeoff.curves import (
    PAPER_COST_PERCENT,
    PAPER_DIFFERENCE_PERCENT,
    PAPER_STOP,
)
from ecv_core.analysis.tradeoff.users import curves_of_run
from ecv_core.cli.exit_codes import OK
from ecv_core.energy.parts import left_out_words
from ecv_core.jobs.plans.study import of_the_paper
from ecv_core.runs.recorded import recorded_stopped
from ecv_core.stopping import PAPERS_RULE, axis_of
from ecv_core.store import Results
from ecv_core.study.summary import (
    WITHIN_PERCENT,
    recorded_study,
    scores_frame,
    summary,
    systems_of,
)


def print_summary(options: argparse.Namespace) -> int:
    """Print the tables.

    Raises: InputError for an alpha that cannot be, or where no run is recorded.
    """
    axis = axis_of(PAPERS_RULE)
    alpha = float(axis.parse(axis.default if options.alpha is None else options.alpha))
    folder = Path(options.folder)
    runs = recorded_study(folder)
    found = summary(systems_of(runs, ids=True), alpha)
    curves: dict[str, dict[int, Curve]] = {}
    results = Results(None, folder=folder)
    for number, run in enumerate(runs):
        found_curves = curves_of_run(results.scores(run), within_percent=WITHIN_PERCENT)
        for rule, curve in found_curves.items():
            curves.setdefault(rule, {})[number] = curve
    head = found.headline.iloc[0]
    print(
        f"{len(runs)} runs at alpha {found.alphas[0]:.3g}: difference to k-fold "
        f"{head['difference_percent']:.2f} % (paper "
        f"{PAPER_DIFFERENCE_PERCENT}), {head['mean_stop']:.2f} folds (paper {PAPER_STOP}), "
        f"{head['energy_percent']:.1f} % of the energy (paper {PAPER_COST_PERCENT}; "
        f"{head['folds_percent']:.1f} % by fold count, {head['joules_percent']:.1f} % of total "
        "energy)"
    )
    if out := left_out_words(runs):
        print(out)
    if papers := [number for number, run in enumerate(runs) if of_the_paper(run.spec)]:
        own = found.headline_of(papers).iloc[0]
        print(
            f"the paper's cells, {len(papers)} of 30: {own['difference_percent']:.2f} %, "
            f"{own['mean_stop']:.2f} folds, {own['energy_percent']:.1f} % of the energy"
        )
    early = [run for run in recorded_stopped(folder) if not run.whole]
    for title, frame in (
        ("Runs (figures 2 and 3)", found.cells),
        ("Ranks (figure 4)", found.ranks),
        ("What stays", found.stability),
        (
            "Scores, those with fewer than k folds in no average",
            scores_frame([*runs, *early], ids=True),
        ),
        ("Rules", found.rules(curves)),
    ):
        print(f"\n{title}")
        print(_text(frame.drop(columns="alpha", errors="ignore")))
    return OK


def _text(frame: pd.DataFrame) -> str:
    return str(frame.to_csv(sep="\t", index=False, float_format="%.4g")).rstrip()
