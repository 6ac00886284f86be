"""Damaged files, rows and command lines by the thousand: each is read, or refused in a sentence.

python -m benchmarks.fuzz [--cases 10000] [--seed 1] [--case NUMBER]

Every case is made from the seed and its number, so that `--case` makes one again, alone. They run
in processes of 500, each in a folder of its own. Asked of each: no error but one raised on purpose,
whose message is one line of at most 800 characters (the ids of all algorithms have 550); at most
10 s of a processor and 1 GB; nothing written outside the folder. Exit code 1 where that does not
hold.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import sqlalchemy as sa

from benchmarks.damage import (
    TEXTS,
    VALUES,
    damaged,
    json_lines,
    odd_json,
    packed,
    parquet_table,
    text_table,
    zipped,
)
from ecv_core import cli
from ecv_core.analysis.score_files import read_contenders, with_varying_scores
from ecv_core.dataset.own import add_file, remove
from ecv_core.dataset.plain import no_report
from ecv_core.dataset.preparation import prepared
from ecv_core.fold import import_folds
from ecv_core.fold.computing import run_fold
from ecv_core.fold.spec import make_spec
from ecv_core.records.errors import EcvError
from ecv_core.records.run import RunState
from ecv_core.store import schema
from ecv_core.store.activity import current_activity
from ecv_core.store.document import run_document
from ecv_core.store.imports import import_run, origins, read_run
from ecv_core.store.listing import RunList
from ecv_core.store.plans import STUDY, PlannedRun, keep_plan, stored_plans
from ecv_core.store.results import Results
from ecv_core.store.store import Store, open_store
from ecv_core.untrusted import bounded

MOST_SECONDS = 10.0
MOST_BYTES = 1 << 30
LONGEST_MESSAGE = 800
READ = "read"
REFUSED = "refused"
BATCH = 500
"""Cases of a process."""
FOLDERS = ("data", "home", "tmp", "files")
"""Of a process; it may write nowhere else."""
COMMANDS = (
    "track",
    "tell",
    "runs",
    "resume",
    "orders",
    "folds",
    "import",
    "figure",
    "add",
    "restore",
)
"""Those that compute nothing, or nothing unless they are given a run."""
ARGUMENTS = ("synthetic", "popular", "ndcg@10", "x.csv", "3", "a=b")
OPTIONS = (
    "--json",
    "--folder",
    "--scores",
    "--score",
    "-k",
    "--state",
    "--dataset",
    "--param",
    "--out",
)


# -- what a case does ----------------------------------------------------------------------------


def write_table(folder: Path, columns: list[str], rows: list[list[str]], random: Random) -> Path:
    """A file of these rows: Parquet, lines of JSON, or text, in which something may be odd."""
    name = random.choice(("a.parquet", "a.jsonl", "a.csv", "a.csv", "a.csv", "a.csv.gz"))
    if name == "a.parquet":
        content = parquet_table(columns, rows, random)
    elif name == "a.jsonl":
        content = packed(json_lines(columns, rows, random), name, random)
    else:
        content = packed(text_table(columns, rows, random), "a.csv", random)
    path = folder / name
    path.write_bytes(content)
    return path


def own_dataset(random: Random, folder: Path) -> None:
    """Interactions, or a table of samples whose target is named, as `add` takes them."""
    rows = []
    for _ in range(60):
        user, item, rating = (random.randrange(most) for most in (6, 9, 6))
        rows.append([str(user), str(item), str(rating), str(random.randrange(2**31))])
    path = write_table(folder, ["user", "item", "rating", "timestamp"], rows, random)
    settings = {}
    if random.random() < 0.5:
        settings[random.choice(("user_id", "target"))] = random.choice((*TEXTS, "1", "rating"))
    add_file("fuzzed", path, settings, no_report)
    remove("fuzzed")


def folds(random: Random, folder: Path) -> None:
    """Folds of the synthetic dataset: a table, or an archive with a table of each fold."""
    data = prepared("synthetic")
    count = 200
    if random.random() < 0.1:
        count = len(data)
    pairs = []
    for user, item in zip(data.users[:count], data.items[:count], strict=True):
        pairs.append([str(data.user_ids[user]), str(data.item_ids[item])])
    if random.random() < 0.3:
        members = {}
        for fold in range(random.choice((1, 2, 3))):
            rows = [[*pair, random.choice(("train", "test"))] for pair in pairs]
            table = text_table(["user_id", "item_id", "part"], rows, random)
            members[f"fold-{fold}.csv"] = table
        content = zipped(members, random)
    else:
        rows = [[*pair, str(random.randrange(4))] for pair in pairs]
        content = text_table(["user_id", "item_id", "fold"], rows, random)
    path = folder / "folds.csv"
    path.write_bytes(packed(content, "folds.csv", random))
    import_folds("synthetic", path)


def scores(random: Random, folder: Path) -> None:
    """Fold scores of two systems, for a selection and for How many folds?."""
    rows = []
    for contender in "ab":
        for fold in range(5):
            rows.append([contender, str(fold), f"{random.random():.3f}"])
    path = write_table(folder, ["contender", "fold", "score"], rows, random)
    with_varying_scores(read_contenders(path), f"the file {path.name}")


@cache
def run_to_export() -> str:
    """The JSON of a run of two folds, which can be imported as it is."""
    spec = make_spec(dataset="synthetic", algorithm="popular", k=2, rule="never")
    store = open_store()
    (run_id,) = store.create([spec], owner="here")
    store.start(run_id, owner="here")
    store.add_fold(run_id, run_fold(spec, 0), stopped_at=None)
    store.add_fold(run_id, run_fold(spec, 1), stopped_at=2)
    store.finish(run_id, RunState.FINISHED)
    document = json.dumps(run_document(store.run(run_id)))
    store.delete(run_id)
    return document


def exported_run(random: Random, folder: Path) -> None:
    """A run that was exported; what is taken is kept, read and deleted again."""
    name = random.choice(("run.json", *TEXTS))
    run = read_run(odd_json(run_to_export(), random), name)
    store = open_store()
    run_id, _ = import_run(store, run)
    store.run(run_id)
    store.delete(run_id)


def database_rows(random: Random, folder: Path) -> None:
    """Rows of the database that somebody has written over: other runs are read all the same."""
    store = open_store()
    imported = read_run(run_to_export().encode(), "run.json")
    damaged_run, _ = import_run(store, imported)
    (other_run,) = store.create([imported.run.spec], owner="here")
    keep_plan(store, STUDY, [PlannedRun(spec=imported.run.spec)])
    for _ in range(random.choice((1, 1, 2, 5))):
        _write_over(store, damaged_run, random)
    runs = RunList(store)
    assert other_run in [row.run_id for row in runs.rows()]
    store.runs()
    store.specs()
    origins(store)
    current_activity(store)
    stored_plans(store, STUDY)
    with suppress(EcvError):
        run_document(store.run(damaged_run))
        Results(store, with_recorded=False).scores(store.run(damaged_run))
    with store.transaction("emptied") as connection:
        for table in (schema.runs, schema.folds, schema.imports, schema.plans):
            connection.execute(table.delete())


def _write_over(store: Store, run_id: str, random: Random) -> None:
    """Put something else into a column of a run, its folds or its origin, or of the plan."""
    table = random.choice((schema.runs, schema.folds, schema.folds, schema.imports, schema.plans))
    names = [column.name for column in table.c if column.name not in ("sequence", "run_id")]
    name = random.choice(names)
    condition = ""
    if "run_id" in table.c:
        condition = f" WHERE run_id = '{run_id}'"
    with suppress(EcvError, OverflowError), store.transaction("written over") as connection:
        query = sa.text(f"SELECT {name} FROM {table.name}{condition}")
        text = damaged(str(connection.execute(query).scalar()).encode(), random)
        value = random.choice((text.decode(errors="replace"), json.dumps(random.choice(VALUES))))
        # SQLite checks no type, and so keeps it as it is.
        update = sa.text(f"UPDATE {table.name} SET {name} = :value{condition}")
        connection.execute(update, {"value": value})


def command_line(random: Random, folder: Path) -> None:
    """A command with words that do not belong together."""
    # No text may name a file of somebody else.
    texts = [text for text in TEXTS if "/" not in text and "\0" not in text]
    (folder / "x.csv").write_bytes(random.choice(TEXTS).encode())
    words = random.choices((*ARGUMENTS, *OPTIONS, *texts), k=random.randrange(8))
    os.chdir(folder)
    try:
        code = cli.main([random.choice(COMMANDS), *words])
    except SystemExit as error:  # --help
        code = int(error.code or 0)
    assert code in (0, 1, 2), code


KINDS: dict[str, Callable[[Random, Path], None]] = {
    "own dataset": own_dataset,
    "folds": folds,
    "scores": scores,
    "exported run": exported_run,
    "database rows": database_rows,
    "command line": command_line,
}


# -- cases in processes of their own -------------------------------------------------------------


def outcome_of(case: int, seed: int, folder: Path) -> str:
    """Do a case; gives `READ`, `REFUSED`, or its kind and what was wrong."""
    random = Random(f"{seed}-{case}")
    kind = random.choice(list(KINDS))
    begin = time.process_time()
    outcome = READ
    try:
        KINDS[kind](random, folder)
    except EcvError as error:
        outcome = REFUSED
        message = str(error)
        if len(message.splitlines()) != 1 or len(message) > LONGEST_MESSAGE:
            outcome = f"{kind}: a message of {len(message)} characters: {message[:300]!r}"
    except BaseException:  # noqa: BLE001  is what is looked for
        outcome = f"{kind}: {traceback.format_exc(limit=-6)}"
    seconds = time.process_time() - begin
    if seconds > MOST_SECONDS:
        outcome = f"{kind}: {seconds:.0f} s of a processor, {outcome}"
    return outcome


def read_here(function: Callable[..., Any], *arguments: object, **options: Any) -> Any:  # noqa: ANN401
    """In place of `bounded.run_in_child`: a process for each file would take most of the time."""
    report = options.get("report")
    if report is not None:
        arguments = (*arguments, report)
    return function(*arguments)


def do_batch(first: int, end: int, seed: int, results: Path) -> None:
    """Do cases in this process, with a line in a file for each."""
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
    bounded.run_in_child = read_here
    with results.open("w") as file:
        for case in range(first, end):
            outcome = outcome_of(case, seed, results.parent / "files")
            print(json.dumps(outcome), file=file, flush=True)


def outcomes_of_batch(first: int, end: int, seed: int) -> list[str]:
    """Do cases in a process of their own; a case that ends the process is the last one of them.

    Returns: the outcome of each case that was done.
    """
    with tempfile.TemporaryDirectory(prefix="ecv-fuzz-") as name:
        folder = Path(name)
        for folder_name in FOLDERS:
            (folder / folder_name).mkdir()
        results = folder / "results"
        environment = os.environ | {
            "ECV_DATA_DIR": str(folder / "data"),
            "ECV_DATA_PATH": "",
            "ECV_DATABASE_URL": f"sqlite:///{folder / 'data' / 'runs.sqlite'}",
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "tmp"),
        }
        batch = ["--batch", str(first), str(end), str(results), "--seed", str(seed)]
        process = subprocess.run(
            [sys.executable, "-m", "benchmarks.fuzz", *batch],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        outcomes = []
        if results.exists():
            outcomes = [json.loads(line) for line in results.read_text().splitlines()]
        if process.returncode:
            last_words = process.stderr[-500:]
            outcomes.append(f"ended its process ({process.returncode}): {last_words}")
        strange = {path.name for path in folder.iterdir()} - {*FOLDERS, "results"}
        if strange:
            outcomes[-1] += f" written outside, in this batch: {strange}"
    return outcomes


def main() -> None:
    """Do the cases, and print what was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", type=int, help="only this one")
    parser.add_argument("--batch", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.batch:
        first, end, results = options.batch
        do_batch(int(first), int(end), options.seed, Path(results))
        return
    case = 0
    end_of_cases = options.cases
    if options.case is not None:
        case = options.case
        end_of_cases = case + 1
    counts = {READ: 0, REFUSED: 0, "failed": 0}
    begin = time.monotonic()
    while case < end_of_cases:
        end_of_batch = min(case + BATCH, end_of_cases)
        for outcome in outcomes_of_batch(case, end_of_batch, options.seed):
            if outcome in counts:
                counts[outcome] += 1
            else:
                counts["failed"] += 1
                print(f"case {case}, {outcome}", flush=True)
            case += 1
    seconds = time.monotonic() - begin
    megabytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(
        f"{sum(counts.values())} cases, {counts[READ]} read, {counts[REFUSED]} refused, "
        f"{counts['failed']} failed, {seconds:.0f} s, at most {megabytes:.0f} MB"
    )
    sys.exit(counts["failed"] > 0)


if __name__ == "__main__":
    main()
