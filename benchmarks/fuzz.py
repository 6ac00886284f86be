"""Damaged files and odd settings by the thousand: each is read, or refused in a sentence.

python -m benchmarks.fuzz [--cases 10000] [--seed 1] [--only KIND,KIND]

Every case is made from its number, so that it can be made again alone (--case NUMBER). They run in
processes of 500, of at most 2 GB each. Asked: no error but an InputError, whose message is one line
of at most 600 characters; no case over 20 s of a processor; nothing written outside the folder that
is given for it; no more than 2 GB. Exit code 1 where that does not hold.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.fuzz_kinds import KINDS

SECONDS, WAITING, MEGABYTES, LONGEST = 20.0, 6, 2048.0, 600
BATCH = 500


def case(number: int, seed: int, only: tuple[str, ...], folder: Path) -> tuple[str, str | None]:
    """Do one; give its kind, and what is wrong with what came of it (None: nothing)."""
    from ecv_core.errors import InputError

    random = Random(f"{seed}-{number}")
    kinds = only or tuple(KINDS)
    kind = random.choices(kinds, [KINDS[one][0] for one in kinds])[0]
    begin, clock = time.process_time(), time.monotonic()
    wrong = None
    try:
        KINDS[kind][1](random, folder)
    except InputError as error:
        said = str(error)
        if "\n" in said or "\r" in said or len(said) > LONGEST or not said:
            wrong = f"a message of {len(said)} characters: {said[:300]!r}"
    except BaseException:  # noqa: BLE001  is what is looked for
        wrong = traceback.format_exc(limit=-6)
    busy, spent = time.process_time() - begin, time.monotonic() - clock
    if busy > SECONDS or spent > WAITING * SECONDS:  # others may work on this machine
        wrong = f"{wrong or ''} it took {spent:.0f} s, of a processor {busy:.0f} s"
    return kind, wrong


def _batch(numbers: range, seed: int, only: tuple[str, ...]) -> None:
    """In a process of its own: say before each case that it begins, and what came of it."""
    import ecv_core.bounded as bounded

    out = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def here(function: Any, *given: Any, **more: Any) -> Any:  # noqa: ANN401
        report = more.get("report")
        return function(*given, *([report] if report else []))

    bounded.in_child = here  # a child for each would take most of the time
    given = Path(os.environ["ECV_DATA_DIR"]).parent / "given"
    given.mkdir(exist_ok=True)
    for number in numbers:
        print(json.dumps({"begins": number}), file=out, flush=True)
        kind, wrong = case(number, seed, only, given)
        print(json.dumps({"kind": kind, "wrong": wrong}), file=out, flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"peak": peak}), file=out, flush=True)


def _limited() -> None:
    most = int(MEGABYTES * (1 << 20))
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    """Run the cases and print what they came to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--case", type=int, help="only this one, with its traceback")
    parser.add_argument("--only", default="", help=f"kinds: {', '.join(KINDS)}")
    parser.add_argument("--batch", nargs=2, type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    only = tuple(filter(None, asked.only.split(",")))
    if asked.batch:
        _batch(range(*asked.batch), asked.seed, only)
        return
    first = asked.first if asked.case is None else asked.case
    end = first + (asked.cases if asked.case is None else 1)
    counts: Counter[str] = Counter()
    failed, peak, begin = 0, 0.0, time.monotonic()
    at = first
    while at < end:
        with tempfile.TemporaryDirectory(prefix="ecv-fuzz-") as folder:
            last, done, megabytes = _one_batch(Path(folder), at, min(at + BATCH, end), asked)
        peak = max(peak, megabytes)
        for number, kind, wrong in done:
            counts[kind] += 1
            if wrong:
                failed += 1
                print(f"case {number} ({kind}): {wrong}", flush=True)
        at = last
        if at < end:
            print(f"up to {at}: {failed} failed", file=sys.stderr, flush=True)
    seconds = time.monotonic() - begin
    kinds = ", ".join(f"{kind} {count}" for kind, count in counts.most_common())
    print(f"{counts.total()} cases ({kinds}), {failed} failed, {seconds:.0f} s, {peak:.0f} MB")
    sys.exit(failed > 0 or peak > MEGABYTES)


def _one_batch(
    folder: Path, first: int, end: int, asked: argparse.Namespace
) -> tuple[int, list[tuple[int, str, str | None]], float]:
    """Next number, (number, kind, what is wrong) of each case, and the peak of memory in MB."""
    places = {name: str(folder / name) for name in ("data", "home", "tmp")}
    for place in places.values():
        Path(place).mkdir()
    surroundings = os.environ | {
        "ECV_DATA_DIR": places["data"],
        "ECV_DATA_PATH": "",
        "HOME": places["home"],
        "TMPDIR": places["tmp"],
        "ECV_DATABASE_URL": f"sqlite:///{folder / 'data' / 'runs.sqlite'}",
        "PYTHONPATH": os.getcwd(),
    }
    words = ["--seed", str(asked.seed), "--only", asked.only, "--batch", str(first), str(end)]
    result = subprocess.run(
        [sys.executable, "-m", "benchmarks.fuzz", *words],
        env=surroundings,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=_limited,
    )
    done: list[tuple[int, str, str | None]] = []
    peak, begun = 0.0, -1
    for line in result.stdout.splitlines():
        said = json.loads(line)
        begun = said.get("begins", begun)
        peak = said.get("peak", peak)
        if "kind" in said:
            done.append((begun, said["kind"], said["wrong"]))
    if len(done) < end - first:
        last = (result.stderr.strip().splitlines() or ["nothing said"])[-1]
        done.append((begun, "?", f"ended its process ({result.returncode}): {last}"))
        end = begun + 1
    if strange := {one.name for one in folder.iterdir()} - {*places, "given"}:
        done.append((begun, "?", f"written outside: {strange}"))
    return end, done, peak


if __name__ == "__main__":
    main()
