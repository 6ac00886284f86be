"""How seconds and memory grow with the data: every stage of a fold, models, a selection.

python -m benchmarks.growth --stages [--sizes 1e5,1e6,1e7] [--only "read a CSV,prune"]
python -m benchmarks.growth [--sizes 1e5,1e6,1e7] [--models popular,item-knn,implicit-mf]
python -m benchmarks.growth --users 1000000

`--stages`: what has to be linear, from reading a file to a page, each at each size in a fresh
process: the least processor seconds of three times, or of one where they are more than ten seconds,
and the memory that it takes beyond what it is given; then the exponents with which both grow
between the two largest sizes. Exit code 1 where one is above 1.1, or above 1.5 for the seconds of
what reads memory in random order, which the processor's cache slows down as the data outgrow it.

Every model on `synthetic-large` of each size, in a fresh process: wall seconds to make the data,
prune, split, fit, rank and store one fold of ten, all seconds of the processor, and peak memory;
then the exponent with which fit and ranking grow from the smallest size to the largest. Limit is
what the machine allows of ranking: all scores written to memory once at the bandwidth measured
beside it, or, for implicit-mf, their multiplications at the rate measured.

`--users`: a selection of five made contenders over ten folds with eight scores of each of so many
users, until their order is certain: seconds of each round, most of all asked 5, and peak memory, of
which at most 2 GB.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv

from ecv_core import evaluation, models, splits
from ecv_core.dataset import own, synthetic
from ecv_core.dataset.plain import no_report
from ecv_core.dataset.preparation import prepared
from ecv_core.dataset.pruning import prepare
from ecv_core.fold.spec import make_spec
from ecv_core.jobs.executors import Here, Results
from ecv_core.jobs.plans import select
from ecv_core.records.interactions import Interactions
from ecv_core.records.run import Energy, FoldResult, Progress, RunState, UserScores
from ecv_core.records.spec import RunSpec
from ecv_core.records.tasks import Task
from ecv_core.store.store import open_store

FOLDS = 10
REPEATS = 3
MOST_EXPONENT = 1.1
"""What is linear in the interactions may grow so fast, measured between the two largest sizes."""
MOST_EXPONENT_AT_RANDOM = 1.5
"""The same for the seconds of what reads memory in random order. A linear number of such reads
takes more than linear time while the data outgrow the processor's cache: numpy's permutation alone,
which is a stage here, has been measured from 1.1 to 1.33, more beside other programs, which use
the same cache. Of anything quadratic it is 2."""
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


# Stages: each prepares what it needs for a size, and returns the work that is measured.


Work = Callable[[], object]


def made(count: int) -> Interactions:
    """Interactions of users with 100 each, times at random, ten to a basket; sorted like real ones.

    Which items they are does not matter to any strategy's cost, so users take them in turn.
    """
    items = 10_000
    users = count // PER_USER
    taken = (np.arange(count) * 97) % items
    return Interactions(
        dataset=f"{count:,} interactions",
        users=np.repeat(np.arange(users, dtype=np.int32), PER_USER),
        items=np.sort(taken.reshape(users, PER_USER), axis=1).ravel().astype(np.int32),
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


def texts(rng: np.random.Generator, many: int, size: int) -> pa.Array:
    """Numbers below `many` at random, as texts; shape (size,)."""
    return pc.cast(pa.array(rng.integers(0, many, size)), pa.string())


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


def permuting(size: int, _folder: Path) -> Work:
    """Numbers are shuffled by numpy: most of what a split by chance must take."""
    return partial(np.random.default_rng(0).permutation, size)


def splitting(strategy: str) -> Callable[[int, Path], Work]:
    """The split and its first fold's matrices."""

    def stage(size: int, _folder: Path) -> Work:
        return partial(split_once, made(size), strategy)

    return stage


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


def made_fold(index: int, users: int) -> FoldResult:
    """A fold of so many users."""
    hits = np.random.default_rng(index).integers(0, 11, (users, 1))
    return fold_with(index, (hits / np.arange(10, 18)).astype(np.float32))


def fold_with(index: int, values: NDArray[np.float32]) -> FoldResult:
    """A fold with eight metrics of each user; shape of the values (users, metrics)."""
    means = dict(zip(METRICS, values.mean(axis=0, dtype=np.float64).tolist(), strict=True))
    users = np.arange(len(values), dtype=np.int32)
    return FoldResult(
        fold=index,
        score=means["ndcg@10"],
        metrics=means,
        users=len(users),
        fit_seconds=0,
        evaluate_seconds=0,
        total_seconds=0,
        energy=Energy.none(),
        user_scores=UserScores(users=users, metrics=METRICS, values=values),
    )


