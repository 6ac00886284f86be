"""The command line: `python -m ecv_core ...`; its words and JSON are a contract other tools use."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from tqdm import tqdm

from ecv_core import datasets, fold
from ecv_core.document import moments_of, run_document
from ecv_core.errors import EcvError, InputError, RunError
from ecv_core.records import Run, RunSpec, RunState
from ecv_core.runner import InProcess, execute, this_process, work
from ecv_core.spec import make_spec
from ecv_core.store import open_store

OK, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
SAVE_ATTEMPTS = 5


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; gives its exit code: 0, 1 for a failed run, 2 for bad input."""
    try:
        options = _parser().parse_args(arguments)
        command: Callable[[argparse.Namespace], int] = options.command
        return command(options)
    except RunError as error:
        return _complain(error, FAILED)
    except EcvError as error:
        return _complain(error, BAD_INPUT)
    except KeyboardInterrupt:
        return _complain("stopped; finished folds are kept", INTERRUPTED)
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Refuse bad arguments like any other bad input: in one line."""
        raise InputError(f"{message}; see '{self.prog} --help'")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m ecv_core", description="e-fold cross-validation")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    listing = commands.add_parser("datasets", help="list the datasets, and which are on disk")
    listing.add_argument("--json", action="store_true", help="as JSON, for programs")
    listing.set_defaults(command=_datasets)

    fetching = commands.add_parser(
        "download", help="download a dataset, after its licence is shown"
    )
    fetching.add_argument("dataset")
    fetching.set_defaults(command=_download)

    splitting = commands.add_parser("folds", help="write folds as user_id,item_id,fold")
    splitting.add_argument("dataset")
    splitting.add_argument("file", type=Path, help="FILE.csv or FILE.csv.gz")
    _add_split_options(splitting)
    splitting.set_defaults(command=_folds)

    running = commands.add_parser("run", help="evaluate an algorithm on a dataset")
    running.add_argument("dataset")
    running.add_argument("algorithm")
    running.add_argument("--rule", default="e-fold", help="stopping rule (default e-fold)")
    level = running.add_mutually_exclusive_group()
    level.add_argument("--alpha", type=float, default=1e-5, help="larger stops sooner")
    level.add_argument("--tolerance", type=float, help="for the precision rule: 0.03 is 3 %%")
    running.add_argument("--confidence", type=float, default=0.95, metavar="0.95")
    running.add_argument("--min-folds", type=int, metavar="3", help="never stop before")
    _add_split_options(running)
    running.add_argument("--folds", type=Path, metavar="FILE", help="use these released folds")
    running.add_argument("--metric", default="ndcg", help="what the score is (default ndcg)")
    running.add_argument("-n", type=int, default=10, help="length of the recommendation list")
    running.add_argument(
        "--param", action="append", default=[], metavar="NAME=VALUE", help="a model's parameter"
    )
    running.add_argument(
        "--full", action="store_true", help="go on to the last fold after the stop"
    )
    running.add_argument("--only-folds", default="", metavar="0,1", help="run just these folds")
    running.add_argument("--country", default="DEU", help="for emissions: ISO code (default DEU)")
    running.add_argument("--json", metavar="FILE", help="write the result as JSON; - for stdout")
    running.set_defaults(command=_run)
    return parser


def _add_split_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--split", default="user-k-fold", help="how to make folds")
    parser.add_argument("-k", type=int, default=10, help="number of folds (default 10)")
    parser.add_argument("--seed", type=int, default=42, help="fixes every random choice")


def _datasets(options: argparse.Namespace) -> int:
    rows = [
        {
            "id": entry.id,
            "title": entry.title,
            "users": entry.users,
            "items": entry.items,
            "interactions": entry.interactions,
            "on_disk": datasets.available(entry),
            "source": entry.homepage,
            "licence": entry.licence,
        }
        for entry in datasets.catalogue().values()
    ]
    if options.json:
        print(json.dumps(rows, indent=2))
        return OK
    print(f"{'dataset':<22}{'users':>9}{'items':>9}{'interactions':>14}  where")
    for row in rows:
        counts = [f"{row[name]:,}" if row[name] else "?" for name in _COUNTS]
        where = (
            "on disk" if row["on_disk"] else f"not here: python -m ecv_core download {row['id']}"
        )
        print(f"{row['id']:<22}{counts[0]:>9}{counts[1]:>9}{counts[2]:>14}  {where}")
    return OK


_COUNTS = ("users", "items", "interactions")


def _download(options: argparse.Namespace) -> int:
    entry = datasets.entry(options.dataset)
    if datasets.available(entry):
        print(f"{entry.id} is on disk already")
        return OK
    print(
        f"{entry.title}\nLicence: {entry.licence}\nPlease cite: {entry.citation}", file=sys.stderr
    )
    with tqdm(unit="B", unit_scale=True, desc=entry.id, disable=None) as bar:

        def show(done: int, total: int) -> None:
            bar.total = total or None
            bar.update(done - bar.n)

        path = datasets.download(entry, show)
    print(path)
    return OK


def _folds(options: argparse.Namespace) -> int:
    spec = make_spec(
        dataset=options.dataset,
        algorithm="popular",  # folds do not depend on it
        split=options.split,
        k=options.k,
        seed=options.seed,
    )
    fold.export_folds(spec, options.file)
    print(f"{options.file}: {options.k} folds of {options.dataset} ({options.split})")
    return OK


def _run(options: argparse.Namespace) -> int:
    if options.json and options.json != "-" and not Path(options.json).absolute().parent.is_dir():
        raise InputError(f"the folder of --json {options.json} does not exist; make it first")
    spec = _spec(options)
    fold.prepared(spec.dataset)  # a dataset that cannot be read is bad input, not a failed run
    fold.folds_of(spec)
    store = open_store()
    run_id = store.create([spec], owner=this_process())[0]
    with tqdm(total=len(spec.fold_order), unit="fold", disable=None, leave=False) as bar:
        attempts = 0

        def on_fold(run: Run) -> None:
            bar.update(1)
            moment = moments_of(run)[-1]
            seconds, score = run.folds[-1].total_seconds, moment.score
            tqdm.write(
                f"fold {moment.fold}: {spec.metric_name} {score:.4f} in {seconds:.2f} s. "
                f"{moment.decision.reason}",
                file=sys.stderr,
            )

        def on_trouble(sentence: str | None) -> None:
            nonlocal attempts
            attempts = attempts + 1 if sentence else 0
            if sentence and attempts == 1:
                tqdm.write(sentence, file=sys.stderr)
            if attempts >= SAVE_ATTEMPTS:
                raise RunError(f"gave up saving after {attempts} attempts: {sentence}")

        def show(phase: str, step: int, steps: int) -> None:
            bar.set_description(f"{phase} {step}/{steps}" if steps else phase)

        job = partial(work, also=show)
        execute(store, run_id, InProcess(), job=job, on_fold=on_fold, on_trouble=on_trouble)
    run = store.run(run_id)
    _write_json(run_document(run), options.json)
    if run.state is not RunState.FINISHED:
        raise RunError(run.error or f"the run was {run.state}; its finished folds are kept")
    if options.json != "-":
        print(_summary(run))
    return OK


def parse_spec(arguments: Sequence[str]) -> RunSpec:
    """The spec that `run ...` with these arguments would evaluate.

    Raises: InputError for arguments that make no run.
    """
    return _spec(_parser().parse_args(arguments))


def _spec(options: argparse.Namespace) -> RunSpec:
    sha256, k = None, options.k
    if options.folds:
        sha256, k = fold.import_folds(options.dataset, options.folds)
    return make_spec(
        dataset=options.dataset,
        algorithm=options.algorithm,
        params=dict(_param(text) for text in options.param),
        split=options.split,
        folds_sha256=sha256,
        k=k,
        only_folds=_only_folds(options.only_folds),
        seed=options.seed,
        metric=options.metric,
        n=options.n,
        rule=options.rule,
        alpha=options.alpha,
        tolerance=options.tolerance,
        confidence=options.confidence,
        min_folds=options.min_folds,
        full=options.full,
        country=options.country,
    )


def _only_folds(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",") if part]
    except ValueError:
        raise InputError(f"--only-folds takes numbers like 0,1 but got '{text}'") from None


def _param(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"--param takes name=value, but got '{text}'")
    return name, value


def _write_json(document: dict[str, Any], target: str | None) -> None:
    if target is None:
        return
    text = json.dumps(document, indent=2)
    if target == "-":
        print(text)
        return
    try:
        Path(target).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise RunError(
            f"--json {target} cannot be written: {error.strerror}; the run itself is kept as "
            f"{document['run_id']}"
        ) from None


def _summary(run: Run) -> str:
    document, spec = run_document(run), run.spec
    used, planned = len(run.folds), len(spec.fold_order)
    joules = sum(result.energy.joules for result in run.folds)
    half = (document["interval"][1] - document["interval"][0]) / 2 if document["interval"] else None
    plus_minus = f" ± {half:.4f}" if half is not None else ""
    lines = [
        f"{spec.algorithm} on {spec.dataset}: {spec.metric_name} "
        f"{document['mean']:.4f}{plus_minus}",
        f"stopped after fold {run.stopped_at} of {planned}"
        if run.stopped_at and run.stopped_at < planned
        else f"ran {used} of {planned} folds",
        f"energy {joules / 3600:.3f} Wh over {used} folds ({run.folds[-1].energy.source})",
        f"run {run.run_id}",
    ]
    if run.spec.full and document["difference_percent"] is not None:
        lines.insert(
            2,
            f"{planned}-fold mean {document['k_fold_mean']:.4f}: "
            f"{document['difference_percent']:.2f} % away",
        )
    return "\n".join(lines)


def _complain(error: EcvError | str, code: int) -> int:
    print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
    return code
