"""Runs that are there: listed, shown, resumed, deleted."""

from __future__ import annotations

import argparse
from dataclasses import replace

from ecv_core.cli import program, write_answer
from ecv_core.cli.options import ANY_RUN, RUN, add_executor_options, add_json
from ecv_core.cli.run_command import continue_run, summary
from ecv_core.figures.words import counted, is_or_are
from ecv_core.fold import check_data
from ecv_core.jobs.heartbeat import (
    abandoned_runs,
    interrupt_abandoned_runs,
    interrupt_run_if_abandoned,
)
from ecv_core.models import computed_here
from ecv_core.records.errors import InputError
from ecv_core.records.parameters import score_text
from ecv_core.records.run import RunState
from ecv_core.store.document import run_document
from ecv_core.store.listing import ListedRun, RunList
from ecv_core.store.lookup import find_run, full_id
from ecv_core.store.rescue import import_rescued_runs
from ecv_core.store.results import Results
from ecv_core.store.schema import UNDO_MINUTES
from ecv_core.store.store import open_store


def runs_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--state", choices=[state.value for state in RunState], help="Only runs in this state."
    )
    parser.add_argument("--dataset", metavar="ID", help="Only runs on this dataset.")
    add_json(parser, "the list")


def resume_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_id", metavar="RUN", help=RUN)
    parser.add_argument(
        "--full", action="store_true", help="Also compute the folds after the stop."
    )
    add_executor_options(parser)
    add_json(parser)


def show_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_id", metavar="RUN", help=ANY_RUN)
    add_json(parser)


def delete_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run_ids", metavar="RUN", nargs="+", help="Ids of the runs, or the beginnings of ids."
    )


def runs_command(options: argparse.Namespace) -> None:
    """List them, newest first; one whose program is gone as interrupted, and nothing is changed."""
    store = open_store()
    run_list = RunList(store)
    abandoned = abandoned_runs(store)
    rows = []
    for row in run_list.rows():
        if row.run_id in abandoned:
            row = replace(row, state=RunState.INTERRUPTED)
        if options.state in (None, row.state) and options.dataset in (None, row.spec.dataset):
            rows.append(row)
    lines = [_count_sentence(rows, options)]
    lines += _table(rows)
    lines += run_list.damaged.values()
    for row in rows:
        for fold, what_is_wrong in row.damaged.items():
            lines.append(f"fold {fold} of run {row.run_id} {what_is_wrong}")
    document = {"runs": [_document(row) for row in rows], "damaged": run_list.damaged}
    write_answer(options, document, "\n".join(lines))


def resume_command(options: argparse.Namespace) -> None:
    """Go on with a run here, to its stop or its last fold."""
    store = open_store()
    # Folds are taken in only by runs that nobody has.
    interrupt_abandoned_runs(store)
    import_rescued_runs(store)
    run_id = full_id(store, options.run_id)
    interrupt_run_if_abandoned(store, run_id)
    run = store.run(run_id)
    if run.spec.tracked:
        raise InputError(
            f"the folds of run {run.run_id} are computed by other code, '{run.spec.algorithm}'; "
            "continue it with the command track, the same name and the same settings"
        )
    if not run.state.active and not run.can_go_on(full=options.full):
        way_out = ""
        # A run that ended at its stop goes on only if --full asks for the folds after the stop.
        if run.can_be_checked:
            way_out = "; --full computes the others"
        raise InputError(
            f"run {run.run_id} is {run.state} with {len(run.folds)} of {run.k} folds, so no "
            f"fold is left to compute{way_out}"
        )
    check_data(run.spec)
    continue_run(store, run, options, full=options.full)


def show_command(options: argparse.Namespace) -> None:
    store = open_store()
    run = Results(store).with_user_scores(find_run(options.run_id, store=store))
    lines = [summary(run)]
    for moment in run.moments:
        score = f"{run.spec.metric_name} {score_text(moment.score)}"
        lines.append(f"fold {moment.fold}: {score}. {moment.decision.reason}")
    write_answer(options, run_document(run, run.user_scores), "\n".join(lines))


def delete_command(options: argparse.Namespace) -> None:
    """Delete runs; none of them where one cannot be."""
    store = open_store()
    run_ids = [full_id(store, name) for name in options.run_ids]
    for run_id in run_ids:
        interrupt_run_if_abandoned(store, run_id)
        run = store.run(run_id)
        if run.state.active:
            raise InputError(f"run {run.run_id} is {run.state}; cancel it before you delete it")
    for run_id in store.remove(run_ids):
        print(f"run {run_id} is deleted; the page Runs can restore it for {UNDO_MINUTES} minutes")


def _count_sentence(rows: list[ListedRun], options: argparse.Namespace) -> str:
    """How many runs there are, and how to go on with one that was cut off."""
    text = "No run"
    if rows:
        text = counted(len(rows), "run")
    if options.dataset:
        text += f" on {options.dataset}"
    # 'No run' takes the verb of one run.
    text += f" {is_or_are(max(len(rows), 1))} {options.state or 'here'}"
    for row in rows:
        if row.state.resumable and computed_here(row.spec):
            return f"{text}; '{program()} resume {row.run_id}' continues one of them."
    return f"{text}."


def _table(rows: list[ListedRun]) -> list[str]:
    """A line for each run, in columns."""
    cells = [_cells(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for row in cells:
        padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append("  ".join(padded).rstrip())
    return lines


def _cells(row: ListedRun) -> tuple[str, ...]:
    score = row.spec.metric_name
    if row.mean is not None:
        score += f" {score_text(row.mean)}"
    return (
        row.run_id,
        row.state.value,
        f"{len(row.scores)}/{len(row.spec.fold_order)}",
        row.spec.dataset,
        row.spec.algorithm,
        score,
        f"{row.created_at:%Y-%m-%d %H:%M}",
        row.label.name,
    )


def _document(row: ListedRun) -> dict[str, object]:
    return {
        "run_id": row.run_id,
        "state": row.state.value,
        "folds": len(row.scores),
        "k": len(row.spec.fold_order),
        "dataset": row.spec.dataset,
        "algorithm": row.spec.algorithm,
        "metric": row.spec.metric_name,
        "mean": row.mean,
        "created_at": row.created_at.isoformat(),
        "name": row.label.name,
        "damaged_folds": list(row.damaged),
    }
