"""A file that enters a board of results -> whether its scores hold; a folder of them -> a page."""

from __future__ import annotations

import hashlib
import zipfile
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import ecv_core.untrusted.bounded as bounded
import ecv_core.untrusted.limits as limits
from ecv_core import stopping
from ecv_core.analysis.comparison.fairness import fair_key
from ecv_core.analysis.comparison.paired_runs import Comparison, comparisons_with_best
from ecv_core.energy.savings import energy_of
from ecv_core.evaluation import metric_of
from ecv_core.figures.verdicts import p_words
from ecv_core.figures.words import (
    dataset_title,
    ends_words,
    metric_label,
    new_data_cell,
    shown_interval,
    used_words,
)
from ecv_core.jobs.reported_scores import Measured, measure
from ecv_core.jobs.reported_tables import check_columns, finite_column, reported_table
from ecv_core.jobs.tracked_fold import TrackedFold
from ecv_core.records.errors import EcvError, InputError
from ecv_core.records.interactions import Part
from ecv_core.records.parameters import listed, score_text
from ecv_core.records.run import FoldResult, RunRecord
from ecv_core.store.imports import read_run
from ecv_core.store.new_data import mean_on_new_data
from ecv_core.untrusted.files import DAMAGED, opened, read_at_most

if TYPE_CHECKING:
    import pandas as pd

RUN = "run.json"
FOLDS = "folds.sha256"
TABLE = "reported.csv"
"""What the file, a ZIP, holds: the run as `export` writes it, `folds_sha256`, and what the model
gave: the tables of `tell` (recommendations, predictions, or users' scores), with a column fold."""
_ROUNDING = 1e-6


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A file that was accepted."""

    run: RunRecord
    """Its folds with the metrics that follow from the table, and with users' scores."""
    recomputed: bool
    """From recommendations or predictions; False where the table has users' scores, of which only
    their means could be checked."""


def check_result(path: Path) -> Checked:
    """Compute every fold's score again from the table, on folds that are made here.

    What cannot be known from the file stays a claim: seconds, energy, machine, and whether the
    model has looked at what is held out.

    Raises:
        InputError: With what is wrong: a score that does not follow, other folds or data, a stop
            that the rule would not have made, folds that may have been chosen, or a file that is
            none.
        DatasetError: Without the data.
    """
    result: ResultFile = bounded.read(_read, path)
    run = read_run(result.run, f"{RUN} in {path.name}").run
    spec = run.spec
    if run.stopped_at is None or spec.only_folds:
        raise InputError(
            f"its {len(run.folds)} of {spec.k} folds were asked for one by one, or cut off before "
            "a stop, so they may have been chosen by their scores; hand in a run that went on "
            "until its rule stopped, or one of all folds"
        )
    folds_here = {fold.fold: TrackedFold(spec, fold.fold) for fold in run.folds}
    hash_here = folds_sha256(folds_here.values())
    if result.folds_sha256 != hash_here:
        raise InputError(
            f"its folds are others than those of {spec.dataset} with {spec.split} and seed "
            f"{spec.seed} here: {FOLDS} says '{result.folds_sha256[:16]}', and here it is "
            f"{hash_here}"
        )
    rows = _rows_by_fold(result.table, list(folds_here))
    folds = []
    for fold in run.folds:
        folds.append(_measured_fold(fold, measure(folds_here[fold.fold], rows[fold.fold])))
    moments = stopping.moments(stopping.rule_for(spec), folds, spec.confidence)
    stop = stopping.stop_of(moments, run.k)
    if stop != run.stopped_at:
        raise InputError(f"it stops after {run.stopped_at} folds, but its rule stops after {stop}")
    checked = replace(run, folds=tuple(folds), moments=tuple(moments))
    # A table of recommendations or predictions names items, and its scores are computed anew. A
    # table of users' scores names none.
    has_items = "item_id" in result.table.columns
    return Checked(run=checked, recomputed=has_items)


