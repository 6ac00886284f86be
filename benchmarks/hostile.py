"""What files that are meant to break the reader cost: seconds, and memory here and in a child.

python -m benchmarks.hostile [--only NAME,NAME]

Makes each file, and reads it in a fresh process as the dashboard does. Asked: refused, or read, in
one sentence, within 10 s of a processor, and 1 GB in all and ten times the size of the file, at
most 2 GB; and what the reading process, which is the dashboard, itself takes for it stays below
300 MB.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

SECONDS, MEGABYTES, TIMES, MOST_MEGABYTES, OWN_MEGABYTES = 10.0, 1024.0, 10, 2048.0, 300.0
_MEGABYTE = 1 << 20
TABLES = {
    "folds": ("user_id,item_id,fold", "{id},{n},0"),
    "own": ("user,item", "{id},i{n}"),
    "scores": ("user,contender,fold,score", "{id},a,0,0.5"),
    "told": ("user_id,score", "{id},0.5"),
}
"""Who reads it -> the header, and a row."""


def gz_of(piece: bytes, path: Path, header: str, times: int = 0) -> None:
    """A gz file of 5.6 MB that repeats one piece of 16 MB some hundred times."""
    member = gzip.compress(piece)
    with path.open("wb") as file:
        file.write(gzip.compress(f"{header}\n".encode()))
        for _ in range(times or max(5_600_000 // len(member), 1)):
            file.write(member)


def gigabytes_of_rows(reader: str, path: Path) -> None:
    """Equal rows."""
    row = TABLES[reader][1].format(id=1, n=1).encode() + b"\n"
    gz_of(row * (16 * _MEGABYTE // len(row)), path, TABLES[reader][0])


def shortest_rows(reader: str, path: Path) -> None:
    """268 million rows of four bytes: a gz of 1 MB that unpacks to 1 GiB, and no more."""
    gz_of(b"1,1\n" * (4 * _MEGABYTE), path, TABLES[reader][0], times=64)


def one_id_each(rows: int, reader: str, path: Path) -> None:
    """Parquet of few MB in which every row has an id of its own, and of 256 characters."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = TABLES[reader][0].split(",")
    schema = pa.schema([(name, pa.string()) for name in names])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for start in range(0, rows, 100_000):
            ids = [f"{at:0>256}" for at in range(start, min(start + 100_000, rows))]
            writer.write_table(pa.table(dict.fromkeys(names, ids), schema))


def line_of_gigabytes(reader: str, path: Path) -> None:
    """One line that does not end."""
    gz_of(b"a" * 16 * _MEGABYTE, path, TABLES[reader][0])


def packed_twice(reader: str, path: Path) -> None:
    """A gz in a gz."""
    header, row = TABLES[reader]
    path.write_bytes(gzip.compress(gzip.compress(f"{header}\n{row.format(id=1, n=1)}\n".encode())))


def long_id(reader: str, path: Path) -> None:
    """An id of 900 KB among 20,000 short ones."""
    header, row = TABLES[reader]
    ids = ["u" + "x" * 900_000, *(f"u{number}" for number in range(20_000))]
    path.write_text("\n".join([header, *(row.format(id=one, n=n) for n, one in enumerate(ids))]))


def equal_rows(rows: int, reader: str, path: Path) -> None:
    """Parquet, in which they take no room."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    count = 1_000_000
    names = TABLES[reader][0].split(",")
    piece = pa.table({name: pa.array([name == "fold" or name] * count) for name in names})
    with pq.ParquetWriter(path, piece.schema, compression="zstd") as writer:
        for _ in range(rows // count):
            writer.write_table(piece)


def changed_run(change: Callable[[dict[str, object]], str], reader: str, path: Path) -> None:
    """A recorded run with something that it should not have."""
    from ecv_core.store.recorded import recorded_document

    document = recorded_document("ml-100k--popular")
    assert document is not None
    path.write_text(change(json.loads(document)))


def many_folds(document: dict[str, object]) -> str:
    """30,000 folds."""
    folds = document["folds"]
    assert isinstance(folds, list)
    small = {name: folds[0][name] for name in ("score", "seconds", "energy")}
    rows = [small | {"fold": at, "metrics": {}, "users": 1} for at in range(30_000)]
    return json.dumps(document | {"folds": rows}, separators=(",", ":"))


def many_lists(document: dict[str, object]) -> str:
    """Three million lists that say nothing."""
    text = json.dumps(document | {"made_with": 0})
    return text.replace('"made_with": 0', f'"made_with": [{"[]," * 3_000_000}[]]')


def columns(names: str, reader: str, path: Path) -> None:
    """A header and a row of that many cells."""
    path.write_text(f"{names}\n{'0,' * names.count(',')}\n")


Maker = Callable[[str, Path], None]
ATTACKS: dict[str, tuple[str, Maker]] = {
    "GBs of rows in 5.6 MB of gz": ("bomb.csv.gz", gigabytes_of_rows),
    "268 million rows in gz": ("short.csv.gz", shortest_rows),
    "a line of 6 GB in gz": ("line.csv.gz", line_of_gigabytes),
    "gz in gz": ("twice.csv.gz", packed_twice),
    "an id of 900 KB among 20,000": ("id.csv", long_id),
    "300 million equal rows": ("equal.parquet", partial(equal_rows, 300_000_000)),
    "30 million equal rows": ("equal30.parquet", partial(equal_rows, 30_000_000)),
    "2 million long ids": ("ids.parquet", partial(one_id_each, 2_000_000)),
    "30,000 folds": ("folds.json", partial(changed_run, many_folds)),
    "3 million lists": ("lists.json", partial(changed_run, many_lists)),
    "a million columns": ("wide.csv", partial(columns, "," * 1_000_000)),
    "130,000 different columns": (
        "names.csv",
        partial(columns, ",".join(f"{at:x}" for at in range(130_000))),
    ),
}
"""What it is -> the file's name, and who makes it."""
READ_BY = {
    **dict.fromkeys(list(ATTACKS)[:5], tuple(TABLES)),
    **dict.fromkeys(list(ATTACKS)[5:8], ("own", "scores")),
    **dict.fromkeys(list(ATTACKS)[8:10], ("run",)),
    **dict.fromkeys(list(ATTACKS)[10:], ("orders",)),
}


