"""Damaged files and odd command lines by the thousand: each is read, or refused in a sentence.

python -m benchmarks.fuzz [--cases 10000] [--seed 1] [--case NUMBER]

Every case is made from the seed and its number, so that `--case` makes one again, alone. They run
in processes of 500, each in a folder of its own. Asked of each: no error but one raised on purpose,
whose message is one line of at most 800 characters (the ids of all algorithms have 550); at most
10 s of a processor and 1 GB; nothing written outside the folder. Exit code 1 where that does not
hold.
"""

from __future__ import annotations

import argparse
import io
import logging
import os
import resource
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import redirect_stderr, redirect_stdout
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.damage import TEXTS, odd_table, packed, text_table
from ecv_core import cli
from ecv_core.analysis.score_files import read_contenders, with_varying_scores
from ecv_core.dataset.own import add_file, remove
from ecv_core.dataset.plain import no_report
from ecv_core.dataset.preparation import prepared
from ecv_core.fold import import_folds
from ecv_core.records.errors import EcvError
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
COMMANDS = ("track", "tell", "runs", "resume", "orders", "folds", "import", "figure", "add")
"""Those that compute nothing, or nothing unless they are given a run."""
ARGUMENTS = ("synthetic", "popular", "ndcg@10", "x.csv", "3", "a=b")
OPTIONS = ("--json", "--folder", "--scores", "-k", "--state", "--dataset", "--param", "--out")


# -- what a case does ----------------------------------------------------------------------------


def own_dataset(random: Random, folder: Path) -> None:
    """Interactions, or a table of samples whose target is named, as `add` takes them."""
    rows = []
    for _ in range(60):
        user, item, rating = (random.randrange(most) for most in (6, 9, 6))
        rows.append([str(user), str(item), str(rating), str(random.randrange(2**31))])
    path = odd_table(folder, ["user", "item", "rating", "timestamp"], rows, random)
    settings = {}
    if random.random() < 0.5:
        settings[random.choice(("user_id", "target"))] = random.choice((*TEXTS, "1", "rating"))
    add_file("fuzzed", path, settings, no_report)
    remove("fuzzed")


def folds(random: Random, folder: Path) -> None:
    """A table of folds of the synthetic dataset, now and then of all of it."""
    data = prepared("synthetic")
    count = random.choice((200, 200, 200, 200, len(data)))
    rows = []
    for user, item in zip(data.users[:count], data.items[:count], strict=True):
        rows.append([str(data.user_ids[user]), str(data.item_ids[item]), str(random.randrange(4))])
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
    path = odd_table(folder, ["contender", "fold", "score"], rows, random)
    with_varying_scores(read_contenders(path), f"the file {path.name}")


def command_line(random: Random, folder: Path) -> None:
    """A command with words that do not belong together."""
    # No text may name a file of somebody else.
    texts = [text for text in TEXTS if "/" not in text and "\0" not in text]
    (folder / "x.csv").write_bytes(random.choice(TEXTS).encode())
    words = random.choices((*ARGUMENTS, *OPTIONS, *texts), k=random.randrange(8))
    os.chdir(folder)
    words.insert(0, random.choice(COMMANDS))
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        try:
            code = cli.main(words)
        except SystemExit as error:  # --help
            code = int(error.code or 0)
    assert code in (0, 1, 2), code


KINDS: dict[str, Callable[[Random, Path], None]] = {
    "own dataset": own_dataset,
    "folds": folds,
    "scores": scores,
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


def prepare_process() -> None:
    """Limit this process, and have it read files itself and say nothing of what is damaged."""
    logging.disable()
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
    bounded.run_in_child = read_here


def outcomes_of(cases: Sequence[int], seed: int) -> list[str]:
    """Do cases in a process of their own; one that ends the process is the last of them."""
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="ecv-fuzz-") as name:
        folder = Path(name)
        for folder_name in FOLDERS:
            (folder / folder_name).mkdir()
        os.environ |= {
            "ECV_DATA_DIR": str(folder / "data"),
            "ECV_DATA_PATH": "",
            "ECV_DATABASE_URL": f"sqlite:///{folder / 'data' / 'runs.sqlite'}",
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "tmp"),
        }
        spawn = get_context("spawn")
        with ProcessPoolExecutor(1, spawn, initializer=prepare_process) as process:
            try:
                results = process.map(outcome_of, cases, repeat(seed), repeat(folder / "files"))
                for outcome in results:
                    outcomes.append(outcome)
            except BrokenProcessPool:
                outcomes.append("ended its process")
        strange = {path.name for path in folder.iterdir()} - {*FOLDERS}
        if strange:
            outcomes[-1] += f" written outside, in this batch: {strange}"
    return outcomes


def main() -> None:
    """Do the cases, and print what was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", type=int, help="only this one")
    options = parser.parse_args()
    cases = range(options.cases)
    if options.case is not None:
        cases = range(options.case, options.case + 1)
    counts = {READ: 0, REFUSED: 0, "failed": 0}
    begin = time.monotonic()
    while cases:
        outcomes = outcomes_of(cases[:BATCH], options.seed)
        for case, outcome in zip(cases, outcomes, strict=False):
            if outcome in counts:
                counts[outcome] += 1
            else:
                counts["failed"] += 1
                print(f"case {case}, {outcome}", flush=True)
        cases = cases[len(outcomes) :]
    seconds = time.monotonic() - begin
    megabytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(
        f"{sum(counts.values())} cases, {counts[READ]} read, {counts[REFUSED]} refused, "
        f"{counts['failed']} failed, {seconds:.0f} s, at most {megabytes:.0f} MB"
    )
    sys.exit(counts["failed"] > 0)


if __name__ == "__main__":
    main()
