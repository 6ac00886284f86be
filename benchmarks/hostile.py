"""What files that are meant to break the reader cost: seconds, and memory here and in a child.

python -m benchmarks.hostile [--only PART-OF-A-NAME]

Each file is made in one fresh process and read in another, as the dashboard reads it. Asked: read,
or refused in one sentence, within 10 s of a processor; at most 1 GB and ten times the size of the
file, and never more than 2 GB; and the process that asks, which is the dashboard, grows by at most
300 MB. Exit code 1 where a file takes more.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.fuzz import run_to_export
from benchmarks.tables import print_head, print_row
from ecv_core.analysis.score_files import read_contenders
from ecv_core.dataset.own import add_file
from ecv_core.dataset.plain import no_report
from ecv_core.fold import import_folds
from ecv_core.records.errors import EcvError
from ecv_core.store.imports import read_run

MOST_SECONDS = 10.0
MOST_MEGABYTES = 2048.0
MOST_MEGABYTES_HERE = 300.0
FAULT = "**beyond a limit**"
MEGABYTE = 1 << 20
PIECE = 16 * MEGABYTE
"""Bytes that a packed file repeats."""
PACKED_BYTES = 5_600_000


class Table(NamedTuple):
    """What a reader expects."""

    columns: str
    row: str
    """Has `{id}` where a user stands, or what else is named."""


TABLES = {
    "folds": Table("user_id,item_id,fold", "{id},1,0"),
    "own": Table("user,item", "{id},i1"),
    "scores": Table("user,contender,fold,score", "{id},a,0,0.5"),
}


# -- files ---------------------------------------------------------------------------------------


def _write_repeated(piece: bytes, table: Table, path: Path) -> None:
    """A gz file of 5.6 MB: a header, and a piece again and again."""
    packed_piece = gzip.compress(piece)
    with path.open("wb") as file:
        file.write(gzip.compress(f"{table.columns}\n".encode()))
        for _ in range(max(PACKED_BYTES // len(packed_piece), 1)):
            file.write(packed_piece)


def make_gigabytes_of_rows(table: Table, path: Path) -> None:
    """Equal rows of text."""
    row = table.row.format(id=1).encode() + b"\n"
    _write_repeated(row * (PIECE // len(row)), table, path)


def make_endless_line(table: Table, path: Path) -> None:
    """One line of six gigabytes."""
    _write_repeated(b"a" * PIECE, table, path)


def make_long_id(table: Table, path: Path) -> None:
    """An id of 900 KB among 20,000 short ones."""
    lines = [table.columns, table.row.format(id="u" + "x" * 900_000)]
    for number in range(20_000):
        lines.append(table.row.format(id=f"u{number}"))
    path.write_text("\n".join(lines))


def make_equal_rows(table: Table, millions: int, path: Path) -> None:
    """Parquet, in which equal rows take no room."""
    columns = {}
    for name in table.columns.split(","):
        columns[name] = pa.array([name] * 1_000_000)
    million_rows = pa.table(columns)
    with pq.ParquetWriter(path, million_rows.schema, compression="zstd") as writer:
        for _ in range(millions):
            writer.write_table(million_rows)


def make_run_of_many_folds(path: Path) -> None:
    """A run of 30,000 folds."""
    document = json.loads(run_to_export())
    document["folds"] = [{"fold": number} for number in range(30_000)]
    path.write_text(json.dumps(document))


def make_run_of_many_lists(path: Path) -> None:
    """A run with three million empty lists."""
    document = json.loads(run_to_export())
    document["made_with"] = "LISTS"
    path.write_text(json.dumps(document).replace('"LISTS"', "[" + "[]," * 3_000_000 + "[]]"))


# -- who reads them ------------------------------------------------------------------------------


def read_folds(path: Path) -> None:
    """Folds of the synthetic dataset."""
    import_folds("synthetic", path)


def read_own_dataset(path: Path) -> None:
    """A dataset of one's own."""
    add_file("hostile", path, {}, no_report)


def read_exported_run(path: Path) -> None:
    """A run that was exported elsewhere."""
    read_run(path.read_bytes(), path.name)


READERS: dict[str, Callable[[Path], object]] = {
    "folds": read_folds,
    "own": read_own_dataset,
    "scores": read_contenders,
}


