"""How much room per-user scores take in the database, and how long they take to write and read.

python -m benchmarks.user_scores [--dataset ml-100k] [--algorithms item-knn,popular,ease]
       [--folds 5] [--runs 100]

Folds are computed once each and put into a SQLite database for so many runs of ten folds, packed
and, for comparison, as plain bytes, as versions before wrote them. Everything is read back and
compared to the last bit. Seconds are of the processor.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import sqlalchemy as sa

from ecv_core.energy import NoMeter
from ecv_core.fold import run_fold
from ecv_core.records import UserScores
from ecv_core.spec import make_spec
from ecv_core.store import open_store
from ecv_core.store.schema import user_scores
from ecv_core.store.user_scores import record_of, row_of

FOLDS_PER_RUN = 10


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", default="ml-100k")
    parser.add_argument("--algorithms", default="item-knn,popular,ease")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=100)
    asked = parser.parse_args()
    scores = []
    for name in asked.algorithms.split(","):
        spec = make_spec(dataset=asked.dataset, algorithm=name)
        for fold in range(asked.folds):
            users = run_fold(spec, fold, meter=NoMeter()).user_scores
            assert users is not None
            scores.append(users)
    print("| per-user scores | bytes a fold | MB on disk, 2,000 runs | write, ms | read, ms |")
    print("|---|---|---|---|---|")
    for title, written in (("plain", _plain), ("packed", row_of)):
        print(f"| {title} | {_line(scores, written, asked.runs)} |", flush=True)


def _plain(scores: UserScores) -> dict[str, object]:
    return {
        "metrics": json.dumps(scores.metrics),
        "users": np.ascontiguousarray(scores.users, "<i4").tobytes(),
        "scores": np.ascontiguousarray(scores.values, "<f4").tobytes(),
    }


def _bytes(value: object) -> bytes:
    assert isinstance(value, bytes)
    return value


def _line(
    scores: Sequence[UserScores], written: Callable[[UserScores], dict[str, object]], runs: int
) -> str:
    begin = time.process_time()
    rows = [written(one) for one in scores]
    write = 1000 * (time.process_time() - begin) / len(rows)
    held = sum(len(str(row["metrics"])) for row in rows)
    held += sum(len(_bytes(row[name])) for row in rows for name in ("users", "scores"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.sqlite"
        store = open_store(f"sqlite:///{path}")
        keys = [(run, fold) for run in range(runs) for fold in range(FOLDS_PER_RUN)]
        with store.transaction("written") as connection:
            connection.execute(
                user_scores.insert(),
                [
                    {"run_id": f"{run:012x}", "fold": fold} | rows[at % len(rows)]
                    for at, (run, fold) in enumerate(keys)
                ],
            )
        with store.transaction("read") as connection:
            connection.execute(sa.text("PRAGMA wal_checkpoint(TRUNCATE)"))
            order = (user_scores.c.run_id, user_scores.c.fold)
            query = user_scores.select().order_by(*order).limit(len(rows))
            back = connection.execute(query).all()
        begin = time.process_time()
        read_back = [record_of(row) for row in back]
        read = 1000 * (time.process_time() - begin) / len(back)
        for one, given in zip(read_back, scores, strict=True):
            assert one.values.tobytes() == np.ascontiguousarray(given.values, "<f4").tobytes()
            assert np.array_equal(one.users, given.users)
        room = path.stat().st_size / runs * 2000 / 1e6
    return f"{held / len(rows):.0f} | {room:.0f} | {write:.1f} | {read:.1f}"


if __name__ == "__main__":
    main()
