"""What becomes of a run when its database is locked, full, read-only, truncated or deleted.

python -m benchmarks.adversity [--only NAME,NAME]

A command line computes a run of eight folds; once two of them are kept, something happens to the
database. Asked: no traceback, one sentence that says what is wrong, no finished fold lost or
changed where the file is still there, and no fold that took longer for it. Exit code 1 otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

FOLDS, LOCKED_SECONDS, FOLD_SECONDS, MOST_BYTES = 8, 30.0, 5.0, 300_000
_COMMAND = [
    *(sys.executable, "-m", "ecv_core", "run", "synthetic", "item-knn"),
    *("-k", str(FOLDS), "--rule", "never"),
]
Folds = dict[int, str]


def _nothing(_path: Path) -> None:
    pass


def _lock(path: Path) -> None:
    with closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as database:
        database.execute("begin immediate")
        time.sleep(LOCKED_SECONDS)
        database.execute("rollback")


def _truncate(path: Path) -> None:
    for one in (path.with_name(path.name + "-wal"), path):
        os.truncate(one, one.stat().st_size // 2)


def _delete(path: Path) -> None:
    for one in path.parent.glob(path.name + "*"):
        one.unlink()


def _no_writing(path: Path) -> None:
    path.chmod(0o444)
    path.parent.chmod(0o555)


def _full() -> None:
    """A file may grow to this size and no further: what is written beyond fails as a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_BYTES, MOST_BYTES))


CASES: dict[str, tuple[Callable[[Path], None], Callable[[], None] | None, tuple[int, ...], str]] = {
    "locked for 30 s": (_lock, None, (0,), ""),
    "full": (_nothing, _full, (1,), "cannot be written"),
    "read-only": (_no_writing, None, (1, 2), "make it writable"),
    "truncated": (_truncate, None, (1, 2), "move the damaged file away"),
    "deleted": (_delete, None, (1, 2), "was deleted or replaced while it was in use"),
}
"""Name -> (what happens, what the command is started under, its exit codes, what it says)."""


def _folds(path: Path) -> Folds:
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)) as database:
            return dict(database.execute("select fold, result from folds").fetchall())
    except sqlite3.Error:
        return {}


def _one(name: str, folder: Path) -> list[str]:
    """What was not as promised."""
    happens, under, codes, says = CASES[name]
    path = folder / "db" / "runs.sqlite"
    surroundings = os.environ | {
        "ECV_DATABASE_URL": f"sqlite:///{path}",
        "ECV_DATA_DIR": str(folder),
        "TMPDIR": str(folder),
    }
    with subprocess.Popen(
        _COMMAND,
        env=surroundings,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=under,
    ) as process:
        while len(_folds(path)) < 2 and process.poll() is None:
            time.sleep(0.01)
        before = _folds(path)
        happens(path)
        _, said = process.communicate(timeout=300)
    wrong = []
    if process.returncode not in codes:
        wrong.append(f"exit code {process.returncode}")
    if "Traceback" in said:
        wrong.append("a traceback")
    if says not in said:
        wrong.append("not said")
    if name not in ("deleted", "truncated"):
        after = _folds(path)
        if any(after.get(fold) != result for fold, result in before.items()):
            wrong.append("a fold was lost or changed")
        billed = (json.loads(result)["total_seconds"] for result in after.values())
        longest = max(billed, default=0.0)
        if not after:
            wrong.append("no fold was kept")
        if longest > FOLD_SECONDS:
            wrong.append(f"a fold was billed {longest:.1f} s")
    if wrong:
        wrong.append(f"said: {said.strip()[-600:]!r}")
    return wrong


def main() -> None:
    """Let each happen, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help=", ".join(CASES))
    asked = parser.parse_args()
    bad = 0
    for name in CASES:
        if not any(part in name for part in asked.only.split(",")):
            continue
        if name == "read-only" and os.geteuid() == 0:
            print(f"{name}: skipped, for root may write everywhere")
            continue
        with tempfile.TemporaryDirectory(prefix="ecv-adversity-") as folder:
            (Path(folder) / "db").mkdir()
            wrong = _one(name, Path(folder))
            (Path(folder) / "db").chmod(0o755)
        bad += bool(wrong)
        print(f"{name}: {'; '.join(wrong) or 'as promised'}", flush=True)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
