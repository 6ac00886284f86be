"""Runs, and what they show of themselves in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from ecv_core.figures.words import (
    FigureKind,
    metric_label,
    run_name,
    uncertainty,
    uncertainty_after_stop,
)
from ecv_core.records.arguments import kinds_checked
from ecv_core.records.run import IntervalKind, RunRecord
from ecv_core.records.spec import RunSpec
from ecv_core.store.document import run_document
from ecv_core.store.imports import origins
from ecv_core.store.recorded import recorded_run, recorded_under_splits
from ecv_core.store.store import open_store

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


@dataclass(frozen=True)
class Run:
    """One algorithm evaluated on one dataset; a notebook shows it as a small table."""

    record: RunRecord
    """Everything that is known of it."""

    @property
    def run_id(self) -> str:
        """Its id, as pages and commands know it."""
        return self.record.run_id

    @property
    def spec(self) -> RunSpec:
        """Everything that was set."""
        return self.record.spec

    @property
    def k(self) -> int:
        """How many folds it has when none is saved."""
        return self.record.k

    @property
    def scores(self) -> tuple[float, ...]:
        """One per fold that ran, in the order of the folds."""
        return tuple(result.score for result in self.record.folds)

    @property
    def stopped_at(self) -> int | None:
        """Folds used: where the rule said stop, or k if it never did; None while it goes on."""
        return self.record.stopped_at

    @cached_property
    def _document(self) -> dict[str, Any]:
        return run_document(self.record)

    @property
    def mean(self) -> float | None:
        """The mean at the stop, or after the newest fold while there is none."""
        return self._document["mean"]

    @property
    def interval(self) -> tuple[float, float] | None:
        """What the rule goes by: see `interval_kind`; None where there is none yet."""
        return self._ends("interval")

    @property
    def interval_kind(self) -> IntervalKind | None:
        """Whether `interval` holds the mean itself, or the mean of all k folds (precision rule)."""
        at = self.record.at_stop
        return at.interval.kind if at and at.interval else None

    @property
    def mean_interval(self) -> tuple[float, float] | None:
        """The interval of that mean, Student's t: what belongs into a paper; None for one fold."""
        return self._ends("mean_interval")

    @property
    def stop_interval(self) -> tuple[float, float] | None:
        """The same, wide enough to allow for how the rule came to stop there."""
        return self._ends("stop_interval")

    def _ends(self, name: str) -> tuple[float, float] | None:
        found = self._document[name]
        return (found[0], found[1]) if found else None

    @property
    def difference_percent(self) -> float | None:
        """From that mean to the mean of all k folds; None unless they all ran."""
        return self._document["difference_percent"]

    @property
    def reason(self) -> str:
        """What the rule said where it stopped, or after the newest fold."""
        at = self.record.at_stop
        return at.decision.reason if at else "No fold has run yet."

    @property
    def doubt(self) -> str:
        """What makes its folds no base for a promise (a fold far off, a drift); mostly empty."""
        return self.record.doubt

    def frame(self) -> pd.DataFrame:
        """One row per fold: score, running mean with its interval, metrics, seconds, energy."""
        import pandas as pd

        from ecv_core.figures.efold import efold_frame

        steps = efold_frame(self.record.moments, self.stopped_at)
        seconds = ("fit_seconds", "evaluate_seconds", "total_seconds", "processor_seconds")
        energy = ("gpu_seconds", "joules", "above_idle_joules", "other_work", "grams_co2e")
        rows = [
            {name: getattr(result, name) for name in seconds}
            | {name: getattr(result.energy, name) for name in energy}
            | dict(result.metrics)
            for result in self.record.folds
        ]
        return pd.concat([steps, pd.DataFrame(rows, index=steps.index)], axis=1)

    def figure(self, *, dark: bool = False, height: int = 470) -> go.Figure:
        """Figure 1 of the paper: scores, the mean, its interval, its width, and the stop."""
        from ecv_core.figures.efold_plot import run_figure

        return run_figure(self.record, dark=dark, height=height)

    def document(self) -> dict[str, Any]:
        """The run as plain JSON values, as `run --json` writes it."""
        return dict(self._document)

    def __repr__(self) -> str:
        facts = ", ".join(f"{name} {value}" for name, value in self._facts()[1:])
        return f"<Run {self.run_id}: {run_name(self.record)}, {facts}>"

    def _repr_html_(self) -> str:
        rows = [*self._facts(), ("rule", self.reason)]
        cells = "".join(
            f'<tr><th style="text-align:left">{escape(name)}</th>'
            f'<td style="text-align:left">{escape(value)}</td></tr>'
            for name, value in rows
        )
        return f"<table>{cells}</table>"

    def _uncertainty(self) -> str:
        wide = uncertainty_after_stop(self.record)
        known = wide or uncertainty(self.record)
        if known is None:
            return ""
        how = "wherever the rule stops" if wide else "t"
        return f" ± {known.width / 2:.4f} ({100 * self.spec.confidence:g} % of the mean, {how})"

    def _facts(self) -> list[tuple[str, str]]:
        """What one wants to know first, as words."""
        facts = [("run", f"{run_name(self.record)} ({self.run_id})")]
        if self.mean is not None:
            facts.append((metric_label(self.spec), f"{self.mean:.4f}{self._uncertainty()}"))
        used = self.record.folds_used
        facts.append(("folds", f"{used} of {self.k}, {self.record.state.value}"))
        if self.difference_percent is not None and self.record.stopped_early:
            facts.append((f"difference to {self.k}-fold", f"{self.difference_percent:.2f} %"))
        return facts