def _rows_by_fold(table: pd.DataFrame, folds: Sequence[int]) -> dict[int, pd.DataFrame]:
    """The rows of each fold. Raises: InputError for a table of other folds than the run's."""
    check_columns(table, ("fold", "user_id"), f"{TABLE} has fold, user_id, and item_id or score")
    fold_of_row = finite_column(table, "fold")
    folds_of_table = set(fold_of_row.tolist())
    if folds_of_table != set(folds):
        raise InputError(
            f"{TABLE} has folds {_some_numbers(folds_of_table)}, but the run {_some_numbers(folds)}"
        )
    rows = {}
    for fold in folds:
        rows[fold] = table[fold_of_row == fold].drop(columns="fold").reset_index(drop=True)
    return rows


def _some_numbers(numbers: Iterable[float]) -> str:
    """The first twenty as a list in words; 'none' for none."""
    return listed([f"{number:g}" for number in sorted(numbers)[:20]]) or "none"


class BoardPage(NamedTuple):
    """The results of a folder that hold, as one page."""

    html: str
    """With no script and nothing loaded from anywhere."""
    refused: dict[str, str]
    """A file's name -> why it is not on the page."""


def board_page(folder: Path) -> BoardPage:
    """The results of a folder that hold, as one HTML page of tables, and why the others do not.

    Results with the same data, folds and metric share a table, the best mean first. Each is tested
    against the first: a paired t test over users, or over folds with the correction of Nadeau and
    Bengio, by Holm's correction for all comparisons of the table.

    Args:
        folder: Every *.zip in it is checked anew.

    Raises:
        InputError: Where no result holds.
    """
    from ecv_core.figures.report.html_templates import templates
    from ecv_core.figures.report.latex import bibtex

    results = []
    refused: dict[str, str] = {}
    for path in sorted(folder.glob("*.zip")):
        try:
            result = check_result(path)
        except EcvError as error:
            refused[path.name] = str(error)
        else:
            # A result is named by its file: ids of runs may come from different installations.
            results.append(replace(result, run=replace(result.run, run_id=path.name)))
    if not results:
        example = ""
        if refused:
            name, why = next(iter(refused.items()))
            example = f"; {name}: {why}"
        raise InputError(f"{folder} has no result that 'board check' accepts{example}")
    comparable: defaultdict[Hashable, list[Checked]] = defaultdict(list)
    for result in results:
        comparable[fair_key(result.run.spec)].append(result)
    template = templates().get_template("board.html")
    html = template.render(
        tables=[_table(entries) for entries in comparable.values()],
        bibtex=bibtex(),
        made_at=datetime.now(UTC),
    )
    return BoardPage(html, refused)


class _BoardTable(NamedTuple):
    """Results with the same data, folds and metric, as the page has them."""

    title: str
    answer: str
    rows: Sequence[Sequence[str]]
    caption: str


def _table(entries: Sequence[Checked]) -> _BoardTable:
    """The table of results with the same data, folds and metric."""
    higher_is_better = metric_of(entries[0].run.spec).higher_is_better
    ranked = sorted(entries, key=_mean, reverse=higher_is_better)
    best = ranked[0]
    comparisons = comparisons_with_best(best.run, [entry.run for entry in ranked])
    rows = []
    # Contenders that no test shows to differ from the best.
    names_without_difference = []
    for entry in ranked:
        test = comparisons.get(entry.run.run_id)
        if entry is best:
            comparison_text = "the first"
        elif test is None:
            comparison_text = "not tested"
        else:
            comparison_text = _comparison_words(test, best.run)
            if not test.shows_difference:
                names_without_difference.append(_name(entry))
        rows.append(_row(entry, comparison_text))
    answer = f"{_name(best)} has the best mean, {score_text(_mean(best))}"
    if names_without_difference:
        answer += f"; no difference is shown to {listed(names_without_difference)}"
    spec = best.run.spec
    title = f"{metric_label(spec)} on {dataset_title(spec.dataset)}"
    caption = f"{spec.split}, k = {spec.k}, seed {spec.seed}, candidates = {spec.candidates}"
    return _BoardTable(title, f"{answer}.", rows, caption)


def _mean(entry: Checked) -> float:
    """The mean at the stop, which every accepted result has."""
    moment = entry.run.at_stop
    assert moment is not None  # a result that is accepted has at least one fold
    return moment.mean


