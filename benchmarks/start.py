"""Where people wait: for a command, for a page, for the first fold after Start.

python -m benchmarks.start [--times 5] [--pages home,best,folds] [--quiet-machine]

The median of some times each, in turns, on the machine as it is and beside two busy programs. A
limit holds for seconds by the clock on the machine as it is, which says something where nothing
else runs; those of `import` are beyond Python's own start. Everything is done in a folder of its
own, with compiled modules kept as where the package is installed; without ml-100k, which
`python -m ecv_core download ml-100k` fetches, some commands are left out. Seconds of processor are
those of a command and its children, and of a page those of the server and the browser.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

LIBRARIES = "import numpy, sqlalchemy.dialects.sqlite, pydantic.dataclasses; pydantic.TypeAdapter"
BUSY = 2
"""Programs that compute beside what is measured, of somebody else."""


@dataclass(frozen=True, slots=True)
class Case:
    """A command that somebody waits for."""

    words: list[str]
    limit: float | None = None
    """Seconds by the clock on an idle machine."""
    needs: str = ""
    """A dataset."""


def ecv(*words: str, limit: float | None = None, needs: str = "") -> Case:
    """A command of ours."""
    return Case(["-m", "ecv_core", *words], limit, needs)


BARE = "python -c pass"
IMPORT = "import ecv_core"
CASES = {
    BARE: Case(["-c", "pass"]),
    IMPORT: Case(["-c", "import ecv_core"], 0.1),
    "--help": ecv("--help", limit=0.5),
    "a wrong command": ecv("train", limit=0.5),
    "an unknown dataset": ecv("run", "ml-10k", "popular"),
    "datasets": ecv("datasets"),
    "orders": ecv("orders", "ten.csv", "--alpha", "1e-4", limit=0.4),
    "select --scores": ecv("select", "--scores", "users.csv", limit=0.9),
    "numpy, sqlalchemy, pydantic": Case(["-c", LIBRARIES]),
    "ask": ecv("ask", "RUN", "--fold", "0", "--folder", "asked", limit=0.4, needs="ml-100k"),
    "show": ecv("show", "RUN", needs="ml-100k"),
    "runs": ecv("runs"),
    "run synthetic popular": ecv("run", "synthetic", "popular", "--anew", limit=1.5),
    "the same with --no-energy": ecv(
        "run", "synthetic", "popular", "--no-energy", "--anew", limit=1.5
    ),
    "run ml-100k item-knn": ecv("run", "ml-100k", "item-knn", "--anew", limit=2.5, needs="ml-100k"),
}
PAGE_LIMITS = {"first opening": 3.0, "second opening": 1.0, "first fold after Start": None}
"""Seconds by the clock."""
EMPTY = "empty"
"""The page of Streamlit alone, with one chart, that the others are compared with."""
BEYOND_EMPTY = 0.3
"""Seconds that a second opening may take beyond that page's, where this is more than its limit."""


@dataclass(frozen=True, slots=True)
class Waits:
    """How long something took, each time."""

    clock: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)

    def add(self, clock: float, processor: float) -> None:
        """Once more, in seconds."""
        self.clock.append(clock)
        self.processor.append(processor)

    @property
    def words(self) -> str:
        """The medians, as cells of a table."""
        clock = statistics.median(self.clock)
        return f"{clock:.2f} | {statistics.median(self.processor):.2f}"