def _read(reader: str, path: Path) -> None:
    """As the dashboard, or the command line, reads it."""
    if reader == "folds":
        from ecv_core.fold import import_folds

        import_folds("synthetic", path)
    elif reader == "own":
        from ecv_core.dataset.own import add_file
        from ecv_core.dataset.plain import no_report

        add_file("hostile", path, {}, no_report)
    elif reader == "scores":
        from ecv_core.analysis.score_files import read_contenders

        read_contenders(path)
    elif reader == "told":
        from ecv_core.jobs.plans.track import read_table

        read_table(path)
    elif reader == "orders":
        from ecv_core.analysis.score_files import read_contenders, with_varying_scores

        with_varying_scores(read_contenders(path), f"the file {path.name}")
    else:
        from ecv_core.store.imports import read_run

        read_run(path.read_bytes(), path.name)


def _measured(reader: str, path: Path) -> None:
    """Read in this process, which is fresh, and print what it cost as JSON."""
    from ecv_core.records.errors import EcvError

    begin, busy = time.monotonic(), sum(os.times()[:4])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = "read"
    try:
        _read(reader, path)
    except EcvError as error:
        said = str(error)
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    seconds = [time.monotonic() - begin, sum(os.times()[:4]) - busy]
    print(json.dumps([*seconds, own / 1024, child / 1024, said]))


def attack(name: str, reader: str, folder: Path) -> bool:
    """Make a file, have it read, and print a row; gives whether it kept within the bars."""
    path = folder / ATTACKS[name][0]
    words = [sys.executable, "-m", "benchmarks.hostile"]
    # A process that made the file would pass its peak of memory on to those it starts.
    subprocess.run([*words, "--make", name, reader, str(path)], check=True)
    done = subprocess.run(
        [*words, "--read", reader, str(path)],
        env=os.environ | {"ECV_DATA_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    size = path.stat().st_size / _MEGABYTE
    most = min(MEGABYTES + TIMES * size, MOST_MEGABYTES)
    row = f"| {reader}: {name} | {size:.1f} "
    path.unlink()
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"ended by {done.returncode}"])[-1]
        print(f"{row}| - | - | - | - | **{last[:150]}** |", flush=True)
        return False
    seconds, busy, own, child, said = json.loads(done.stdout.strip().splitlines()[-1])
    kept = busy <= SECONDS and own + child <= most and own <= OWN_MEGABYTES
    mark = "" if kept else "**beyond a bar** "
    print(
        f"{row}| {seconds:.1f} | {busy:.1f} | {own:.0f} | {child:.0f} | {mark}{said[:150]} |",
        flush=True,
    )
    return bool(kept)


def main() -> None:
    """Measure and print; exit code 1 where a file misses the bars."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="names, or parts of names, with commas between")
    parser.add_argument("--make", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--read", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.make:
        name, reader, path = asked.make
        ATTACKS[name][1](reader, Path(path))
        return
    if asked.read:
        _measured(asked.read[0], Path(asked.read[1]))
        return
    print("| file | MB | s | processor s | MB here | MB in a child | outcome |")
    print("|---" * 7 + "|")
    wanted = asked.only.split(",")
    with tempfile.TemporaryDirectory() as folder:
        kept = [
            attack(name, reader, Path(folder))
            for name, readers in READ_BY.items()
            for reader in readers
            if any(part in f"{reader}: {name}" for part in wanted)
        ]
    sys.exit(not all(kept))


if __name__ == "__main__":
    main()
