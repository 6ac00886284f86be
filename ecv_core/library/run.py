"""Runs, and what they show of themselves in a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from ecv_core.figures.words import (
    FigureKind,
    interval_words,
    metric_label,
    run_name,
)
from ecv_core.records.arguments import kinds_checked
from ecv_core.records.errors import InputError
from ecv_core.records.parameters import percent_text, score_text
from ecv_core.records.run import IntervalKind, RunRecord, UserScores
from ecv_core.records.spec import RunSpec
from ecv_core.store.document import run_document
from ecv_core.store.listing import groups_of_runs
from ecv_core.store.lookup import find_run
from ecv_core.store.made_with import imported_sentence, made_with
from ecv_core.store.new_data import mean_on_new_data
from ecv_core.store.outputs import write_output
from ecv_core.store.recorded import recorded_runs_of_all_splits
from ecv_core.store.results import Results
from ecv_core.store.store import Store, open_store

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


@dataclass(frozen=True)
class Run:
    """One algorithm evaluated on one dataset; a notebook shows it as a small table.

    >>> import ecv_core as ecv
    >>> run = ecv.evaluate("synthetic", "popular", k=3, rule="never", keep=False)
    >>> len(run.scores), run.k
    (3, 3)
    """

    record: RunRecord
    """Everything that is known of it."""
    users: Mapping[int, UserScores] | None = field(default=None, repr=False, compare=False)
    """Fold -> its users' scores; by default those that are kept."""

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
        run = self._with_user_scores()
        return run_document(run, run.user_scores)

    def _with_user_scores(self) -> RunRecord:
        """The record, its folds with their users' scores where there are some."""
        if self.users is None:
            return Results(open_store()).with_user_scores(self.record)
        return self.record.with_user_scores(self.users)

    @property
    def mean(self) -> float | None:
        """The mean at the stop, or after the newest fold while there is none."""
        return self._document["mean"]

    @property
    def interval(self) -> tuple[float, float] | None:
        """What the rule goes by: see `interval_kind`; None where there is none yet."""
        return self._document["interval"]

    @property
    def interval_kind(self) -> IntervalKind | None:
        """Whether `interval` holds the mean itself, or the mean of all k folds (precision rule)."""
        moment = self.record.at_stop
        if moment is None or moment.interval is None:
            return None
        return moment.interval.kind

    @property
    def new_data_interval(self) -> tuple[float, float] | None:
        """Where the mean score of new users is, drawn as those of the data were: see
        `ecv.new_data_interval`; None where no user's score is known."""
        new_data = self._document["new_data"]
        if new_data is None:
            return None
        return new_data["interval"]

    @property
    def mean_interval(self) -> tuple[float, float] | None:
        """The interval of that mean, of these folds and users, Student's t; None for one fold."""
        return self._document["mean_interval"]

    @property
    def stop_interval(self) -> tuple[float, float] | None:
        """The same, wide enough to allow for how the rule came to stop there."""
        return self._document["stop_interval"]

    @property
    def difference_percent(self) -> float | None:
        """From that mean to the mean of all k folds; None unless they all ran."""
        return self._document["difference_percent"]

    @property
    def reason(self) -> str:
        """What the rule said where it stopped, or after the newest fold."""
        moment = self.record.at_stop
        if moment is None:
            return "No fold has run yet."
        return moment.decision.reason

    @property
    def doubt(self) -> str:
        """What makes its folds no base for a promise (a fold far off, a drift); mostly empty."""
        return self.record.doubt

    def frame(self) -> pd.DataFrame:
        """One row per fold: score, running mean with its interval, metrics, seconds, energy."""
        import pandas as pd

        from ecv_core.figures.efold import efold_frame

        running_means = efold_frame(self.record.moments, self.stopped_at)
        seconds = ("fit_seconds", "evaluate_seconds", "total_seconds", "processor_seconds")
        energy = ("gpu_seconds", "joules", "above_idle_joules", "other_work", "grams_co2e")
        rows = []
        for result in self.record.folds:
            row = {name: getattr(result, name) for name in seconds}
            row |= {name: getattr(result.energy, name) for name in energy}
            row |= result.metrics
            rows.append(row)
        spent_and_metrics = pd.DataFrame(rows, index=running_means.index)
        return pd.concat([running_means, spent_and_metrics], axis=1)

    def figure(self, *, dark: bool = False, height: int = 470) -> go.Figure:
        """Figure 1 of the paper: scores, the mean, its interval, its width, and the stop."""
        from ecv_core.figures.efold_plot import run_figure

        return run_figure(self.record, dark=dark, height=height)

    def document(self) -> dict[str, Any]:
        """The run as plain JSON values, as `run --json` writes it."""
        return dict(self._document)

    def __repr__(self) -> str:
        text = f"<Run {self.run_id}: {run_name(self.record)}"
        for name, value in self._facts()[1:]:
            text += f", {name} {value}"
        return f"{text}>"

    def _repr_html_(self) -> str:
        html = "<table>"
        for name, value in [*self._facts(), ("rule", self.reason)]:
            html += f'<tr><th style="text-align:left">{escape(name)}</th>'
            html += f'<td style="text-align:left">{escape(value)}</td></tr>'
        return f"{html}</table>"

    def _facts(self) -> list[tuple[str, str]]:
        """What one wants to know first, as words."""
        facts = [("run", f"{run_name(self.record)} ({self.run_id})")]
        if self.mean is not None:
            run = self._with_user_scores()
            interval = interval_words(run, mean_on_new_data(run, run.user_scores))
            score = f"{score_text(self.mean)} ({interval})"
            facts.append((metric_label(self.spec), score))
        folds = f"{self.record.folds_used} of {self.k}, {self.record.state.value}"
        facts.append(("folds", folds))
        if self.difference_percent is not None and self.record.stopped_early:
            difference = percent_text(self.difference_percent / 100, ".2f")
            facts.append((f"difference to {self.k}-fold", difference))
        return facts