def storing(size: int, folder: Path) -> Work:
    """Ten folds are kept, with scores of every user."""
    results = [made_fold(index, size // PER_USER) for index in range(FOLDS)]
    return partial(store_run, folder, results)


def reading_scores(size: int, folder: Path) -> Work:
    """The scores of every user in ten folds are read again."""
    results = [made_fold(index, size // PER_USER) for index in range(FOLDS)]
    run_id = store_run(folder, results)
    return partial(open_store(database(folder)).user_scores, run_id)


def showing(size: int, folder: Path) -> Work:
    """The page of a run of ten folds, with scores of every user, is drawn."""
    from streamlit.testing.v1 import AppTest

    results = [made_fold(index, size // PER_USER) for index in range(FOLDS)]
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


SPLITS = {f"split {name}": splitting(name) for name in splits.serving(Task.TOP_N)}

LINEAR: dict[str, Callable[[int, Path], Work]] = {
    "read a CSV": reading,
    "open it again": opening,
    "prune": pruning,
    "numpy's permutation": permuting,
    **SPLITS,
    "fold of popular": folding,
    "store ten folds": storing,
    "read ten folds": reading_scores,
    "page of a run": showing,
}
"""What has to be linear, by its name; users are a hundredth of the interactions."""

AT_RANDOM = {"open it again", "prune", "numpy's permutation", *SPLITS}
"""Those that read memory in random order."""


def print_stage(name: str, size: int) -> None:
    """A stage in this process, as JSON: the least processor seconds of a few, and megabytes.

    Megabytes are those of this process at most, less what it held before, or of a larger child.
    """
    least = math.inf
    most = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for repeat in range(REPEATS):
            place = Path(folder) / str(repeat)
            place.mkdir()
            work = LINEAR[name](size, place)
            gc.collect()
            before = start_peak()
            children = resource.getrusage(resource.RUSAGE_CHILDREN)
            begin = time.process_time()
            work()
            own_seconds = time.process_time() - begin
            child = resource.getrusage(resource.RUSAGE_CHILDREN)
            used = child.ru_utime + child.ru_stime - children.ru_utime - children.ru_stime
            least = min(least, own_seconds + used)
            # Later repeats find the memory of the first one free.
            most = max(most, status_megabytes("VmHWM") - before)
            if child.ru_maxrss > children.ru_maxrss:
                most = max(most, child.ru_maxrss / 1024)
            if least > LONG_SECONDS:
                break
    print(json.dumps({"seconds": least, "mb": most}))


def start_peak() -> float:
    """Forget the memory that this process had at most; returns the MB that it holds.

    What was freed is given back first, as it would be used again and not be seen.
    """
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5", "utf-8")
    return status_megabytes("VmRSS")


def status_megabytes(field: str) -> float:
    """A line of Linux's status of this process."""
    status = Path("/proc/self/status").read_text("utf-8")
    return int(status.partition(f"{field}:")[2].split()[0]) / 1024


def print_stages(sizes: Sequence[int], names: Sequence[str]) -> bool:
    """A row for each stage; whether none grows faster than it may."""
    print("| stage |", " | ".join(f"{size:,}: s, MB" for size in sizes), end=" | ")
    print("seconds grow with the power | memory | at most |")
    print("|---" * (len(sizes) + 4) + "|")
    kept = True
    for name in names:
        rows = []
        for size in sizes:
            words = [sys.executable, "-m", "benchmarks.growth", "--stage", name, str(size)]
            process = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
            rows.append(json.loads(process.stdout.splitlines()[-1]))
        cells = " | ".join(f"{row['seconds']:.3f}, {row['mb']:.0f}" for row in rows)
        powers = []
        for quantity, least in (("seconds", LEAST_SECONDS), ("mb", LEAST_MB)):
            grown = max(rows[-1][quantity], least) / max(rows[-2][quantity], least)
            powers.append(math.log(grown) / math.log(sizes[-1] / sizes[-2]))
        of_seconds, of_memory = powers
        most = MOST_EXPONENT
        if name in AT_RANDOM:
            most = MOST_EXPONENT_AT_RANDOM
        kept = kept and of_seconds <= most and of_memory <= MOST_EXPONENT
        print(
            f"| {name} | {cells} | {of_seconds:.2f} | {of_memory:.2f} | {most}, {MOST_EXPONENT} |",
            flush=True,
        )
    return kept


def print_selection(users: int) -> None:
    """Processor seconds of each round of a selection that computes nothing, and peak memory."""
    names = ("popular", "item-knn", "user-knn", "ease", "rp3beta")
    levels = dict(zip(names, 0.3 + 1e-5 * np.arange(5), strict=True))  # users tell 3e-5 in a fold
    tastes = np.random.default_rng(0).normal(0, 0.1, users).astype(np.float32)

    def made_up(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
        for place, spec in enumerate(specs):
            rng = np.random.default_rng([index, list(levels).index(spec.algorithm)])
            drawn = (tastes + rng.normal(levels[spec.algorithm], 0.02, users)).astype(np.float32)
            values = np.repeat(np.clip(drawn, 0, 1)[:, None], len(METRICS), axis=1)
            yield place, fold_with(index, values)

    begin, rounds = time.perf_counter(), [time.process_time()]
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"sqlite:///{Path(folder) / 'runs.sqlite'}")
        named = select.named_contenders("synthetic", list(levels), k=FOLDS)
        terms = select.terms_for(named[0][1], until="order")
        executor = Here(made_up)
        select.compute(
            store,
            named,
            terms,
            executor=executor,
            on_fold=lambda standing: rounds.append(time.process_time()),
        )
    took = np.diff(rounds)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{users:,} users, five contenders: {len(took)} folds in {time.perf_counter() - begin:.0f} "
        f"s; of the processor a fold takes {np.median(took):.1f} s (median), at most "
        f"{took.max():.1f} s; {memory:,.0f} MB at most"
    )
    print("processor seconds of each:", " ".join(f"{one:.1f}" for one in took))


MODELS = "popular,item-knn,implicit-mf"
STAGES = ("make", "prune", "split", "fit", "rank", "store")


def print_model(size: int, name: str) -> None:
    """One fold in this process, as JSON: seconds of each stage, limit, processor, memory, score."""
    seconds: dict[str, float] = {}
    begin = time.perf_counter()

    def lap(stage: str) -> None:
        nonlocal begin
        seconds[stage] = time.perf_counter() - begin
        begin = time.perf_counter()

    made_data = synthetic.generate_large(size)
    lap("make")
    data = prepare(made_data)
    lap("prune")
    parts = splits.fold_matrices(data, splits.split(data, next(iter(splits.SPLITS)), FOLDS, 0), 0)
    lap("split")
    algorithm = models.algorithm(name)
    model = algorithm.build(algorithm.every(()))
    if algorithm.with_torch:
        import_module("torch")
    evaluation.load_compiled(data.n_users * data.n_items)
    cells = data.n_users * data.n_items
    block = np.ones(25_000_000, dtype=np.float32)
    lap("load")
    block += 1
    limit = (time.perf_counter() - begin) * cells / len(block) / 2  # read and written
    if name == "implicit-mf":
        left, right = (np.ones((rows, 64), dtype=np.float32) for rows in (100, 20_000))
        begin = time.perf_counter()
        for _ in range(20):
            left @ right.T
        limit = (time.perf_counter() - begin) / 20 * cells / 2_000_000
    begin, used = time.perf_counter(), time.process_time()
    model.fit(parts.train, seed=1)
    lap("fit")
    found = evaluation.evaluate(
        model, parts.seen, parts.held_out, (1, 5, 10, 20), train=parts.train
    )
    lap("rank")
    used = time.process_time() - used
    kept = found.kept_per_user(10)
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "users.npz", users=kept.users, values=kept.values)
    lap("store")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    score = found.means["ndcg@10"]
    row = {"size": len(data), "limit": limit, "processor": used, "memory": memory, "score": score}
    print(json.dumps(row | seconds))


def print_models(sizes: Sequence[int], names: Sequence[str]) -> None:
    """A row for each model and size, and the exponents of growth."""
    print("| model | interactions |", " | ".join(f"{stage} s" for stage in STAGES), end=" | ")
    print("limit of rank s | processor s, fit and rank | peak MB | nDCG@10 |")
    print("|---" * (len(STAGES) + 6) + "|")
    for name in names:
        rows = []
        for size in sizes:
            words = [sys.executable, "-m", "benchmarks.growth", "--one", str(size), name]
            said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
            row = json.loads(said)
            rows.append(row)
            cells = " | ".join(f"{row[stage]:.2f}" for stage in (*STAGES, "limit", "processor"))
            print(
                f"| {name} | {row['size']:,} | {cells} | {row['memory']:,.0f} | "
                f"{row['score']:.4f} |",
                flush=True,
            )
        if len(rows) > 1:
            grown = np.log(rows[-1]["size"] / rows[0]["size"])
            fit, rank = (np.log(rows[-1][of] / rows[0][of]) / grown for of in ("fit", "rank"))
            print(f"{name}: fit grows with the power {fit:.2f} of the size, ranking {rank:.2f}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1e5,1e6,1e7")
    parser.add_argument("--models", default=MODELS)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--stages", action="store_true")
    parser.add_argument("--only", default=",".join(LINEAR), help="stages, by their names")
    parser.add_argument("--stage", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--users", type=int)
    asked = parser.parse_args()
    if asked.one:
        return print_model(int(asked.one[0]), asked.one[1])
    if asked.users:
        return print_selection(asked.users)
    if asked.stage:
        return print_stage(asked.stage[0], int(asked.stage[1]))
    sizes = [int(float(size)) for size in asked.sizes.split(",")]
    if asked.stages:
        sys.exit(not print_stages(sizes, asked.only.split(",")))
    return print_models(sizes, asked.models.split(","))


if __name__ == "__main__":
    main()