def main() -> None:
    """Measure and print; exit code 1 where a limit is not kept."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--pages", default="", help="such as home,best,folds; none by default")
    parser.add_argument("--quiet-machine", action="store_true", help="not beside busy programs")
    options = parser.parse_args()
    surroundings = [0]
    if not options.quiet_machine:
        surroundings.append(BUSY)
    pages = [page for page in options.pages.split(",") if page]
    limits = {name: case.limit for name, case in CASES.items()}
    with tempfile.TemporaryDirectory() as folder:
        run_id = _prepared(Path(folder))
        cases = _possible_cases(run_id)
        waits: dict[tuple[str, int], Waits] = {}
        for time_number in range(options.times + 1):
            for busy in surroundings:
                with _busy_programs(busy):
                    for name, case in cases.items():
                        clock, processor = _seconds(case.words, folder)
                        if time_number:  # the first one compiles, and looks the processor up
                            waits.setdefault((name, busy), Waits()).add(clock, processor)
    if pages and EMPTY not in pages:
        pages.insert(0, EMPTY)
    for page in pages:
        for busy in surroundings:
            with _busy_programs(busy):
                page_waits = _page_waits(page, options.times)
            for name, times in page_waits.items():
                waits[f"{page}: {name}", busy] = times
                limits[f"{page}: {name}"] = PAGE_LIMITS[name]
    if pages:
        _allow_what_empty_takes(limits, waits)
    sys.exit(_print_table(waits, limits, surroundings))


def _allow_what_empty_takes(
    limits: dict[str, float | None], waits: dict[tuple[str, int], Waits]
) -> None:
    """Raise the limit of second openings to what an empty page takes, and a little more."""
    name = f"{EMPTY}: second opening"
    allowed = statistics.median(waits[name, 0].clock) + BEYOND_EMPTY
    for page in limits:
        if page.endswith(": second opening"):
            limits[page] = max(PAGE_LIMITS["second opening"] or 0.0, allowed)


def _print_table(
    waits: dict[tuple[str, int], Waits], limits: dict[str, float | None], surroundings: list[int]
) -> bool:
    """Print what was measured; whether a limit is not kept."""
    missed = False
    heads = [f"s by the clock beside {busy} | s of processor" for busy in surroundings]
    print(f"| | limit | {' | '.join(heads)} |")
    print("|---|---|" + "---|---|" * len(surroundings))
    bare = statistics.median(waits[BARE, 0].clock)
    for name in dict.fromkeys(name for name, _ in waits):
        cells = [waits[name, busy].words for busy in surroundings]
        limit = limits[name]
        shown_limit = "-"
        if limit is not None:
            shown_limit = f"{limit:.3g}"
            seconds = statistics.median(waits[name, 0].clock)
            if name == IMPORT:
                seconds -= bare
            missed |= seconds > limit
        print(f"| {name} | {shown_limit} | {' | '.join(cells)} |")
    return missed


@contextmanager
def _busy_programs(count: int) -> Iterator[None]:
    """So many programs that do nothing but compute."""
    # They end when whoever started them does, however that ends.
    script = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"
    command = [sys.executable, "-c", script]
    programs = [subprocess.Popen(command) for _ in range(count)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def _prepared(folder: Path) -> str:
    """A database with a tracked run, whose id this is, and two files of scores.

    The id is empty where ml-100k is not on disk.
    """
    os.environ["ECV_DATABASE_URL"] = f"sqlite:///{folder}/runs.sqlite"
    os.environ["PYTHONPATH"] = str(Path(__file__).parents[1])
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "compiled")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    rng = np.random.default_rng(1)
    scores = rng.uniform(0.3, 0.35, 10)
    (folder / "ten.csv").write_text("\n".join(["score", *map(str, scores)]))
    rows = [
        f"c{contender},{fold},{user},{rng.uniform() / 2 + 0.03 * contender:.4f}"
        for contender in range(6)
        for fold in range(10)
        for user in range(400)
    ]
    (folder / "users.csv").write_text("\n".join(["contender,fold,user,score", *rows]))
    track = ["-m", "ecv_core", "track", "mine", "ml-100k", "--metric", "ndcg@10"]
    begun = subprocess.run([sys.executable, *track], cwd=folder, capture_output=True, text=True)
    if begun.returncode:
        print(begun.stderr.strip(), file=sys.stderr)
    return begun.stdout.strip()


def _possible_cases(run_id: str) -> dict[str, Case]:
    """Those whose data are on disk, with the id of the tracked run; it is empty without ml-100k."""
    cases = {}
    for name, case in CASES.items():
        if run_id or not case.needs:
            words = [run_id if word == "RUN" else word for word in case.words]
            cases[name] = Case(words)
    return cases


def _seconds(words: list[str], folder: str) -> tuple[float, float]:
    """Seconds by the clock and of the processor, of one process and its children."""
    before = os.times()
    begin = time.perf_counter()
    subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, check=False)
    clock = time.perf_counter() - begin
    after = os.times()
    user = after.children_user - before.children_user
    return clock, user + after.children_system - before.children_system


def _page_waits(page: str, times: int) -> dict[str, Waits]:
    """Of a page of a fresh server; of the page Run also how soon a fold is there after Start.

    Args:
        page: as of `benchmarks.opening`.
        times: how often it is opened again.
    """
    from benchmarks.opening import Visit

    first = Waits()
    second = Waits()
    waits = {"first opening": first, "second opening": second}
    with Visit(page) as visit:
        first.add(*visit.opened())
        for _ in range(times):
            second.add(*visit.opened())
        if page == "run":
            waits["first fold after Start"] = Waits()
            waits["first fold after Start"].add(*visit.first_fold())
    return waits


if __name__ == "__main__":
    main()
