"""A file that enters a board of results -> whether its scores hold; a folder of them -> a page."""

from __future__ import annotations

import hashlib
import zipfile
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import ecv_core.untrusted.bounded as bounded
import ecv_core.untrusted.limits as limits
from ecv_core import stopping
from ecv_core.analysis.comparison import compare_runs, fair_key
from ecv_core.energy.savings import energy_of
from ecv_core.evaluation import metric_of
from ecv_core.figures.words import dataset_title, interval_said, metric_label, used_words
from ecv_core.jobs.fold_tables import Handed
from ecv_core.jobs.tracking import Measured, finite, known_columns, measure, reported_table
from ecv_core.records.errors import EcvError, InputError
from ecv_core.records.interactions import Part
from ecv_core.records.parameters import listed
from ecv_core.records.run import FoldResult, RunRecord
from ecv_core.store.imports import read_run
from ecv_core.untrusted.files import DAMAGED, read_at_most

if TYPE_CHECKING:
    import pandas as pd

RUN, FOLDS, TABLE = "run.json", "folds.sha256", "reported.csv"
"""What the file, a ZIP, holds: the run as `export` writes it, `folds_sha256`, and what the model
gave: the tables of `tell` (recommendations, predictions, or users' scores), with a column fold."""
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
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

    Raises: InputError with what is wrong: a score that does not follow, other folds or data, a stop
        that the rule would not have made, folds that may have been chosen, or a file that is none;
        DatasetError without the data.
    """
    content, said, table = bounded.read(_read, path)
    run = read_run(content, f"{RUN} in {path.name}").run
    spec = run.spec
    if run.stopped_at is None or spec.only_folds:
        raise InputError(
            f"its {len(run.folds)} of {spec.k} folds were asked for one by one, or cut off before "
            "a stop, so they may have been chosen by their scores; hand in a run that went on "
            "until its rule stopped, or one of all folds"
        )
    handed = {fold.fold: Handed(spec, fold.fold) for fold in run.folds}
    if said != (here := folds_sha256(handed.values())):
        raise InputError(
            f"its folds are others than those of {spec.dataset} with {spec.split} and seed "
            f"{spec.seed} here: {FOLDS} says '{said[:16]}', and here it is {here}"
        )
    known_columns(table, ("fold", "user_id"), f"{TABLE} has fold, user_id, and item_id or score")
    of_fold = finite(table, "fold")
    rows = {fold: table[of_fold == fold] for fold in set(of_fold.tolist())}
    if set(rows) != {*handed}:
        has, ours = (listed([f"{n:g}" for n in sorted(of)[:20]]) or "none" for of in (rows, handed))
        raise InputError(f"{TABLE} has folds {has}, but the run {ours}")
    folds = []
    for fold in run.folds:
        part = rows[fold.fold].drop(columns="fold").reset_index(drop=True)
        folds.append(_agreeing(fold, measure(spec, handed[fold.fold], part)))
    moments = stopping.moments(stopping.rule_for(spec), folds, spec.confidence)
    if (stop := stopping.stop_of(moments, run.k)) != run.stopped_at:
        raise InputError(f"it stops after {run.stopped_at} folds, but its rule stops after {stop}")
    checked = replace(run, folds=tuple(folds), moments=tuple(moments))
    return Checked(run=checked, recomputed="item_id" in table.columns)


def site(folder: Path) -> tuple[str, dict[str, str]]:
    """The results of a folder that hold, as one HTML page of tables, and why the others do not.

    Results with the same data, folds and metric share a table, the best mean first. Each is tested
    against the first: a paired t test over users, or over folds with the correction of Nadeau and
    Bengio, by Holm's correction for all comparisons of the table.

    Args: folder: every *.zip in it is checked anew.
    Returns: HTML, with no script and nothing loaded from anywhere; file name -> why it is refused.
    Raises: InputError where no result holds.
    """
    from ecv_core.figures.report.latex import bibtex
    from ecv_core.figures.report.run_report import templates

    refused: dict[str, str] = {}
    boards: defaultdict[Hashable, list[Checked]] = defaultdict(list)
    for path in sorted(folder.glob("*.zip")):
        try:
            checked = check_result(path)
        except EcvError as error:
            refused[path.name] = str(error)
        else:
            named = replace(checked, run=replace(checked.run, run_id=path.name))
            boards[fair_key(named.run.spec)].append(named)
    if not boards:
        first = "".join(f"; {name}: {why}" for name, why in [*refused.items()][:1])
        raise InputError(f"{folder} has no result that 'board check' accepts{first}")
    return (
        templates()
        .get_template("board.html")
        .render(
            tables=[_table(entries) for entries in boards.values()],
            bibtex=bibtex(),
            made_at=datetime.now(UTC),
        )
    ), refused


def _table(entries: Sequence[Checked]) -> tuple[str, str, list[list[str]], str]:
    """Title, answer, rows and caption."""
    spec = entries[0].run.spec
    sign = -1 if metric_of(spec).higher_is_better else 1
    means = {entry.run.run_id: entry.run.at_stop.mean for entry in entries if entry.run.at_stop}
    ranked = sorted(entries, key=lambda entry: sign * means[entry.run.run_id])
    best = ranked[0].run.run_id
    beside = {best: "the first"}
    for test in compare_runs([entry.run for entry in ranked])[0]:
        if best in (test.first, test.second):
            other, word = test.second, "worse"
            if test.second == best:
                other, word = test.first, "better on their common folds"
            p = "p < 0.001" if test.p_holm < 0.001 else f"p = {test.p_holm:.3f}"
            beside[other] = f"{word if test.found else 'level with it'} ({p})"
    rows = []
    for entry in ranked:
        run = entry.run
        params = ", ".join(f"{name}={value}" for name, value in run.spec.params)
        interval, energy = interval_said(run)[0], energy_of(run)
        rows.append(
            [
                f"{run.spec.algorithm} ({params})" if params else run.spec.algorithm,
                f"{means[run.run_id]:.4f}",
                f"{interval.low:.4f} to {interval.high:.4f}" if interval else "-",
                beside.get(run.run_id, "not tested"),
                f"{run.folds_used} of {run.k}",
                used_words(energy) if energy.source != "none" else "-",
                "all scores" if entry.recomputed else "means of users' scores",
                run.run_id,
            ]
        )
    level = [row[0] for row in rows if row[3].startswith("level")]
    answer = f"{rows[0][0]} has the best mean, {rows[0][1]}"
    answer += f"; no difference is shown to {listed(level)}." if level else "."
    caption = f"{spec.split}, k = {spec.k}, seed {spec.seed}, candidates = {spec.candidates}"
    return f"{metric_label(spec)} on {dataset_title(spec.dataset)}", answer, rows, caption


def folds_sha256(folds: Iterable[Handed]) -> str:
    """SHA-256 of what is held out: of the sorted lines `fold,user_id,item_id` with their ends."""
    lines = []
    for fold in folds:
        held = fold.columns(Part.TEST)
        pairs = zip(held["user_id"].tolist(), held["item_id"].tolist(), strict=True)
        lines += [f"{fold.index},{user},{item}\n" for user, item in pairs]
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()


def _agreeing(fold: FoldResult, measured: Measured) -> FoldResult:
    """The fold with what was measured. Raises: InputError where it claims something else."""
    for name, value in measured.metrics.items():
        claimed = fold.metrics.get(name, value)
        if not abs(claimed - value) <= _ROUNDING * max(1.0, abs(value)):
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


def _read(path: Path) -> tuple[bytes, str, pd.DataFrame]:
    """Run, hash of the folds, and table."""
    try:
        with zipfile.ZipFile(path) as archive:
            parts = []
            most = (limits.MAX_RUN_BYTES, 100, limits.max_unpacked_bytes())
            for name, at_most in zip((RUN, FOLDS, TABLE), most, strict=True):
                if name not in archive.namelist():
                    raise InputError(
                        f"{path.name} holds no {name}; put in run, hash of the folds and table"
                    )
                with archive.open(name) as member:
                    parts.append(content := read_at_most(member.read, at_most))
                if len(content) > at_most:
                    raise InputError(f"{name} in {path.name} has more than {at_most:,} bytes")
            with archive.open(TABLE) as member:
                table = reported_table(member)
    except DAMAGED as error:
        raise InputError(f"{path} is no result file: {' '.join(str(error).split())}") from error
    return parts[0], parts[1].decode("ascii", "replace").strip(), table
