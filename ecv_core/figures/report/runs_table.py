"""Runs -> the rows of a table: of each dataset the best first, and what is shown beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from ecv_core.analysis.comparison.fairness import dataset_and_metric
from ecv_core.analysis.comparison.names import distinct_names
from ecv_core.analysis.comparison.paired_runs import comparisons_with_best
from ecv_core.analysis.ranking import place_by_mean
from ecv_core.energy.savings import energy_of
from ecv_core.figures.report.latex import latex_table
from ecv_core.figures.words import (
    algorithm_title,
    dataset_title,
    in_catalogue_order,
    interval_allowing_for_stop,
    metric_label,
    new_data_cell,
    rule_words,
    saved_words,
    students_interval,
    titled,
    used_words,
)
from ecv_core.records.parameters import score_text
from ecv_core.records.run import Interval, RunRecord
from ecv_core.stopping import NEVER_STOPS
from ecv_core.store.new_data import MeanOnNewData, mean_on_new_data

TABLE_CAPTION = (
    "The best mean of each dataset comes first, in bold. New data: confidence interval of the mean "
    "for users, or rows of a table, drawn alike. These folds: half the interval of their own mean. "
    "p: paired test against the best, corrected for all pairs on the dataset (Holm); a dash where "
    "no test of the two is fair."
)
HEADERS = (
    *("Dataset", "Algorithm", "Metric", "Score", "New data", "These folds", "p", "Folds"),
    *("Rule", "Energy", "Saved"),
)
"""Of the columns of a table of runs."""
_MOST_TESTED = 60
"""More runs on one dataset by one metric are not tested: so many pairs take minutes."""


@dataclass(frozen=True, kw_only=True)
class RunRow:
    """A run as a table of several has it."""

    run: RunRecord
    name: str
    """What it is called among these runs."""
    cells: Mapping[str, str]
    """Text under each of HEADERS; '-' where nothing is known."""
    new_data: MeanOnNewData | None
    """The interval for new data, as the table has it."""
    is_best: bool
    """Whether it has the best mean of several runs on its dataset, by its metric."""


def rows_of_runs(runs: Sequence[RunRecord]) -> list[RunRow]:
    """Put runs in the order of a table: by dataset and metric, and of each the best first.

    `p` is of the paired test against the best, corrected for all pairs on its dataset by its metric
    (Holm); empty for the best itself, and '-' where no test of the two is fair.

    Args:
        runs: Their folds carry their users' scores where there are some
            (`Results.with_user_scores`).
    """
    name_of_run = {}
    for run, name in zip(runs, distinct_names(runs, algorithm_title), strict=True):
        name_of_run[run.run_id] = name
    rows = []
    for comparable_runs in _by_dataset_and_metric(runs):
        best_first = sorted(comparable_runs, key=place_by_mean)
        best = best_first[0]
        comparison_of_run = {}
        if 1 < len(comparable_runs) <= _MOST_TESTED:
            comparison_of_run = comparisons_with_best(best, comparable_runs)
        for run in best_first:
            name = name_of_run[run.run_id]
            p_text = "-"  # no test of the two is fair, or there are too many
            if run is best:
                p_text = ""  # it is not compared with itself
            elif run.run_id in comparison_of_run:
                p_text = _p_cell(comparison_of_run[run.run_id].p_holm)
            new_data = mean_on_new_data(run, run.user_scores)
            # If the first run has no mean, no run of these has a finished fold: none is best.
            row = RunRow(
                run=run,
                name=name,
                cells=_cells(run, name, new_data, p_text),
                new_data=new_data,
                is_best=run is best and len(best_first) > 1 and run.at_stop is not None,
            )
            rows.append(row)
    return rows


def _by_dataset_and_metric(runs: Sequence[RunRecord]) -> list[list[RunRecord]]:
    """The runs on each dataset by each metric, datasets in the order of everywhere."""
    datasets = in_catalogue_order(run.spec.dataset for run in runs)

    def order(run: RunRecord) -> tuple[int, str]:
        dataset, metric = dataset_and_metric(run.spec)
        return datasets.index(dataset), metric

    return [list(group) for _, group in groupby(sorted(runs, key=order), key=order)]


def _p_cell(p_value: float) -> str:
    """'0.012' or '<0.001'."""
    if p_value < 0.001:
        return "<0.001"
    return f"{p_value:.3f}"


def _cells(
    run: RunRecord, name: str, new_data: MeanOnNewData | None, p_text: str
) -> dict[str, str]:
    mean = "-"
    if run.at_stop:
        mean = score_text(run.at_stop.mean)
    half_width = "-"
    interval = interval_of_folds(run)
    if interval:
        half_width = f"± {score_text(interval.width / 2)}"
    rule = titled(run.spec.rule)
    if run.spec.rule != NEVER_STOPS:
        rule += f", {rule_words(run.spec)}"
    facts = energy_of(run)
    energy = "-"
    saved = "-"
    if facts.source != "none":
        energy = used_words(facts)
        saved = saved_words(facts)
    return {
        "Dataset": dataset_title(run.spec.dataset),
        "Algorithm": name,
        "Metric": metric_label(run.spec),
        "Score": mean,
        "New data": new_data_cell(new_data),
        "These folds": half_width,
        "p": p_text,
        "Folds": f"{run.folds_used} of {run.k}",
        "Rule": rule,
        "Energy": energy,
        "Saved": saved,
    }


def interval_of_folds(run: RunRecord) -> Interval | None:
    """Student's t of the mean at the stop, allowing for the stop; None where folds do not vary."""
    return interval_allowing_for_stop(run) or students_interval(run)


