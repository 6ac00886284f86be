"""Several runs -> what a report of them says: what is best, what it cost, what was saved."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ecv_core.energy.meter import country_in_words, intensity_words
from ecv_core.energy.parts import runs_without_other_work
from ecv_core.energy.savings import distinct_folds, energy_of, sum_of_ranges, total_saved_range
from ecv_core.figures.compare import (
    NamedRun,
    compare_alt_text,
    compare_figure,
    compare_frame,
    panels_of,
)
from ecv_core.figures.report.describe import MadeWith, describe_methods, energy_sentence
from ecv_core.figures.report.run_report import KeyNumber, machine_words
from ecv_core.figures.report.runs_table import RunRow, interval_of_folds, rows_of_runs
from ecv_core.figures.words import (
    counted,
    dataset_title,
    grams,
    joined,
    metric_label,
    watt_hours_range,
)
from ecv_core.records.parameters import listed, percent_text
from ecv_core.records.run import Interval, RunRecord
from ecv_core.stopping.new_data import NewDataInterval

if TYPE_CHECKING:
    import plotly.graph_objects as go


class Sums(NamedTuple):
    """What several runs cost together, and what their stops saved; in joules and grams."""

    runs: int
    folds: int
    metered: bool
    """Whether the energy of every fold is known: a sum without some would pass for that of all."""
    used: tuple[float, float]
    """From the least to the most that they may have used."""
    saved: tuple[float, float]
    grams_co2e: float

    @property
    def energy_cells(self) -> tuple[str, str, str]:
        """Used, saved and emitted, as a table has them."""
        if not self.metered:
            return "-", "-", "-"
        used = watt_hours_range(*self.used)
        return used, watt_hours_range(*self.saved), grams(self.grams_co2e)


def sums_of(runs: Sequence[RunRecord]) -> Sums:
    """Add up runs; a fold of several runs counts once."""
    folds = distinct_folds(runs)
    return Sums(
        runs=len(runs),
        folds=len(folds),
        metered=all(fold.energy.source != "none" for fold in folds),
        used=sum_of_ranges(fold.energy.joules_range for fold in folds),
        saved=total_saved_range(map(energy_of, runs)),
        grams_co2e=sum(fold.energy.grams_co2e for fold in folds),
    )


@dataclass(frozen=True, kw_only=True)
class ReportPicture:
    """A figure of the report: the means of the runs on one dataset by one metric."""

    title: str
    alt: str
    """For those who do not see it."""
    make: Callable[[], go.Figure]


class TableOfSums(NamedTuple):
    """What the runs of each person, or of each other group, cost together."""

    title: str
    rows: Sequence[tuple[str, ...]]
    """With SUMS_HEADERS."""


@dataclass(frozen=True, kw_only=True)
class ReportContent:
    """What a report of several runs says, whatever file it becomes."""

    title: str
    subtitle: str
    """A line below the title."""
    conclusion: str
    numbers: Sequence[KeyNumber]
    rows: Sequence[RunRow]
    pictures: Sequence[ReportPicture]
    sums: Sequence[TableOfSums]
    energy: str
    methods: str
    machine: str
    bibtex: str


PICTURES_CAPTION = (
    "Means at the stop, each with the interval of the table: that for new data where it is known, "
    "else that of these folds."
)
SUMS_HEADERS = ("", "runs", "folds", "used", "saved by stopping", "CO2e")
"""Of a table of sums."""


def runs_content(
    runs: Sequence[RunRecord],
    *,
    groups: Mapping[str, Mapping[str, str]],
    made_with: MadeWith,
) -> ReportContent:
    """Work out what is to be said about several runs.

    Args:
        runs: At least one; their folds carry their users' scores where there are some
            (`Results.with_user_scores`).
        groups: A kind of group, such as 'person' -> the id of each run -> the name of its group;
            runs whose id is missing are summed as '-'.
        made_with: As `store.environment.environment` gives it.
    """
    rows = rows_of_runs(runs)
    description = describe_methods(runs, made_with)
    # Each kind of group, such as 'person', has a table with a row for each group of that kind.
    sums = []
    for kind, group_of_run in groups.items():
        sums.append(TableOfSums(f"Energy by {kind}", _sums_rows(runs, group_of_run)))
    return ReportContent(
        title=f"{counted(len(runs), 'run')} of e-fold cross-validation",
        subtitle=f"e-fold cross-validation · {_period(runs)}",
        conclusion=_conclusion(rows),
        numbers=_key_numbers(runs),
        rows=rows,
        pictures=_pictures(rows),
        sums=sums,
        energy=_energy_words(runs),
        methods=description.methods,
        machine=machine_words(made_with),
        bibtex=description.bibtex,
    )


def _conclusion(rows: Sequence[RunRow]) -> str:
    """What several runs found and cost, in two sentences."""
    best = []
    for row in rows:
        if row.is_best:
            metric = metric_label(row.run.spec)
            dataset = dataset_title(row.run.spec.dataset)
            best.append(f"{row.name} on {dataset} ({metric} {row.cells['Score']})")
    winners = ""
    if best:
        winners = f"Best means: {listed(best)}."
    return joined(winners, energy_sentence([row.run for row in rows]))


def _pictures(rows: Sequence[RunRow]) -> list[ReportPicture]:
    """A figure for each dataset and metric of which there is a mean."""
    frame = compare_frame([NamedRun(row.name, row.run) for row in rows])
    # The figure shows the intervals of the table, and not those by which the rules have decided.
    for row_number, row in enumerate(rows):
        interval: Interval | NewDataInterval | None = interval_of_folds(row.run)
        subject = "these folds"
        if row.new_data is not None:
            interval = row.new_data.interval
            subject = f"new {row.new_data.of}"
        if interval is not None:
            level = percent_text(row.run.spec.confidence, "g")
            frame.loc[row_number, "low"] = interval.low
            frame.loc[row_number, "high"] = interval.high
            frame.loc[row_number, "interval"] = f"{level}, {subject}"
    pictures = []
    for title, panel in panels_of(frame).items():
        chart = partial(compare_figure, panel)
        pictures.append(ReportPicture(title=title, alt=compare_alt_text(panel), make=chart))
    return pictures


def _period(runs: Sequence[RunRecord]) -> str:
    """'2026-10-01 to 2026-11-27': the days on which the first and the last run were started."""
    days = sorted(f"{run.created_at:%Y-%m-%d}" for run in runs)
    if days[0] == days[-1]:
        return days[0]
    return f"{days[0]} to {days[-1]}"


def _key_numbers(runs: Sequence[RunRecord]) -> list[KeyNumber]:
    """Runs, folds, energy and emissions of all together."""
    sums = sums_of(runs)
    planned_folds = sum(run.k for run in runs)
    datasets = {run.spec.dataset for run in runs}
    countries = sorted({country_in_words(run.spec.country) for run in runs})
    folds_run = f"{sums.folds} of {planned_folds}"
    used, saved, emitted = sums.energy_cells
    datasets_note = f"on {counted(len(datasets), 'dataset')}"
    emissions_note = f"CO2e, electricity of {listed(countries)}"
    return [
        KeyNumber("Runs", str(sums.runs), datasets_note),
        KeyNumber("Folds run", folds_run, ""),
        KeyNumber("Energy used", used, _range_note(sums.used)),
        KeyNumber("Energy saved by stopping", saved, _range_note(sums.saved)),
        KeyNumber("Emissions", emitted, emissions_note),
    ]


def _range_note(ends: tuple[float, float]) -> str:
    if ends[0] < ends[1]:
        return "estimated: from the lowest to the highest value"
    return ""


def _sums_rows(runs: Sequence[RunRecord], group_of_run: Mapping[str, str]) -> list[tuple[str, ...]]:
    """A row for each group, in the order of the alphabet; '-' for runs that have none.

    Args:
        runs: What is summed.
        group_of_run: A run's id -> the name of the group in whose row it counts.
    """
    runs_of_group: defaultdict[str, list[RunRecord]] = defaultdict(list)
    for run in runs:
        runs_of_group[group_of_run.get(run.run_id, "-")].append(run)
    rows: list[tuple[str, ...]] = []
    for group in sorted(runs_of_group):
        sums = sums_of(runs_of_group[group])
        rows.append((group, str(sums.runs), str(sums.folds), *sums.energy_cells))
    return rows


def _energy_words(runs: Sequence[RunRecord]) -> str:
    """How the energy is known, what is assumed, and which runs had the machine to themselves."""
    started_runs = [run for run in runs if run.folds]
    undisturbed_runs = runs_without_other_work(started_runs)
    disturbed_count = len(started_runs) - len(undisturbed_runs)
    other_work = ""
    if disturbed_count:
        other_work = (
            f"During {counted(disturbed_count, 'run')}, other programs used the machine too."
        )
        if undisturbed_runs:
            other_work += " The sums above include their energy; the sentence at the top does not."
    common_folds = ""
    if len(distinct_folds(runs)) < sum(len(run.folds) for run in runs):
        common_folds = "A fold that several of these runs use is counted once in sums."
    intensities = sorted({intensity_words(run.spec.country) for run in runs})
    return joined(
        other_work,
        common_folds,
        "A range goes from the lowest to the highest value of an estimate. The report of each "
        "run says what was measured and what was assumed.",
        f"Emissions are those of {listed(intensities)}.",
    )