class Runs(Sequence[Run]):
    """Several runs; a notebook shows them as a table.

    >>> import ecv_core as ecv
    >>> runs = ecv.runs(recorded=True, dataset="ml-100k", algorithm="ease")
    >>> runs.frame()["mean"].round(3).tolist()[:1]
    [0.35]
    """

    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs = tuple(runs)

    @overload
    def __getitem__(self, place: int) -> Run: ...
    @overload
    def __getitem__(self, place: slice) -> Runs: ...
    def __getitem__(self, place: int | slice) -> Run | Runs:
        if isinstance(place, slice):
            return Runs(self._runs[place])
        return self._runs[place]

    def __len__(self) -> int:
        return len(self._runs)

    def frame(self) -> pd.DataFrame:
        """One row per run, by id: what ran, its state, the score at the stop and the folds used."""
        import pandas as pd

        columns = [
            "dataset",
            "algorithm",
            "split",
            "rule",
            "metric",
            "state",
            "mean",
            "low",
            "high",
            "folds_used",
            "k",
            "created_at",
        ]
        rows = {}
        for run in self:
            spec = run.spec
            low, high = run.interval or (None, None)
            rows[run.run_id] = (
                spec.dataset,
                spec.algorithm,
                spec.split,
                spec.rule,
                spec.metric_name,
                run.record.state.value,
                run.mean,
                low,
                high,
                run.stopped_at,
                run.k,
                run.record.created_at,
            )
        return pd.DataFrame.from_dict(rows, orient="index", columns=columns)

    def latex(self, *, caption: str = "Scores of the runs.", label: str = "runs") -> str:
        """A table for a paper, in the style of booktabs: a row per run.

        Of each dataset the best run comes first, in bold. Beside its score stand the interval for
        new data (users, or rows of a table; a dash where their scores are not known), half the
        interval of these folds, the p of the paired test against the best, how many folds were
        used, and their energy.
        """
        from ecv_core.figures.report.runs_table import runs_latex

        records = [run._with_user_scores() for run in self]
        return runs_latex(records, caption=caption, label=label)

    def __repr__(self) -> str:
        return "\n".join(map(repr, self)) or "no runs"

    def _repr_html_(self) -> str:
        if not self._runs:
            return "<p>no runs</p>"
        return str(self.frame().to_html())


