"""What files that are meant to break the reader cost: seconds, and memory here and in a child.

python -m benchmarks.hostile [--only NAME,NAME]

Makes each file, and reads it in a fresh process as the dashboard does. Asked: refused, or read, in
one sentence, within 20 s of a processor and 2 GB in all; and what the reading process, which is the
dashboard, itself takes for it stays below 300 MB.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

SECONDS, MEGABYTES, OWN_MEGABYTES = 20.0, 2048.0, 300.0
_MEGABYTE = 1 << 20


def _repeated(path: Path, piece: bytes, packed_bytes: int, start: bytes = b"") -> None:
    """A gz file of about this size that repeats one piece."""
    member = gzip.compress(piece)
    with path.open("wb") as file:
        file.write(gzip.compress(start))
        for _ in range(max(packed_bytes // len(member), 1)):
            file.write(member)


def _rows_bomb(path: Path, header: bytes, row: bytes) -> None:
    _repeated(path, row * (16 * _MEGABYTE // len(row)), 5_600_000, header + b"\n")


def _line_bomb(path: Path, header: bytes) -> None:
    _repeated(path, b"a" * (16 * _MEGABYTE), 6_000_000, header + b"\n")


def _equal_rows(path: Path, values: dict[str, object], rows: int = 300_000_000) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    count = 1_000_000
    piece = pa.table({name: pa.array([value] * count) for name, value in values.items()})
    with pq.ParquetWriter(path, piece.schema, compression="zstd") as writer:
        for _ in range(rows // count):
            writer.write_table(piece)


def _long_id(path: Path, header: str, row: Callable[[str, int], str]) -> None:
    ids = ["u" + "x" * 900_000, *(f"u{number}" for number in range(20_000))]
    lines = (row(one, number) for number, one in enumerate(ids))
    path.write_text(header + "\n" + "\n".join(lines) + "\n")


def _many_folds(path: Path) -> None:
    source = next(Path("data/recorded").glob("*.json"))
    document = json.loads(source.read_text())
    document["folds"] = [
        {"fold": at, "score": 0.1, "metrics": {}, "users": 1}
        | {"seconds": document["folds"][0]["seconds"], "energy": document["folds"][0]["energy"]}
        for at in range(30_000)
    ]
    document["spec"]["k"] = 30_000
    text = json.dumps(document, separators=(",", ":"))
    path.write_text(text)


def _nested(path: Path) -> None:
    source = json.loads(next(Path("data/recorded").glob("*.json")).read_text())
    source["made_with"] = 0
    text = json.dumps(source)
    path.write_text(text.replace('"made_with": 0', f'"made_with": [{"[]," * 3_000_000}[]]'))


_FOLDS = b"user_id,item_id,fold"
_SCORES = b"contender,fold,score"
ATTACKS: dict[str, tuple[str, str, Callable[[Path], object]]] = {
    "folds: 5.6 MB of gz, GBs of rows": (
        *("folds", "bomb.csv.gz"),
        lambda path: _rows_bomb(path, _FOLDS, b"1,1,0\n"),
    ),
    "folds: a line of 6 GB": ("folds", "line.csv.gz", lambda path: _line_bomb(path, _FOLDS)),
    "folds: an id of 900 KB among 20,000": (
        *("folds", "id.csv"),
        lambda path: _long_id(path, _FOLDS.decode(), lambda one, n: f"{one},{n},{n % 3}"),
    ),
    "folds: gz in gz": (
        *("folds", "twice.csv.gz"),
        lambda path: path.write_bytes(gzip.compress(gzip.compress(_FOLDS + b"\n1,1,0\n"))),
    ),
    "own: 5.6 MB of gz, GBs of rows": (
        *("own", "bomb.csv.gz"),
        lambda path: _rows_bomb(path, b"user,item", b"1,1\n"),
    ),
    "own: a line of 6 GB": ("own", "line.csv.gz", lambda path: _line_bomb(path, b"user,item")),
    "own: 300 million equal rows": (
        *("own", "equal.parquet"),
        lambda path: _equal_rows(path, {"user": "u", "item": "i"}),
    ),
    "own: 30 million equal rows": (
        *("own", "equal30.parquet"),
        lambda path: _equal_rows(path, {"user": "u", "item": "i"}, 30_000_000),
    ),
    "own: an id of 900 KB among 20,000": (
        *("own", "id.csv"),
        lambda path: _long_id(path, "user,item", lambda one, n: f"{one},i{n}"),
    ),
    "scores: 5.6 MB of gz, GBs of rows": (
        *("scores", "bomb.csv.gz"),
        lambda path: _rows_bomb(path, _SCORES, b"a,0,0.5\n"),
    ),
    "scores: a line of 6 GB": ("scores", "line.csv.gz", lambda path: _line_bomb(path, _SCORES)),
    "scores: 300 million equal rows": (
        *("scores", "equal.parquet"),
        lambda path: _equal_rows(path, {"contender": "a", "fold": 0, "score": 0.5}),
    ),
    "scores: an id of 900 KB among 20,000": (
        *("scores", "id.csv"),
        lambda path: _long_id(path, "user,contender,fold,score", lambda one, n: f"{one},a,0,0.5"),
    ),
    "scores: gz in gz": (
        *("scores", "twice.csv.gz"),
        lambda path: path.write_bytes(gzip.compress(gzip.compress(_SCORES + b"\na,0,1\n"))),
    ),
    "told: 5.6 MB of gz, GBs of rows": (
        *("told", "bomb.csv.gz"),
        lambda path: _rows_bomb(path, b"user_id,score", b"1,0.5\n"),
    ),
    "run: 30,000 folds": ("run", "folds.json", _many_folds),
    "run: 3 million lists": ("run", "lists.json", _nested),
    "orders: a million columns": (
        *("orders", "wide.csv"),
        lambda path: path.write_bytes(b"," * 1_000_000 + b"\n"),
    ),
    "orders: 300,000 different columns": (
        *("orders", "names.csv"),
        lambda path: path.write_text(
            ",".join(f"{at:x}" for at in range(130_000)) + "\n" + "0," * 130_000 + "\n"
        ),
    ),
}
"""Name -> (reader, file name, maker)."""


def _read(reader: str, path: Path) -> None:
    """As the dashboard, or the command line, reads it."""
    if reader == "folds":
        from ecv_core.fold import import_folds

        import_folds("synthetic", path)
    elif reader == "own":
        from ecv_core.datasets.own import Corrections, add_file
        from ecv_core.datasets.own.plain import no_report

        add_file("hostile", path, Corrections(), no_report)
    elif reader == "scores":
        from ecv_core.selection.score_files import read_contenders

        read_contenders(path)
    elif reader == "told":
        from ecv_core.tracking.asked import read_table

        read_table(path)
    elif reader == "orders":
        from ecv_core.analysis.orders import read_scores

        read_scores(path)
    else:
        from ecv_core.runs.run_file import read_run

        read_run(path.read_bytes(), path.name)


def _measured(reader: str, path: Path) -> None:
    """Read in this process, which is fresh, and print what it cost as JSON."""
    import resource

    from ecv_core.errors import EcvError

    begin, busy = time.monotonic(), sum(os.times()[:4])
    before = _peak(resource.RUSAGE_SELF)
    try:
        _read(reader, path)
        said = "read"
    except EcvError as error:
        said = str(error)
    except MemoryError:
        said = "MemoryError"
    print(
        json.dumps(
            {
                "seconds": time.monotonic() - begin,
                "busy": sum(os.times()[:4]) - busy,
                "own": _peak(resource.RUSAGE_SELF) - before,
                "child": _peak(resource.RUSAGE_CHILDREN),
                "said": said,
            }
        )
    )


def _peak(whose: int) -> float:
    import resource

    return resource.getrusage(whose).ru_maxrss / 1024


def main() -> None:
    """Measure and print; exit code 1 where a file misses the bars."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="names, or parts of names, with commas between")
    parser.add_argument("--make", nargs=2, metavar=("NAME", "PATH"), help=argparse.SUPPRESS)
    parser.add_argument("--read", nargs=2, metavar=("READER", "PATH"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.make:
        ATTACKS[asked.make[0]][2](Path(asked.make[1]))
        return
    if asked.read:
        _measured(asked.read[0], Path(asked.read[1]))
        return
    wanted = asked.only.split(",")
    missed = False
    print("| file | MB | s | processor s | MB here | MB in a child | outcome |")
    print("|---" * 7 + "|")
    with tempfile.TemporaryDirectory() as folder:
        surroundings = os.environ | {"ECV_DATA_DIR": folder}
        for name, (reader, file_name, _) in ATTACKS.items():
            if not any(part in name for part in wanted):
                continue
            path = Path(folder) / file_name
            words = [sys.executable, "-m", "benchmarks.hostile"]
            # A process that made the file would pass its peak of memory on to those it starts.
            subprocess.run([*words, "--make", name, str(path)], check=True)
            done = subprocess.run(
                [*words, "--read", reader, str(path)],
                env=surroundings,
                capture_output=True,
                text=True,
                check=False,
            )
            size = path.stat().st_size / _MEGABYTE
            path.unlink()
            if done.returncode:
                last = (done.stderr.strip().splitlines() or [f"ended by {done.returncode}"])[-1]
                print(f"| {name} | {size:.1f} | - | - | - | - | **{last[:150]}** |", flush=True)
                missed = True
                continue
            cost = json.loads(done.stdout.strip().splitlines()[-1])
            both = cost["own"] + cost["child"]
            missed |= cost["busy"] > SECONDS or both > MEGABYTES or cost["own"] > OWN_MEGABYTES
            print(
                f"| {name} | {size:.1f} | {cost['seconds']:.1f} | {cost['busy']:.1f} "
                f"| {cost['own']:.0f} | {cost['child']:.0f} | {cost['said'][:150]} |",
                flush=True,
            )
    sys.exit(missed)


if __name__ == "__main__":
    main()