CAPTION = (
    "Mean score at the stop with the confidence interval for new data (users, or rows of a table, "
    "drawn alike) and that of these folds (Student's t, allowing for the stop); p of the paired "
    "test against the best of its dataset (Holm), which is bold; folds used, and energy of the "
    "folds that ran."
)


def runs_latex(runs: Sequence[RunRecord], *, caption: str = CAPTION, label: str = "runs") -> str:
    """A table for a paper: a row per run, of each dataset the best first and in bold.

    Args:
        runs: As of `rows_of_runs`.
        caption: The caption of the table.
        label: For \\ref; letters, digits and hyphens.
    """
    rows = rows_of_runs(runs)
    header_of_column = {name: name for name in HEADERS if name != "Saved"}
    metrics = {row.cells["Metric"] for row in rows}
    if len(metrics) == 1:
        # A metric that all rows share stands above their scores instead.
        del header_of_column["Metric"]
        header_of_column["Score"] = metrics.pop()
    columns = list(header_of_column)
    cells = []
    bold = []
    for row_number, row in enumerate(rows):
        cells.append([row.cells[name] for name in columns])
        if row.is_best:
            bold.append((row_number, columns.index("Score")))
    headers = list(header_of_column.values())
    return latex_table(headers, cells, caption=caption, label=label, bold=bold)


CSV_COLUMNS = (
    *("run_id", "dataset", "algorithm", "metric", "score", "p_holm", "folds_used"),
    *("folds_computed_before", "k", "rule", "joules", "joules_low", "joules_high"),
    *("saved_joules_low", "saved_joules_high", "grams_co2e", "country", "energy_source"),
    "started_at",
)


def csv_row(row: RunRow) -> dict[str, object]:
    """What is known of a run, under CSV_COLUMNS, as programs read it: in SI units."""
    run = row.run
    facts = energy_of(run)
    cells: dict[str, object] = {
        "run_id": run.run_id,
        "dataset": run.spec.dataset,
        "algorithm": run.spec.algorithm,
        "metric": run.spec.metric_name,
        "folds_used": run.folds_used,
        "folds_computed_before": sum(fold.reused for fold in run.folds),
        "k": run.k,
        "rule": rule_words(run.spec),
        "country": run.spec.country,
        "energy_source": facts.source,
        "started_at": f"{run.created_at:%Y-%m-%dT%H:%M:%SZ}",
    }
    if run.at_stop:
        cells["score"] = run.at_stop.mean
    if row.cells["p"] != "-":
        cells["p_holm"] = row.cells["p"]
    if facts.source == "none":  # joules and grams are not zero, but not known
        return cells
    cells["joules"] = facts.joules
    cells["joules_low"], cells["joules_high"] = facts.joules_range
    cells["grams_co2e"] = facts.grams_co2e
    if facts.saved_range is not None:
        cells["saved_joules_low"], cells["saved_joules_high"] = facts.saved_range
    return cells
