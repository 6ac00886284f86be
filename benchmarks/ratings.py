"""Rating prediction: seconds of an epoch of sgd-mf, and memory with 10 million made ratings.

python -m benchmarks.ratings epoch      one epoch on ml-1m, 64 dimensions, one core
python -m benchmarks.ratings made       loading, splitting and one epoch of 10 million ratings
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from ecv_core import fold
from ecv_core.spec import make_spec


def epoch() -> None:
    """Seconds of one epoch: the difference of a long and a short fit, over the epochs between."""
    seconds = {}
    for epochs in (1, 11):
        spec = make_spec(dataset="ml-1m", algorithm="sgd-mf", params={"epochs": epochs})
        seconds[epochs] = min(fold.run_fold(spec, 0).fit_seconds for _ in range(3))
    print(f"ml-1m, dimension 64, one epoch: {(seconds[11] - seconds[1]) / 10:.3f} s")


def made(count: int = 10_000_000, users: int = 70_000, items: int = 10_700) -> None:
    """Peak memory of this process, with the size of MovieLens 10M."""
    from ecv_core.records import Interactions

    rng = np.random.default_rng(1)
    begin = time.perf_counter()
    pairs = np.unique(rng.integers(0, users * items, count + count // 40, dtype=np.int64))
    pairs = rng.permutation(pairs)[:count]
    data = Interactions(
        dataset="made",
        users=(pairs // items).astype(np.int32),
        items=(pairs % items).astype(np.int32),
        user_ids=np.arange(users).astype(str),
        item_ids=np.arange(items).astype(str),
        ratings=(rng.integers(1, 11, len(pairs)) / 2).astype(np.float32),
        timestamps=rng.integers(0, 10**9, len(pairs)),
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.csv"
        times = data.timestamps
        assert data.ratings is not None
        assert times is not None
        table = np.stack([data.users, data.items, (data.ratings * 2).astype(int), times], axis=1)
        with path.open("w", encoding="utf-8") as file:
            file.write("user_id,item_id,rating,timestamp\n")
            for start in range(0, len(table), 1_000_000):
                rows = table[start : start + 1_000_000]
                file.write("\n".join(",".join(map(str, row)) for row in rows.tolist()) + "\n")
        del data, table, pairs
        print(f"made in {time.perf_counter() - begin:.0f} s, {_peak()}")
        import os

        os.environ |= {"ECV_DATA_DIR": folder, "ECV_DATA_PATH": ""}
        begin = time.perf_counter()
        loaded = fold.ratings("made")
        print(f"{len(loaded):,} ratings loaded in {time.perf_counter() - begin:.0f} s, {_peak()}")
        spec = make_spec(dataset="made", algorithm="sgd-mf", params={"epochs": 1})
        result = fold.run_fold(spec, 0)
        print(
            f"one fold: split, epoch and predictions {result.total_seconds:.0f} s, of which fit "
            f"{result.fit_seconds:.0f} s; {_peak()}"
        )


def _peak() -> str:
    return f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GiB"


if __name__ == "__main__":
    {"epoch": epoch, "made": made}[sys.argv[1]]()