def _name(entry: Checked) -> str:
    """Its algorithm with the parameters: 'item-knn (neighbours=20)'."""
    spec = entry.run.spec
    if not spec.params:
        return spec.algorithm
    params = [f"{name}={value}" for name, value in spec.params]
    return f"{spec.algorithm} ({', '.join(params)})"


def _comparison_words(test: Comparison, best: RunRecord) -> str:
    """How a run stands beside the best."""
    verdict = "worse"
    if not test.shows_difference:
        verdict = "level with it"
    elif test.second == best.run_id:
        # In a test, the first of two runs has the better mean over the folds that both have.
        verdict = "better on their common folds"
    return f"{verdict} ({p_words(test.p_holm)})"


def _row(entry: Checked, comparison_text: str) -> list[str]:
    """One result: name, mean, two intervals, test, folds, energy, what was checked, file."""
    run = entry.run
    interval_text = "-"
    interval = shown_interval(run).interval
    if interval:
        interval_text = ends_words(interval)
    energy_text = "-"
    energy = energy_of(run)
    if energy.source != "none":
        energy_text = used_words(energy)
    checked_text = "means of users' scores"
    if entry.recomputed:
        checked_text = "all scores"
    return [
        _name(entry),
        score_text(_mean(entry)),
        new_data_cell(mean_on_new_data(run, run.user_scores)),
        interval_text,
        comparison_text,
        f"{run.folds_used} of {run.k}",
        energy_text,
        checked_text,
        run.run_id,
    ]


def folds_sha256(folds: Iterable[TrackedFold]) -> str:
    """SHA-256 of what is held out: of the sorted lines `fold,user_id,item_id` with their ends."""
    lines = []
    for fold in folds:
        held = fold.columns(Part.TEST)
        pairs = zip(held["user_id"].tolist(), held["item_id"].tolist(), strict=True)
        lines += [f"{fold.index},{user},{item}\n" for user, item in pairs]
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()


def _measured_fold(fold: FoldResult, measured: Measured) -> FoldResult:
    """The fold with what was measured. Raises: InputError where it claims something else."""
    for name, value in measured.metrics.items():
        # A metric that the fold does not claim cannot be claimed wrongly.
        claimed = fold.metrics.get(name, value)
        is_as_claimed = abs(claimed - value) <= _ROUNDING * max(1.0, abs(value))
        if not is_as_claimed:
            raise InputError(
                f"fold {fold.fold} claims {name} {claimed:.6f}, but what its model gave has "
                f"{value:.6f}"
            )
    if fold.users != measured.users:
        raise InputError(
            f"fold {fold.fold} claims {fold.users:,} users, but {measured.users:,} have something "
            "held out there"
        )
    return replace(fold, metrics=measured.metrics, user_scores=measured.user_scores)


@dataclass(frozen=True, kw_only=True)
class ResultFile:
    """What a file of a result holds, not checked."""

    run: bytes
    folds_sha256: str
    table: pd.DataFrame


def _read(path: Path) -> ResultFile:
    """Read a file of a result. Raises: InputError for one that is damaged or too large."""
    try:
        with opened(path) as file, zipfile.ZipFile(file) as archive:
            run = _read_member(archive, RUN, limits.MAX_RUN_BYTES, path)
            folds = _read_member(archive, FOLDS, 100, path)
            # The table is read once to check that it is within the limit, and then read as a table.
            _read_member(archive, TABLE, limits.max_unpacked_bytes(), path)
            with archive.open(TABLE) as member:
                table = reported_table(member)
    except DAMAGED as error:
        why = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise InputError(f"{path} is no result file: {why}") from error
    return ResultFile(run=run, folds_sha256=folds.decode("ascii", "replace").strip(), table=table)


def _read_member(archive: zipfile.ZipFile, name: str, at_most: int, path: Path) -> bytes:
    """One file of the archive, of so many bytes at most."""
    if name not in archive.namelist():
        raise InputError(f"{path.name} holds no {name}; put in run, hash of the folds and table")
    with archive.open(name) as member:
        content = read_at_most(member.read, at_most)
    if len(content) > at_most:
        raise InputError(f"{name} in {path.name} has more than {at_most:,} bytes")
    return content
