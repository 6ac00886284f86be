"""How seconds and memory grow with the data, of all that has to be linear, from a file to a page.

    python -m benchmarks.growth [--sizes 1e5,1e6,1e7] [--only "read a CSV,prune"]

Each stage at each size in a fresh process: the least processor seconds of three times, or of one
where they are more than ten seconds, and the memory that it takes beyond what it is given; then the
exponents with which both grow between the two largest sizes. Exit code 1 where one is above 1.1, or
above 1.5 for the seconds of what reads memory in random order, which the processor's cache slows
down as the data outgrow it. A stage prepares a size, and returns the work that is measured.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import math
import os
import resource
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from benchmarks.spent import processor_seconds, status_megabytes
from benchmarks.tables import print_head, print_row
from ecv_core import evaluation, models, splits
from ecv_core.analysis.replay import result_of
from ecv_core.dataset import own, synthetic
from ecv_core.dataset.plain import no_report
from ecv_core.dataset.preparation import prepared
from ecv_core.dataset.pruning import prepare
from ecv_core.fold.spec import make_spec
from ecv_core.records.interactions import Interactions
from ecv_core.records.run import FoldResult, RunState, UserScores
from ecv_core.records.tasks import Task
from ecv_core.store.store import open_store

FOLDS = 10
REPEATS = 3
MOST_EXPONENT = 1.1
"""What is linear in the interactions may grow so fast, measured between the two largest sizes."""
MOST_EXPONENT_AT_RANDOM = 1.5
"""The same for the seconds of what reads memory in random order. A linear number of such reads
takes more than linear time while the data outgrow the processor's cache: numpy's permutation alone
has been measured from 1.1 to 1.33, more beside other programs, which use the same cache. Of
anything quadratic it is 2."""
LONG_SECONDS = 10
"""What takes longer is measured once."""
LEAST_SECONDS = 0.02
LEAST_MB = 10
"""Less than this counts as this, as it is mostly what a stage takes at any size."""
PER_USER = 100
"""Interactions of a user, of made ones."""
PAGES = Path(__file__).parents[1] / "pages"
METRICS = (
    *(f"{name}@10" for name in ("ndcg", "recall", "precision", "hit", "mrr", "map")),
    "ndcg@5",
    "ndcg@20",
)
Work = Callable[[], object]


def made_interactions(count: int) -> Interactions:
    """Interactions of users with 100 each, times at random, ten to a basket; sorted like real ones.

    Which items they are does not matter to any strategy's cost, so users take them in turn.
    """
    items = 10_000
    users = count // PER_USER
    item_of_row = (np.arange(count) * 97) % items
    return Interactions(
        dataset=f"{count:,} interactions",
        users=np.repeat(np.arange(users, dtype=np.int32), PER_USER),
        items=np.sort(item_of_row.reshape(users, PER_USER), axis=1).ravel().astype(np.int32),
        user_ids=np.arange(users).astype(str),
        item_ids=np.arange(items).astype(str),
        timestamps=np.random.default_rng(0).integers(0, 10**8, count),
        baskets=np.tile(np.repeat(np.arange(10, dtype=np.int32), 10), users),
    )


def write_csv(size: int, path: Path) -> None:
    """So many rows in random order, with ids as texts, ratings and times."""
    # Each repeat has other rows: a process opens the same ones from its memory.
    rng = np.random.default_rng(int(path.parent.name))
    columns = {
        "user_id": pc.binary_join_element_wise("customer", texts(rng, size // PER_USER, size), "-"),
        "item_id": pc.binary_join_element_wise("article", texts(rng, 10_000, size), "-"),
        "rating": rng.integers(1, 6, size),
        "timestamp": rng.integers(1_500_000_000, 1_700_000_000, size),
    }
    csv.write_csv(pa.table(columns), path)


def texts(rng: np.random.Generator, limit: int, size: int) -> pa.Array:
    """Numbers below a limit at random, as texts; shape (size,)."""
    return pc.cast(pa.array(rng.integers(0, limit, size)), pa.string())


def reading(size: int, folder: Path) -> Work:
    """A CSV of so many rows becomes a dataset."""
    path = folder / "rows.csv"
    write_csv(size, path)
    os.environ["ECV_DATA_DIR"] = str(folder / "data")
    os.environ["ECV_MAX_UPLOAD_MB"] = "10000"
    os.environ["ECV_MAX_READ_SECONDS"] = "3600"  # beside other programs, too
    return partial(own.add_file, "mine", path, {}, no_report)


def opening(size: int, folder: Path) -> Work:
    """A dataset that was read before is opened."""
    reading(size, folder)()
    return partial(prepared, "mine")


def pruning(size: int, _folder: Path) -> Work:
    """Users and items with fewer than five interactions are left out."""
    return partial(prepare, synthetic.generate_large(size))


def splitting(strategy: str, size: int, _folder: Path) -> Work:
    """The split and its first fold's matrices."""
    return partial(split_once, made_interactions(size), strategy)