class Runs(Sequence[Run]):
    """Several runs; a notebook shows them as a table."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs = tuple(runs)

    @overload
    def __getitem__(self, place: int) -> Run: ...
    @overload
    def __getitem__(self, place: slice) -> Runs: ...
    def __getitem__(self, place: int | slice) -> Run | Runs:
        return Runs(self._runs[place]) if isinstance(place, slice) else self._runs[place]

    def __len__(self) -> int:
        return len(self._runs)

    def frame(self) -> pd.DataFrame:
        """One row per run, by id: what ran, its state, the score at the stop and the folds used."""
        import pandas as pd

        names = ("dataset", "algorithm", "split", "rule", "metric", "state")
        columns = [*names, "mean", "low", "high", "folds_used", "k", "created_at"]
        rows = {
            run.run_id: (
                run.spec.dataset,
                run.spec.algorithm,
                run.spec.split,
                run.spec.rule,
                run.spec.metric_name,
                run.record.state.value,
                run.mean,
                *(run.interval or (None, None)),
                run.stopped_at,
                run.k,
                run.record.created_at,
            )
            for run in self
        }
        return pd.DataFrame.from_dict(rows, orient="index", columns=columns)

    def latex(self, *, caption: str = "Scores of the runs.", label: str = "runs") -> str:
        """A table for a paper, in the style of booktabs: a row per run, with the half width of the
        interval of its mean, and how many of its folds were used."""
        from ecv_core.figures.report.latex import latex_table

        metrics = {metric_label(run.spec) for run in self}
        shared = metrics.pop() if len(metrics) == 1 else None
        rows = []
        for run in self:
            score = "-" if run.mean is None else f"{run.mean:.4f}"
            if known := uncertainty_after_stop(run.record) or uncertainty(run.record):
                score += f" ± {known.width / 2:.4f}"
            score += "" if shared else f" {metric_label(run.spec)}"
            folds = f"{run.record.folds_used} of {run.k}"
            rows.append([run.spec.dataset, run.spec.algorithm, score, folds])
        headers = ["Dataset", "Algorithm", shared or "Score", "Folds"]
        return latex_table(headers, rows, caption=caption, label=label)

    def __repr__(self) -> str:
        return "\n".join(map(repr, self)) or "no runs"

    def _repr_html_(self) -> str:
        return str(self.frame().to_html()) if self._runs else "<p>no runs</p>"


@kinds_checked
def runs(
    *,
    recorded: bool = False,
    dataset: str | None = None,
    algorithm: str | None = None,
    since: date | None = None,
) -> Runs:
    """The runs of the database, in the order of their start.

    Args:
        recorded: those that come with the project instead, every fold of each.
        dataset, algorithm: ids; those of all others are left out.
        since: those that were started before this day (UTC) are left out.
    Raises: StoreError if the database cannot be read.
    """
    found = recorded_under_splits() if recorded else open_store().runs()
    return Runs(
        [
            Run(run)
            for run in found
            if dataset in (None, run.spec.dataset)
            and algorithm in (None, run.spec.algorithm)
            and (since is None or run.created_at.date() >= since)
        ]
    )


@kinds_checked
def report(run: Run | str, path: str | PathLike[str] | None = None) -> str:
    """A run as one HTML page with everything in it, to print or to send.

    Args:
        run: a run, or the id of one of the database, or of a recorded one.
        path: where it is also written.
    Raises: InputError for an id that is not known; OSError if it cannot be written.
    """
    from ecv_core.figures.report.run_report import run_report

    store = open_store()
    record = recorded_run(run) or store.run(run) if isinstance(run, str) else run.record
    origin = origins(store).get(record.run_id)
    text = run_report(record, origin.made_with if origin else None)
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


@kinds_checked
def figure(
    run: Run | str, kind: FigureKind, out: str | PathLike[str], *, alpha: float | None = None
) -> str:
    """A picture of a run or of the recorded study, in a column's width; as the command `figure`.

    Args:
        run: a run, the id of one of the database or of a recorded one; or 'study', a recorded
            tuning such as 'ml-1m--item-knn', or 'ml-100k'.
        kind: of a run 'efold' (figure 1 of the paper), 'stops' or 'tradeoff'; of the study
            'difference', 'stops', 'ranks' or 'tradeoff'; of a tuning 'p-values'; of a dataset
            'dimensions', 'steps', 'board' (published results) or 'spaces' (recorded ones).
        out: FILE.pdf, FILE.svg, FILE.pgf (for LaTeX) or FILE.png.
        alpha: of the paper's rule, for a study, stops and tradeoff; 1e-4 by default.
    Returns: what it shows.
    Raises: InputError for what cannot be drawn; RunError if the file cannot be written.
    """
    from ecv_core.papers.figure_file import write_figure

    return write_figure(run if isinstance(run, str) else run.record, kind, Path(out), alpha)
