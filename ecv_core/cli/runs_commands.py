"""Runs that are there: listed, shown, resumed, deleted, shared, checked; papers `reproduce`d."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path
from typing import get_args

import ecv_core.untrusted.limits as limits
from ecv_core.cli import answer, check_target, program, write_json
from ecv_core.cli.options import add_place, add_rule_param
from ecv_core.cli.run_command import check_data, go_on, summary
from ecv_core.figures.words import FigureKind, counted, run_name, shown_interval
from ecv_core.jobs.owner import recover
from ecv_core.models import computed_here
from ecv_core.records.errors import InputError, RunError
from ecv_core.records.run import RunRecord, RunState
from ecv_core.stopping import PAPERS_RULE, axis_of
from ecv_core.store.document import run_document
from ecv_core.store.imports import import_run, read_run
from ecv_core.store.listing import ListedRun, RunList
from ecv_core.store.recorded import FOLDER, recorded_run
from ecv_core.store.rescue import back_up
from ecv_core.store.schema import UNDO_MINUTES
from ecv_core.store.store import Store, open_store
from ecv_core.untrusted.files import content_of


def runs_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--state", choices=[one.value for one in RunState], help="only those")
    parser.add_argument("--dataset", metavar="ID", help="only those on it")
    parser.add_argument("--json", metavar="FILE", help="write them as JSON; - for stdout")


def resume_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_id", metavar="RUN", help="its id, or the beginning of it")
    parser.add_argument("--full", action="store_true", help="the folds after its stop too")
    add_place(parser)
    parser.add_argument("--json", metavar="FILE", help="write the result as JSON; - for stdout")


def show_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_id", metavar="RUN", help="its id, or the beginning of it")
    parser.add_argument("--json", metavar="FILE", help="write it as JSON; - for stdout")


def export_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_id", metavar="RUN", help="its id, or the beginning of it")
    parser.add_argument("-o", "--output", metavar="FILE.json", help="- for stdout")


def delete_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_ids", metavar="RUN", nargs="+", help="ids, or the beginnings of them")


def runs_command(options: argparse.Namespace) -> None:
    """List them, newest first; those of a program that is gone are interrupted by then."""
    store = open_store()
    recover(store)
    listed = RunList(store)
    rows = [
        row
        for row in listed.rows()
        if options.state in (None, row.state) and options.dataset in (None, row.spec.dataset)
    ]
    lines = [_sentence(rows, options)]
    if rows:
        widths = [max(map(len, column)) for column in zip(*map(_cells, rows), strict=True)]
        lines += ["  ".join(map(str.ljust, _cells(row), widths)).rstrip() for row in rows]
    lines += listed.damaged.values()
    lines += [said for row in rows for said in row.damaged.values()]
    document = {"runs": [_document(row) for row in rows], "damaged": listed.damaged}
    answer(options, document, "\n".join(lines))


def resume_command(options: argparse.Namespace) -> None:
    """Go on with a run here, to its stop or its last fold."""
    store = open_store()
    recover(store)
    run = _run(store, options.run_id)
    if run.spec.tracked:
        raise InputError(
            f"the folds of run {run.run_id} are computed by other code, '{run.spec.algorithm}'; "
            "the command track with the same name and settings goes on with it"
        )
    if not run.state.active and not (run.resumable or (options.full and run.can_be_checked)):
        way_out = "; --full computes the others" if run.can_be_checked else ""
        raise InputError(
            f"run {run.run_id} is {run.state} with {len(run.folds)} of {run.k} folds, so there is "
            f"nothing to go on with{way_out}"
        )
    check_data(run.spec)
    go_on(store, run, options, full=options.full)


def show_command(options: argparse.Namespace) -> None:
    run = recorded_run(options.run_id) or _run(open_store(), options.run_id)
    metric = run.spec.metric_name
    folds = [
        f"fold {moment.fold}: {metric} {moment.score:.4f}. {moment.decision.reason}"
        for moment in run.moments
    ]
    answer(options, run_document(run), "\n".join([summary(run), *folds]))


def export_command(options: argparse.Namespace) -> None:
    """Write a run as JSON, as the page and `run --json` do."""
    run = recorded_run(options.run_id) or _run(open_store(), options.run_id)
    target = options.output or f"e-fold-{run.run_id}.json"
    check_target(target)
    write_json(run_document(run), target)
    if target != "-":
        print(f"{target}: {run_name(run)}; '{program()} import {target}' keeps it elsewhere")


def delete_command(options: argparse.Namespace) -> None:
    """Delete runs; none of them where one cannot be."""
    store = open_store()
    recover(store)
    runs = [_run(store, run_id) for run_id in dict.fromkeys(options.run_ids)]
    for run in runs:
        if run.state.active:
            raise InputError(f"run {run.run_id} is {run.state}; cancel it before you delete it")
    for run_id in store.remove([run.run_id for run in runs]):
        print(f"run {run_id} is deleted; for {UNDO_MINUTES} minutes the page Runs brings it back")


def _run(store: Store, asked: str) -> RunRecord:
    """The run with this id, or whose id begins so. Raises: InputError."""
    ids = [row.run_id for row in RunList(store).rows() if row.run_id.startswith(asked)]
    if len(ids) > 1 and asked not in ids:
        raise InputError(f"{len(ids)} runs begin with '{asked}'; give more of the id")
    return store.run(ids[0] if len(ids) == 1 else asked)


def _sentence(rows: list[ListedRun], options: argparse.Namespace) -> str:
    what = options.state or "here"
    where = f" on {options.dataset}" if options.dataset else ""
    number = counted(len(rows), "run") if rows else "No run"
    said = f"{number}{where} {'are' if len(rows) > 1 else 'is'} {what}"
    cut_off = [row for row in rows if row.state.resumable and computed_here(row.spec)]
    if not cut_off:
        return f"{said}."
    return f"{said}; '{program()} resume {cut_off[0].run_id}' goes on with one."


def _cells(row: ListedRun) -> tuple[str, ...]:
    mean = "" if row.mean is None else f"{row.mean:.4f}"
    return (
        row.run_id,
        row.state.value,
        f"{len(row.scores)}/{len(row.spec.fold_order)}",
        row.spec.dataset,
        row.spec.algorithm,
        f"{row.spec.metric_name} {mean}".strip(),
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


def backup_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="the copy; an older one of that name is replaced")


def backup_command(options: argparse.Namespace) -> None:
    runs = back_up(open_store(), options.file)
    size = options.file.stat().st_size / 1e6
    print(f"{options.file}: {counted(runs, 'run')}, {size:.1f} MB")


def import_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="what 'Run as JSON' or run --json wrote")


def report_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_id", metavar="RUN_ID")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.html")


def import_command(options: argparse.Namespace) -> None:
    path: Path = options.file
    try:
        content = content_of(path, at_most=limits.MAX_RUN_BYTES)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}; give a run's JSON") from None
    found = read_run(content, path.name)
    run_id, new = import_run(open_store(), found)
    title = f"{found.run.spec.algorithm} on {found.run.spec.dataset}"
    print(f"{run_id}: {title} " + ("is imported" if new else "is here already"))


def report_command(options: argparse.Namespace) -> None:
    path: Path = options.output or Path(f"e-fold-{options.run_id}.html")
    if not path.absolute().parent.is_dir():
        raise InputError(f"the folder of {path} does not exist; make it first")
    from ecv_core.library import run as library

    run = recorded_run(options.run_id) or open_store().run(options.run_id)
    try:
        library.report(library.Run(run), path)
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror}") from None
    print(f"{path}: {run.spec.algorithm} on {run.spec.dataset}")


def figure_options(parser: argparse.ArgumentParser) -> None:
    axis = axis_of(PAPERS_RULE)
    parser.add_argument(
        "run",
        metavar="RUN|study|NAME",
        help="a run's id, a recorded one such as ml-100k--item-knn, or study: the recorded study; "
        "for p-values a recorded tuning such as ml-1m--item-knn, for dimensions, steps, board and "
        "spaces a dataset such as ml-100k",
    )
    parser.add_argument("--kind", required=True, choices=get_args(FigureKind))
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.pdf|svg|pgf|png")
    add_rule_param(
        parser, axis, default=axis.default, help="of difference, stops, ranks and tradeoff"
    )
    parser.add_argument("--folder", type=Path, default=FOLDER, help="default data/recorded")


def figure_command(options: argparse.Namespace) -> None:
    from ecv_core.papers.figure_file import write_figure

    title = write_figure(options.run, options.kind, options.out, options.alpha, options.folder)
    print(f"{options.out}: {title}")


def reproduce_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paper", nargs="?", help="its id, or how that begins, such as discriminative; default all"
    )
    parser.add_argument("table", nargs="?", help="such as 'table 3' or 'figure 2'; default all")
    parser.add_argument(
        "--having",
        default="",
        metavar="TEXT",
        help="only rows with this in their name or a cell, or above a yes: temporal-user, Tafeng",
    )
    parser.add_argument("--json", metavar="FILE", help="write the cells as JSON; - for stdout")


def reproduce_command(options: argparse.Namespace) -> None:
    from ecv_core.papers.cells_text import markdown
    from ecv_core.papers.reproduction import reproduced

    cells = reproduced(options.paper, options.table, having=options.having)
    answer(options, {"cells": [asdict(cell) for cell in cells]}, markdown(cells))


def board_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=["check", "site"],
        help="compute a result's scores again; or render a folder of results as a page",
    )
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE|FOLDER",
        help="a ZIP with run.json, folds.sha256 and reported.csv; or a folder of them",
    )


def board_command(options: argparse.Namespace) -> None:
    from ecv_core.papers.board import check_result, site

    if options.action == "site":
        page, refused = site(options.file)
        for name, why in refused.items():
            print(f"{name} is left out: {why}", file=sys.stderr)
        path = options.file / "index.html"
        try:
            path.write_text(page, encoding="utf-8")
        except OSError as error:
            raise RunError(f"{path} cannot be written: {error.strerror}") from None
        print(path)
        return
    run = (checked := check_result(options.file)).run
    within = f" ({of.low:.4f} to {of.high:.4f})" if (of := shown_interval(run).interval) else ""
    how = (
        "follow from what its model gave"
        if checked.recomputed
        else "are the means of its users' scores, which cannot be computed again"
    )
    print(
        f"{options.file}: {run.spec.algorithm} on {run.spec.dataset}, {run.spec.metric_name} "
        f"{run.moments[run.folds_used - 1].mean:.4f}{within}, {run.folds_used} of {run.k} folds: "
        f"accepted. The folds are those made here, and their scores {how}. Seconds, energy and "
        "machine are its own words."
    )
