"""How seconds, memory and bytes grow with the data: models, splits, a file, many runs.

python -m benchmarks.growth [--sizes 1e5,1e6,1e7] [--models popular,item-knn,implicit-mf]
python -m benchmarks.growth --plot
python -m benchmarks.growth --others [--millions 1,2,4,8] [--rows 5000000] [--runs 2000]
python -m benchmarks.growth --users 1000000

Every model on `synthetic-large` of each size, in a fresh process: wall seconds to make the data,
prune, split, fit, rank and store one fold of ten, all seconds of the processor, and peak memory;
then the exponent with which fit and ranking grow from the smallest size to the largest. Limit is
what the machine allows of ranking: all scores written to memory once at the bandwidth measured
beside it, or, for implicit-mf, their multiplications at the rate measured. `--plot` draws the table
that benchmarks/README.md keeps into docs/images/growth.svg.

Every split strategy: seconds of the processor for the split and its first fold's matrices on ml-1m,
the least of three, and the peak of what is allocated beyond the interactions (tracemalloc), for
made ones. A CSV of so many rows: what `add` takes in a fresh process; of 5 million at most 30 s and
3 GB. So many runs of ten folds of ml-100k with scores per user: MB of the SQLite file, of 2,000
at most 250, and milliseconds to commit a fold and to read its scores.

`--users`: a selection of five made contenders over ten folds with eight scores of each of so many
users, until their order is certain: seconds of each round, most of all asked 5, and peak memory, of
which at most 2 GB.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Sequence
from contextlib import closing
from importlib import import_module
from pathlib import Path

import numpy as np

from ecv_core import evaluation, models, splits
from ecv_core.dataset import available, entry, synthetic
from ecv_core.dataset.preparation import prepared
from ecv_core.dataset.pruning import prepare
from ecv_core.energy.meter import NoMeter
from ecv_core.fold.computing import run_fold
from ecv_core.fold.spec import make_spec
from ecv_core.jobs.executors import Here, Results
from ecv_core.jobs.plans import select
from ecv_core.records.interactions import Interactions
from ecv_core.records.run import Energy, FoldResult, Progress, RunState, UserScores
from ecv_core.records.spec import RunSpec
from ecv_core.store.store import open_store

REPEATS, FOLDS = 3, 10


def made(count: int) -> Interactions:
    """Interactions of users with 100 each, times at random, ten to a basket; sorted like real ones.

    Which items they are does not matter to any strategy's cost, so users take them in turn.
    """
    per_user, items = 100, 10_000
    users = count // per_user
    taken = (np.arange(count) * 97) % items
    return Interactions(
        dataset=f"{count:,} interactions",
        users=np.repeat(np.arange(users, dtype=np.int32), per_user),
        items=np.sort(taken.reshape(users, per_user), axis=1).ravel().astype(np.int32),
        user_ids=np.arange(users).astype(str),
        item_ids=np.arange(items).astype(str),
        timestamps=np.random.default_rng(0).integers(0, 10**8, count),
        baskets=np.tile(np.repeat(np.arange(10, dtype=np.int32), 10), users),
    )


def split_once(interactions: Interactions, name: str) -> None:
    """Make the split and its first fold."""
    folds = splits.split(interactions, name, splits.strategy(name).default_k, 0)
    splits.fold_matrices(interactions, folds, 0)


def seconds(interactions: Interactions, name: str) -> float:
    """The least processor time of a few."""
    least = float("inf")
    for _ in range(REPEATS):
        begin = time.process_time()
        split_once(interactions, name)
        least = min(least, time.process_time() - begin)
    return least


def peak_bytes(interactions: Interactions, name: str) -> int:
    """The most that is allocated at any one time while splitting."""
    gc.collect()
    tracemalloc.start()
    try:
        split_once(interactions, name)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def print_splits(millions: Sequence[int]) -> None:
    """A row for each strategy: seconds on ml-1m, then MB and bytes an interaction for each size."""
    real = prepared("ml-1m") if available(entry("ml-1m")) else None
    sizes = [made(million * 1_000_000) for million in millions]
    print("| strategy | ml-1m, s |", " | ".join(f"{million} M" for million in millions), "|")
    print("|---" * (2 + len(millions)) + "|")
    for name, strategy in splits.SPLITS.items():
        served = real is not None and strategy.needs.met(real)
        cells = [f"{seconds(real, name):.2f}" if real is not None and served else "-"]
        for interactions in sizes:
            peak = peak_bytes(interactions, name)
            cells.append(f"{peak / 1e6:,.0f} MB ({peak / len(interactions):.0f})")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def print_file(rows: int) -> None:
    """Seconds, seconds of the processor and memory of one `add`."""
    rng = np.random.default_rng(1)
    users, items = rng.integers(0, 200_000, rows), rng.exponential(8000, rows).astype(np.int64)
    stars, times = rng.integers(1, 6, rows), rng.integers(1_500_000_000, 1_700_000_000, rows)
    with tempfile.TemporaryDirectory() as data:
        path = Path(data) / "rows.csv"
        with path.open("w") as out:
            print("user_id,item_id,rating,timestamp", file=out)
            for user, item, star, at in zip(users, items, stars, times, strict=True):
                out.write(f"customer-{user},article-{item},{star},{at}\n")
        environment = os.environ | {"ECV_DATA_DIR": data, "ECV_MAX_UPLOAD_MB": "1000"}
        words = [sys.executable, "-m", "ecv_core", "add", "mine", str(path)]
        begin = time.perf_counter()
        with subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL) as process:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit("the file could not be added")
        print(
            f"\nA CSV of {path.stat().st_size / 1e6:.0f} MB: {time.perf_counter() - begin:.1f} s, "
            f"{used.ru_utime + used.ru_stime:.1f} s of the processor, "
            f"at most {used.ru_maxrss / 1024:.0f} MB of memory"
        )


def print_runs(many: int) -> None:
    """Room for the per-user scores of so many runs of three models in turns."""
    dataset = "ml-100k" if available(entry("ml-100k")) else "synthetic"
    specs = [make_spec(dataset=dataset, algorithm=name) for name in ("item-knn", "popular", "ease")]
    results = [[run_fold(spec, at, meter=NoMeter()) for at in range(FOLDS)] for spec in specs]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.sqlite"
        store = open_store(f"sqlite:///{path}")
        write = 0.0
        for number in range(many):
            place = number % len(specs)
            (run_id,) = store.create([specs[place]], owner="benchmark")
            begin = time.process_time()
            for result in results[place]:
                store.add_fold(run_id, result, stopped_at=None)
            write += time.process_time() - begin
            store.finish(run_id, RunState.FINISHED)
        begin = time.process_time()
        kept = store.user_scores(run_id)
        read = time.process_time() - begin
        for result in results[place]:
            assert result.user_scores is not None
            assert np.array_equal(kept[result.fold].values, result.user_scores.values)
        with closing(sqlite3.connect(path)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        room = path.stat().st_size / 1e6
    print(
        f"\n{many:,} runs of {FOLDS} folds of {dataset}: {room:.0f} MB; "
        f"{1000 * write / many / FOLDS:.1f} ms to commit a fold, "
        f"{1000 * read / FOLDS:.1f} ms to read one"
    )


def print_selection(users: int) -> None:
    """Processor seconds of each round of a selection that computes nothing, and peak memory."""
    names = ("popular", "item-knn", "user-knn", "ease", "rp3beta")
    levels = dict(zip(names, 0.3 + 1e-5 * np.arange(5), strict=True))  # users tell 3e-5 in a fold
    tastes = np.random.default_rng(0).normal(0, 0.1, users).astype(np.float32)
    metrics = tuple(f"{name}@10" for name in ("ndcg", "recall", "precision", "hit", "mrr", "map"))
    metrics += ("ndcg@5", "ndcg@20")

    def made_up(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
        for place, spec in enumerate(specs):
            rng = np.random.default_rng([index, list(levels).index(spec.algorithm)])
            drawn = (tastes + rng.normal(levels[spec.algorithm], 0.02, users)).astype(np.float32)
            values = np.repeat(np.clip(drawn, 0, 1)[:, None], len(metrics), axis=1)
            means = dict(zip(metrics, values.mean(axis=0).astype(float), strict=True))
            yield (
                place,
                FoldResult(
                    fold=index,
                    score=means["ndcg@10"],
                    metrics=means,
                    users=users,
                    fit_seconds=0,
                    evaluate_seconds=0,
                    total_seconds=0,
                    energy=Energy.none(),
                    user_scores=UserScores(
                        users=np.arange(users, dtype=np.int32), metrics=metrics, values=values
                    ),
                ),
            )

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


ROOT = Path(__file__).parents[1]


def draw() -> None:
    """Fit, rank and its limit over the interactions, from the table of benchmarks/README.md."""
    import matplotlib.pyplot as plt

    text = (ROOT / "benchmarks" / "README.md").read_text("utf-8")
    lines = [line.strip("| \n").split(" | ") for line in text.splitlines() if " | " in line]
    names = next(line for line in lines if line[:2] == ["model", "interactions"])
    rows = [dict(zip(names, line, strict=True)) for line in lines if len(line) == len(names)]
    known = [name for name in MODELS.split(",") if any(row["model"] == name for row in rows)]
    plt.rcParams |= {"svg.hashsalt": "growth", "svg.fonttype": "none", "font.size": 9}
    figure, panels = plt.subplots(1, len(known), figsize=(3.4 * len(known), 3), sharey=True)
    for panel, name in zip(np.atleast_1d(panels), known, strict=True):
        mine = [row for row in rows if row["model"] == name]
        sizes = [float(row["interactions"].replace(",", "")) for row in mine]
        for column, style in (("fit s", "o-"), ("rank s", "s-"), ("limit of rank s", "k:")):
            panel.loglog(
                sizes, [float(row[column]) or np.nan for row in mine], style, label=column[:-2]
            )
        panel.set(title=name, xlabel="interactions", ylim=(0.005, 300))
        panel.spines[["top", "right"]].set_visible(False)
    np.atleast_1d(panels)[0].set_ylabel("seconds of one fold, two cores")
    np.atleast_1d(panels)[-1].legend(frameon=False)
    figure.savefig(
        ROOT / "docs" / "images" / "growth.svg", bbox_inches="tight", metadata={"Date": None}
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1e5,1e6,1e7")
    parser.add_argument("--models", default=MODELS)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--others", action="store_true")
    parser.add_argument("--plot", action="store_true")
    parser.add_argument("--millions", default="1,2,4,8")
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--users", type=int)
    asked = parser.parse_args()
    if asked.one:
        return print_model(int(asked.one[0]), asked.one[1])
    if asked.plot:
        return draw()
    if asked.users:
        return print_selection(asked.users)
    if not asked.others:
        sizes = [int(float(size)) for size in asked.sizes.split(",")]
        return print_models(sizes, asked.models.split(","))
    print_splits([int(million) for million in asked.millions.split(",")])
    print_file(asked.rows)
    print_runs(asked.runs)


if __name__ == "__main__":
    main()