def split_once(interactions: Interactions, strategy: str) -> None:
    """Make the split and its first fold."""
    folds = splits.split(interactions, strategy, splits.strategy(strategy).default_k, 0)
    splits.fold_matrices(interactions, folds, 0)


def folding(size: int, _folder: Path) -> Work:
    """A fold of `popular`, fitted and evaluated."""
    data = prepare(synthetic.generate_large(size))
    folds = splits.split(data, next(iter(splits.SPLITS)), FOLDS, 0)
    parts = splits.fold_matrices(data, folds, 0)
    evaluation.load_compiled(data.n_users * data.n_items)

    def work() -> None:
        model = models.algorithm("popular").build({"batch_size": 0})
        model.fit(parts.train, seed=1)
        evaluation.evaluate(model, parts.seen, parts.held_out, (1, 5, 10, 20), train=parts.train)

    return work


def made_folds(users: int) -> list[FoldResult]:
    """Ten folds of so many users, with eight metrics of each."""
    folds = []
    for index in range(FOLDS):
        hits = np.random.default_rng(index).integers(0, 11, (users, 1))
        values = (hits / np.arange(10, 18)).astype(np.float32)
        means = dict(zip(METRICS, values.mean(axis=0, dtype=np.float64).tolist(), strict=True))
        fold = result_of(index, means["ndcg@10"])
        scores = UserScores(users=np.arange(users, dtype=np.int32), metrics=METRICS, values=values)
        folds.append(replace(fold, metrics=means, users=users, user_scores=scores))
    return folds