@kinds_checked
def runs(
    *,
    recorded: bool = False,
    dataset: str | None = None,
    algorithm: str | None = None,
    since: date | None = None,
) -> Runs:
    """The runs of the database, the oldest first.

    Args:
        recorded: Those that come with the project instead, every fold of each.
        dataset, algorithm: ids; those of all others are left out.
        since: Those that were started before this day (UTC) are left out.

    Raises:
        StoreError: If the database cannot be read.

    >>> import ecv_core as ecv
    >>> ecv.runs(recorded=True, dataset="ml-100k", algorithm="ease")[0].k
    10
    """
    if recorded:
        records = recorded_runs_of_all_splits()
    else:
        records = open_store().runs()[::-1]  # The store lists the newest run first.
    matching_runs = []
    for record in records:
        if dataset not in (None, record.spec.dataset):
            continue
        if algorithm not in (None, record.spec.algorithm):
            continue
        if since is not None and record.created_at.date() < since:
            continue
        matching_runs.append(Run(record))
    return Runs(matching_runs)


@kinds_checked
def report(run: Run | Runs | str, path: str | PathLike[str] | None = None) -> str | bytes:
    """A run, or several, as one HTML page with everything in it, to print or to send; or as PDF.

    Args:
        run: A run, several, or the id of one of the database, or of a recorded one.
        path: Where it is also written. `.pdf` is a PDF, `.tex` the table of the runs for a paper,
            `.csv` a row for each of them in SI units, and anything else is HTML.

    Returns:
        What is written; bytes of a PDF.

    Raises:
        InputError: For an id that is not known, for no runs, or a path that is the database.
        OSError: If it cannot be written.

    >>> import ecv_core as ecv
    >>> "<h1>EASE on MovieLens 100K</h1>" in ecv.report("ml-100k--ease")
    True
    """
    from ecv_core.figures.report.run_report import run_report

    store = open_store()
    if isinstance(run, str):
        run = Run(find_run(run, store=store))
    suffix = Path(path or "report.html").suffix
    if isinstance(run, Run) and suffix in (".pdf", ".tex", ".csv"):
        # Only HTML has a page for a single run. The other forms have tables, here with one row.
        run = Runs([run])
    content: str | bytes
    if isinstance(run, Runs):
        content = _report_of_runs(run, suffix, store)
    else:
        record = run._with_user_scores()
        environment = made_with([record], store)
        origin = imported_sentence(record.run_id, store)
        content = run_report(record, environment, origin=origin)
    if path is not None:
        write_output(Path(path), content)
    return content


def _report_of_runs(runs: Runs, suffix: str, store: Store) -> str | bytes:
    """As `report`, in the form of a file's name."""
    from ecv_core.figures.report.runs_report import runs_report

    if not runs:
        raise InputError("there are no runs to report; start one, or ask for others")
    records = [run._with_user_scores() for run in runs]
    groups = groups_of_runs(store, records)
    environment = made_with(records, store)
    form = suffix.removeprefix(".")
    return runs_report(records, form, groups=groups, made_with=environment)


@kinds_checked
def figure(
    run: Run | str, kind: FigureKind, out: str | PathLike[str], *, alpha: float | None = None
) -> str:
    """A picture of a run or of the recorded study, in a column's width; as the command `figure`.

    Args:
        run: A run, the id of one of the database or of a recorded one, or that of a selection; or
            'study', a recorded tuning such as 'ml-1m--item-knn', or 'ml-100k'.
        kind: The kind of a run 'efold' (figure 1 of the paper), 'stops' or 'tradeoff'; of the study
            'difference', 'stops', 'ranks' or 'tradeoff'; of a selection 'race'; of a tuning
            'p-values'; of a dataset 'race', 'dimensions', 'steps', 'board' (published results) or
            'spaces' (recorded ones).
        out: FILE.pdf, FILE.svg, FILE.pgf (for LaTeX) or FILE.png; of 'efold' and 'race' also
            FILE.html, FILE.gif or FILE.webp, which play fold by fold.
        alpha: The alpha of the paper's rule, for a study, stops and tradeoff; 1e-4 by default.

    Returns:
        What it shows.

    Raises:
        InputError: For what cannot be drawn.
        RunError: If the file cannot be written.

    >>> import ecv_core as ecv
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     ecv.figure("ml-100k--ease", "efold", f"{folder}/figure.svg")[:20]
    'EASE on MovieLens 10'
    """
    from ecv_core.papers.figure_file import write_figure

    if isinstance(run, Run):
        return write_figure(run.record, kind, Path(out), alpha)
    return write_figure(run, kind, Path(out), alpha)