class Attack(NamedTuple):
    """A file, and who reads it."""

    reader: str
    read: Callable[[Path], object]
    file_name: str
    make: Callable[[Path], None]


def attacks() -> Iterator[Attack]:
    """Every file for each of its readers; folds are never Parquet."""
    for reader, read in READERS.items():
        table = TABLES[reader]
        yield Attack(reader, read, "rows.csv.gz", partial(make_gigabytes_of_rows, table))
        yield Attack(reader, read, "line.csv.gz", partial(make_endless_line, table))
        yield Attack(reader, read, "long-id.csv", partial(make_long_id, table))
        if reader != "folds":
            yield Attack(reader, read, "300.parquet", partial(make_equal_rows, table, 300))
            yield Attack(reader, read, "30.parquet", partial(make_equal_rows, table, 30))
    yield Attack("run", read_exported_run, "folds.json", make_run_of_many_folds)
    yield Attack("run", read_exported_run, "lists.json", make_run_of_many_lists)


# -- what it costs -------------------------------------------------------------------------------


class Cost(NamedTuple):
    """Of reading a file."""

    seconds: float
    processor_seconds: float
    megabytes_here: float
    megabytes_in_child: float
    answer: str

    def is_within_limits(self, file_megabytes: float) -> bool:
        """Whether it took no more than is asked."""
        most_megabytes = min(1024 + 10 * file_megabytes, MOST_MEGABYTES)
        return (
            self.processor_seconds <= MOST_SECONDS
            and self.megabytes_here <= MOST_MEGABYTES_HERE
            and self.megabytes_here + self.megabytes_in_child <= most_megabytes
            and len(self.answer.splitlines()) == 1
        )


def cost_of_reading(read: Callable[[Path], object], path: Path) -> Cost:
    """Read a file in this process, which has to be fresh."""
    begin = time.monotonic()
    megabytes_before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    answer = "read"
    try:
        read(path)
    except EcvError as error:
        answer = str(error)
    here = resource.getrusage(resource.RUSAGE_SELF)
    child = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(
        seconds=time.monotonic() - begin,
        processor_seconds=here.ru_utime + here.ru_stime + child.ru_utime + child.ru_stime,
        megabytes_here=here.ru_maxrss / 1024 - megabytes_before,
        megabytes_in_child=child.ru_maxrss / 1024,
        answer=answer,
    )


def attack(read: Callable[[Path], object], make: Callable[[Path], None], path: Path) -> str:
    """Make a file, and have it read.

    Returns: the cells of its row in the table; they have `FAULT` where it took more than is asked.
    """
    # A process that made the file would pass its peak of memory on to the one that reads.
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as processes:
        processes.submit(make, path).result()
        size = path.stat().st_size / MEGABYTE
        try:
            cost = processes.submit(cost_of_reading, read, path).result()
        except BrokenProcessPool:
            return f"{size:.1f} | | | | | {FAULT} its process died"
    path.unlink()
    answer = cost.answer[:150]
    if not cost.is_within_limits(size):
        answer = f"{FAULT} {answer}"
    return (
        f"{size:.1f} | {cost.seconds:.1f} | {cost.processor_seconds:.1f} | "
        f"{cost.megabytes_here:.0f} | {cost.megabytes_in_child:.0f} | {answer}"
    )


def main() -> None:
    """Make each file for each of its readers, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a part of the names in the table")
    options = parser.parse_args()
    faults = 0
    print_head(["file", "MB", "s", "processor s", "MB here", "MB in a child", "outcome"])
    with tempfile.TemporaryDirectory(prefix="ecv-hostile-") as name:
        folder = Path(name)
        os.environ["ECV_DATA_DIR"] = name
        os.environ["ECV_DATABASE_URL"] = f"sqlite:///{folder / 'runs.sqlite'}"
        for reader, read, file_name, make in attacks():
            title = f"{reader}: {file_name}"
            if options.only in title:
                cells = attack(read, make, folder / file_name)
                print_row([title, cells])
                faults += FAULT in cells
    print(f"{faults} files took more than is asked")
    sys.exit(faults > 0)


if __name__ == "__main__":
    main()