def storing(size: int, folder: Path) -> Work:
    """Ten folds are kept, with scores of every user."""
    results = made_folds(size // PER_USER)
    return partial(store_run, folder, results)


def reading_scores(size: int, folder: Path) -> Work:
    """The scores of every user in ten folds are read again."""
    results = made_folds(size // PER_USER)
    run_id = store_run(folder, results)
    return partial(open_store(database(folder)).user_scores, run_id)


def showing(size: int, folder: Path) -> Work:
    """The page of a run of ten folds, with scores of every user, is drawn."""
    from streamlit.testing.v1 import AppTest

    results = made_folds(size // PER_USER)
    os.environ["ECV_DATABASE_URL"] = database(folder)
    os.environ["ECV_DATA_DIR"] = str(folder / "data")
    run_id = store_run(folder, results)

    def work() -> None:
        app = AppTest.from_file(str(PAGES / "main.py"), default_timeout=600)
        app.query_params["run"] = run_id
        app.switch_page("run/run.py").run()
        assert not app.exception

    return work


def database(folder: Path) -> str:
    """Where a stage keeps its runs."""
    return f"sqlite:///{folder / 'runs.sqlite'}"


def store_run(folder: Path, results: Sequence[FoldResult]) -> str:
    """Keep a run of these folds."""
    store = open_store(database(folder))
    spec = make_spec(dataset="synthetic", algorithm="popular")
    (run_id,) = store.create([spec], owner="benchmark")
    store.start(run_id, owner="benchmark")
    for result in results:
        store.add_fold(run_id, result, stopped_at=None)
    store.finish(run_id, RunState.FINISHED)
    return run_id


SPLITS = {f"split {name}": partial(splitting, name) for name in splits.serving(Task.TOP_N)}

STAGES: dict[str, Callable[[int, Path], Work]] = {
    "read a CSV": reading,
    "open it again": opening,
    "prune": pruning,
    **SPLITS,
    "fold of popular": folding,
    "store ten folds": storing,
    "read ten folds": reading_scores,
    "page of a run": showing,
}
"""What has to be linear, by its name; users are a hundredth of the interactions."""

AT_RANDOM = {"open it again", "prune", *SPLITS}
"""Those that read memory in random order."""


def measured(name: str, size: int) -> dict[str, float]:
    """The least processor seconds of a stage in a few repeats, and megabytes.

    Megabytes are those of this process at most, less what it held before, or of a larger child.
    """
    least_seconds = math.inf
    most_megabytes = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for repeat in range(REPEATS):
            place = Path(folder) / str(repeat)
            place.mkdir()
            work = STAGES[name](size, place)
            gc.collect()
            held_before = start_peak()
            child_before = resource.getrusage(resource.RUSAGE_CHILDREN)
            begin = processor_seconds()
            work()
            least_seconds = min(least_seconds, processor_seconds() - begin)
            # Later repeats find the memory of the first one free.
            most_megabytes = max(most_megabytes, status_megabytes("VmHWM") - held_before)
            child = resource.getrusage(resource.RUSAGE_CHILDREN)
            if child.ru_maxrss > child_before.ru_maxrss:
                most_megabytes = max(most_megabytes, child.ru_maxrss / 1024)
            if least_seconds > LONG_SECONDS:
                break
    return {"seconds": least_seconds, "mb": most_megabytes}


def start_peak() -> float:
    """Forget the memory that this process had at most; returns the MB that it holds.

    What was freed is given back first, as it would be used again and not be seen.
    """
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5", "utf-8")
    return status_megabytes("VmRSS")


def print_stages(sizes: Sequence[int], names: Sequence[str]) -> bool:
    """A row for each stage; whether none grows faster than it may."""
    columns = [f"{size:,}: s, MB" for size in sizes]
    print_head(["stage", *columns, "seconds grow with the power", "memory", "at most"])
    none_too_fast = True
    for name in names:
        rows = []
        for size in sizes:
            with ProcessPoolExecutor(1, get_context("spawn")) as fresh_process:
                rows.append(fresh_process.submit(measured, name, size).result())
        of_seconds = power(sizes, rows, "seconds", LEAST_SECONDS)
        of_memory = power(sizes, rows, "mb", LEAST_MB)
        most = MOST_EXPONENT
        if name in AT_RANDOM:
            most = MOST_EXPONENT_AT_RANDOM
        if of_seconds > most or of_memory > MOST_EXPONENT:
            none_too_fast = False
        cells = [f"{row['seconds']:.3f}, {row['mb']:.0f}" for row in rows]
        limits = f"{most}, {MOST_EXPONENT}"
        print_row([name, *cells, f"{of_seconds:.2f}", f"{of_memory:.2f}", limits])
    return none_too_fast


def power(
    sizes: Sequence[int], rows: Sequence[dict[str, float]], quantity: str, least: float
) -> float:
    """The power of the size with which a quantity grows between the two largest sizes.

    Args:
        sizes: of the data, ascending; at least two.
        rows: what was measured at each.
        quantity: a name of it.
        least: less than this counts as this.
    """
    growth = max(rows[-1][quantity], least) / max(rows[-2][quantity], least)
    return math.log(growth) / math.log(sizes[-1] / sizes[-2])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="1e5,1e6,1e7")
    parser.add_argument("--only", default=",".join(STAGES), help="stages, by their names")
    options = parser.parse_args()
    sizes = [int(float(size)) for size in options.sizes.split(",")]
    sys.exit(not print_stages(sizes, options.only.split(",")))


if __name__ == "__main__":
    main()
