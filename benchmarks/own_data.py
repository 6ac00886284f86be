"""What it takes to add a file of one's own: seconds, seconds of the processor, memory.

python -m benchmarks.own_data [--rows 5000000]

Makes files of interactions with an id of a user and of an item, a rating and a time, and adds each
in a fresh process, as `python -m ecv_core add` does. Asked of the CSV with 5 million rows, 200 MB:
at most 30 s and 3 GB.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet

SECONDS, GIGABYTES = 30.0, 3.0
USERS, ITEMS = 200_000, 50_000
FILES = ("plain.csv", "dates.csv", "packed.csv.gz", "table.parquet", "lines.jsonl")


def main() -> None:
    """Measure and print; exit code 1 where the CSV misses its bars."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--make", type=Path, metavar="FOLDER", help="only make the files")
    asked = parser.parse_args()
    if asked.make:
        _make(asked.make, asked.rows)
        return
    missed = False
    with tempfile.TemporaryDirectory() as folder:
        # A process that held them all would pass its peak of memory on to those it starts.
        words = ["-m", "benchmarks.own_data", "--rows", str(asked.rows), "--make", folder]
        subprocess.run([sys.executable, *words], check=True)
        print("| file | MB | s | processor s | peak MB |\n|---|---|---|---|---|")
        for path in (Path(folder) / name for name in FILES):
            seconds, processor, megabytes = _added(path)
            size = path.stat().st_size / (1 << 20)
            print(
                f"| {path.name} | {size:.0f} | {seconds:.1f} | {processor:.1f} | {megabytes:.0f} |"
            )
            if path.name == "plain.csv":
                missed = seconds > SECONDS or megabytes > 1000 * GIGABYTES
            path.unlink()
    sys.exit(missed)


def _make(folder: Path, rows: int) -> None:
    rng = np.random.default_rng(1)
    popular = np.minimum(rng.exponential(ITEMS / 6, rows).astype(np.int64), ITEMS - 1)
    when = rng.integers(1_500_000_000, 1_700_000_000, rows)
    table = pa.table(
        {
            "user_id": pa.array([f"customer-{user}" for user in rng.integers(0, USERS, rows)]),
            "item_id": pa.array([f"article-{item}" for item in popular]),
            "rating": pa.array(rng.integers(1, 6, rows)),
            "timestamp": pa.array(when),
        }
    )
    plain, packed = folder / "plain.csv", folder / "packed.csv.gz"
    pa.csv.write_csv(table, plain, pa.csv.WriteOptions(quoting_style="none"))
    with plain.open("rb") as source, gzip.open(packed, "wb", compresslevel=1) as target:
        shutil.copyfileobj(source, target, 1 << 20)
    pa.parquet.write_table(table, folder / "table.parquet")
    dates = pa.compute.strftime(table["timestamp"].cast(pa.timestamp("s")), format="%Y-%m-%d %T")
    dated = table.set_column(3, "timestamp", dates)
    pa.csv.write_csv(dated, folder / "dates.csv", pa.csv.WriteOptions(quoting_style="none"))
    lines = folder / "lines.jsonl"
    with lines.open("w") as out:
        for user, item, rating, at in zip(
            *(column.to_pylist() for column in table.columns), strict=True
        ):
            out.write(f'{{"user": "{user}", "item": "{item}", "stars": {rating}, "at": {at}}}\n')


def _added(path: Path) -> tuple[float, float, float]:
    """Seconds, seconds of the processor and megabytes of one `add`."""
    with tempfile.TemporaryDirectory() as data:
        environment = os.environ | {"ECV_DATA_DIR": data, "ECV_MAX_UPLOAD_MB": "1000"}
        words = [sys.executable, "-m", "ecv_core", "add", "mine", str(path)]
        begin = time.perf_counter()
        with subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL) as process:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"{path.name} could not be added")
        return time.perf_counter() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


if __name__ == "__main__":
    main()
