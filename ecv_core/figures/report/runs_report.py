"""Several runs -> one report: what is best, what it cost, what was saved; as HTML, LaTeX or CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pandas as pd

from ecv_core.energy.meter import country_in_words, intensity_words
from ecv_core.energy.parts import with_own_joules
from ecv_core.energy.savings import EnergyFacts, energy_of
from ecv_core.figures.report.describe import describe_runs, energy_sentence
from ecv_core.figures.report.run_report import machine_words, templates
from ecv_core.figures.report.runs_table import HEADERS, csv_row, rows_of_runs
from ecv_core.figures.words import (
    counted,
    dataset_title,
    grams,
    joined,
    watt_hours_range,
)
from ecv_core.records.parameters import listed
from ecv_core.records.run import RunRecord
from ecv_core.store.environment import environment
from ecv_core.untrusted.disarming import csv_of


class Sums(NamedTuple):
    """What several runs cost together, and what their stops saved; in joules and grams."""

    runs: int
    folds: int
    used: tuple[float, float]
    """From the least to the most that they may have used."""
    saved: tuple[float, float]
    grams_co2e: float

    @property
    def cells(self) -> tuple[str, ...]:
        """As a table has them."""
        return (
            str(self.runs),
            str(self.folds),
            watt_hours_range(*self.used),
            watt_hours_range(*self.saved),
            grams(self.grams_co2e),
        )


def sums_of(runs: Sequence[RunRecord]) -> Sums:
    """Add up runs, as far as their folds were metered."""
    folds = 0
    used_low = 0.0
    used_high = 0.0
    saved_low = 0.0
    saved_high = 0.0
    emissions = 0.0
    for run in runs:
        facts: EnergyFacts = energy_of(run)
        folds += len(run.folds)
        used_low += facts.joules_range[0]
        used_high += facts.joules_range[1]
        emissions += facts.grams_co2e
        if facts.saved_range is not None:
            saved_low += facts.saved_range[0]
            saved_high += facts.saved_range[1]
    return Sums(len(runs), folds, (used_low, used_high), (saved_low, saved_high), emissions)


def runs_report(
    runs: Sequence[RunRecord],
    *,
    groups: Mapping[str, Mapping[str, str]] | None = None,
    made_with: Mapping[str, Any] | None = None,
    title: str = "",
) -> str:
    """One HTML page about several runs.

    Args:
        runs: at least one; their folds carry their users' scores where there are some
            (`Results.with_user_scores`).
        groups: what energy is summed by, such as 'person' -> the run's id -> the name; runs that
            are not named there are summed as 'nobody'.
        made_with: as `store.environment.environment` gives it; by default this machine's.
        title: of the page; by default how many runs it is about.
    Returns: HTML with everything in it, A4 when printed: no script, nothing loaded from anywhere;
        all text of the runs is escaped.
    """
    if made_with is None:
        made_with = environment()
    described = describe_runs(runs, made_with)
    tables = []
    for kind, names in (groups or {}).items():
        tables.append((f"Energy by {kind}", _sums_rows(runs, names)))
    text: dict[str, Any] = {"origin": "", "arithmetic": "", "bibtex": described.bibtex}
    text["title"] = title or f"{counted(len(runs), 'run')} of e-fold cross-validation"
    text["under"] = f"e-fold cross-validation · {_period(runs)}"
    text["conclusion"] = runs_conclusion(runs)
    text["methods"] = described.methods
    text["energy"] = _energy_words(runs)
    text["machine"] = machine_words(made_with)
    text["made_at"] = datetime.now(UTC)
    page = templates().get_template("runs.html")
    rows = rows_of_runs(runs)
    return page.render(text, numbers=_key_numbers(runs), headers=HEADERS, rows=rows, sums=tables)


def runs_conclusion(runs: Sequence[RunRecord]) -> str:
    """What several runs found and cost, in two sentences."""
    best = []
    for row in rows_of_runs(runs):
        if row.is_best:
            _, algorithm, metric, score, *_ = row.cells
            dataset = dataset_title(row.run.spec.dataset)
            best.append(f"{algorithm} on {dataset} ({metric} {score})")
    winners = ""
    if best:
        winners = f"Best means: {listed(best)}."
    return joined(winners, energy_sentence(runs))


def runs_csv(runs: Sequence[RunRecord]) -> str:
    """A row per run, in SI units, for programs."""
    return csv_of(pd.DataFrame(map(csv_row, rows_of_runs(runs))))


def _period(runs: Sequence[RunRecord]) -> str:
    """'2026-10-01 to 2026-11-27': the days on which the first and the last run were started."""
    days = sorted(f"{run.created_at:%Y-%m-%d}" for run in runs)
    if days[0] == days[-1]:
        return days[0]
    return f"{days[0]} to {days[-1]}"


def _key_numbers(runs: Sequence[RunRecord]) -> list[tuple[str, str, str]]:
    """What stands large at the top: name, value, and a word below."""
    sums = sums_of(runs)
    planned = sum(run.k for run in runs)
    datasets = {run.spec.dataset for run in runs}
    countries = sorted({country_in_words(run.spec.country) for run in runs})
    used = watt_hours_range(*sums.used)
    saved = watt_hours_range(*sums.saved)
    numbers = [("Runs", str(sums.runs), f"on {counted(len(datasets), 'dataset')}")]
    numbers.append(("Folds run", f"{sums.folds} of {planned}", ""))
    numbers.append(("Energy used", used, _range_note(sums.used)))
    numbers.append(("Energy saved by stopping", saved, _range_note(sums.saved)))
    emissions_note = f"CO2e, electricity of {listed(countries)}"
    numbers.append(("Emissions", grams(sums.grams_co2e), emissions_note))
    return numbers


def _range_note(ends: tuple[float, float]) -> str:
    if ends[0] < ends[1]:
        return "estimated: from the least to the most"
    return ""


def _sums_rows(runs: Sequence[RunRecord], names: Mapping[str, str]) -> list[tuple[str, ...]]:
    """A row for each name, in the order of the alphabet; '-' for runs that have none."""
    by_name: dict[str, list[RunRecord]] = {}
    for run in runs:
        by_name.setdefault(names.get(run.run_id, "-"), []).append(run)
    rows = []
    for name in sorted(by_name):
        rows.append((name, *sums_of(by_name[name]).cells))
    return rows


def _energy_words(runs: Sequence[RunRecord]) -> str:
    """How the energy is known, what is assumed, and which runs had the machine to themselves."""
    started = [run for run in runs if run.folds]
    alone = with_own_joules(started)
    shared = len(started) - len(alone)
    words = ""
    if shared:
        words = (
            f"During {counted(shared, 'run')} other programs used the machine too; the sums above "
            "hold all of that energy, the sentence on top leaves these runs out."
        )
    intensities = sorted({intensity_words(run.spec.country) for run in runs})
    return joined(
        words,
        "A range goes from the least that an estimate may be to the most: see the report of each "
        "run for what was measured and what was assumed.",
        f"Emissions are those of {listed(intensities)}.",
    )
