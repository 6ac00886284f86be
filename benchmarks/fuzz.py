"""Damaged files and odd settings by the thousand: each is read, or refused in a sentence.

python -m benchmarks.fuzz [--cases 10000] [--seed 1] [--only KIND,KIND]

Every case is made from its number, so that it can be made again alone (--case NUMBER). They run in
processes of 500, of at most 1 GB each. Asked: no error but one raised on purpose, whose message is
one line of at most 800 characters (the ids of all algorithms have 550); no case over 10 s of a
processor; nothing written outside the folder that is given for it; no more than 1 GB. Exit code 1
where that does not hold.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

TOKENS = (
    *("", " ", '"', "'", ",", ";", "\t", "\n", "\r", "\r\n", "\0", "\ufeff", "|", "::", "\x1f"),
    *("nan", "inf", "-inf", "1e308", "-1e308", "1e400", "1e-400", "-1", "0", "-0", "1_000", "٣"),
    *("9" * 400, "0x1f", "1,5", "1.7976931348623157e308", "9223372036854775808", "-32769"),
    *("=cmd|' /C calc'!A0", "../../evil", "/etc/passwd", "null", "true", "[]", "{}", "[" * 2000),
    *("0001-01-01", "9999-12-31T23:59:59", "2024-02-30", "1970-01-01T00:00:00+99:99", "Z"),
    *("x" * 5000, "y" * 140_000, "\u202e", "\U0010ffff", "é", "<script>", "%s%n", "{0}", "$(id)"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63) - 1, 10**300, 1e308, -1e308, 5e-324),
    *("", "x", "x" * 2000, "nan", "a\nb", "\0", [], {}, [[]], {"a": 1}, [1] * 50, [None]),
)


def damaged(content: bytes, random: Random) -> bytes:
    """The content with one to four things done to it."""
    data = bytearray(content)
    for _ in range(random.choice((1, 1, 2, 4))):
        at = random.randrange(len(data) + 1)
        to = min(len(data), at + random.choice((1, 1, 2, 8, 100, 5000)))
        piece = data[at:to]
        way = random.randrange(9)
        if way == 0 and at < len(data):
            data[at] ^= 1 << random.randrange(8)
        elif way == 1:
            data[at:to] = random.randbytes(to - at)
        elif way == 2:
            del data[at:to]
        elif way == 3:
            data[at:at] = piece * random.choice((1, 2, 300))
        elif way == 4:
            data[at:at] = random.choice(TOKENS).encode(random.choice(("utf-8", "utf-16-le")))
        elif way == 5:
            del data[at:]
        elif way == 6:
            data[at:to] = bytes(to - at)
        elif way == 7:
            data[at:to] = b"\xff" * (to - at)
        else:
            number = random.choice((0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63))
            data[at : at + 8] = number.to_bytes(8, random.choice(("little", "big")))
    return bytes(data)


def table_text(columns: list[str], rows: list[list[str]], random: Random) -> bytes:
    """A table as text, in which cells, the header, separators and line ends may be odd."""
    cells = [list(columns), *(list(row) for row in rows)]
    for _ in range(random.choice((0, 0, 1, 1, 3))):
        row = random.choice(cells)
        row[random.randrange(len(row))] = random.choice(TOKENS)
    if random.random() < 0.2:
        random.choice(cells).append("more")
    sign = random.choice((",",) * 6 + (";", "\t", "|", "::", " "))
    end = random.choice(("\n",) * 6 + ("\r\n", "\r"))
    text = end.join(sign.join(row) for row in cells)
    encoding = random.choice(("utf-8",) * 8 + ("utf-8-sig", "utf-16", "cp1252"))
    return text.encode(encoding, errors="replace")


def zipped(members: dict[str, bytes], random: Random) -> bytes:
    """A ZIP archive, now and then with odd names, packed in a rare way, or a member twice."""
    buffer = io.BytesIO()
    way = random.choice((zipfile.ZIP_DEFLATED,) * 6 + (zipfile.ZIP_STORED, zipfile.ZIP_LZMA))
    with zipfile.ZipFile(buffer, "w", way) as archive:
        for name, content in members.items():
            odd = random.choice(("../" * 6 + name, "/" + name, "x" * 300 + name, "a/" + name))
            info = zipfile.ZipInfo(odd if random.random() < 0.15 else name)
            archive.writestr(info, content, way)
    return buffer.getvalue()


def packed(content: bytes, name: str, random: Random) -> bytes:
    """As it is, packed, or packed twice; damaged before or after."""
    if random.random() < 0.4:
        content = damaged(content, random)
    way = random.randrange(8)
    if way == 0:
        content = gzip.compress(content)
    elif way == 1:
        content = zipped({name: content}, random)
    elif way == 2:
        content = gzip.compress(gzip.compress(content))
    return damaged(content, random) if way < 4 and random.random() < 0.5 else content


def parquet(columns: dict[str, list[Any]], random: Random) -> bytes:
    """A Parquet file, of which a column may be of a type that nobody expects."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = {name: pa.array(values) for name, values in columns.items()}
    count = len(next(iter(table.values())))
    if random.random() < 0.5:
        table[random.choice(list(table))] = random.choice(_odd_columns())(count)
    if random.random() < 0.05:
        table = {name: values[:0] for name, values in table.items()}
    buffer = io.BytesIO()
    way = random.choice(("snappy", "zstd", "none", "gzip"))
    pq.write_table(pa.table(table), buffer, compression=way, use_dictionary=random.random() < 0.7)
    content = buffer.getvalue()
    if random.random() < 0.6:
        for _ in range(random.choice((1, 3, 20))):
            at = random.randrange(len(content))
            byte = bytes([content[at] ^ random.randrange(1, 256)])
            content = content[:at] + byte + content[at + 1 :]
    return content


def _odd_columns() -> list[Callable[[int], Any]]:
    import pyarrow as pa

    def of(value: object, kind: Any = None) -> Callable[[int], Any]:  # noqa: ANN401  Arrow's
        return lambda count: pa.array([value] * count, kind)

    return [
        *(of(None), of([1]), of({"a": 1}), of(b"\xff\0"), of(Decimal("1.5")), of(True)),
        *(of(date.max), of(datetime.max, pa.timestamp("us")), of(timedelta(days=1))),
        *(of(2**64 - 1, pa.uint64()), of(float("nan")), of(1e308), of("x" * 2000), of("a\0b")),
        of(-(2**62), pa.timestamp("ns")),
        of(2**40, pa.timestamp("s")),
        of(1, pa.time32("s")),
        lambda count: pa.array(["é"] * count).dictionary_encode(),
        lambda count: pa.array([str(at) for at in range(count)], pa.large_string()),
    ]


def document(random: Random, text: str = "") -> bytes:
    """The JSON of a run with some values replaced, left out, or added."""
    found = json.loads(text or _recorded())
    for _ in range(random.choice((0, 1, 1, 2, 5))):
        place = found
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                break
            key = random.choice(keys)
            if isinstance(place[key], dict | list) and place[key] and random.random() < 0.75:
                place = place[key]
                continue
            way = random.randrange(5)
            if way == 0:
                del place[key]
            elif way == 1 and isinstance(place, dict):
                place[random.choice(TOKENS)] = random.choice(VALUES)
            else:
                place[key] = random.choice((*VALUES, *TOKENS))
            break
    text = json.dumps(found)
    if random.random() < 0.1:
        text = text.replace("0.", random.choice(("NaN", "1e999", "-0.", "00.")), 1)
    content = text.encode()
    return damaged(content, random) if random.random() < 0.2 else content


@cache
def _recorded() -> str:
    from ecv_core.store.recorded import recorded_document

    document = recorded_document("ml-100k--popular")
    assert document is not None
    return document


def _named(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def _table(folder: Path, names: list[str], rows: list[list[str]], random: Random) -> Path:
    """A file of these rows: Parquet, JSON lines, or text, packed or not; damaged in some way."""
    way = random.randrange(8)
    if way < 2:
        columns = {
            name: list(cells) for name, cells in zip(names, zip(*rows, strict=True), strict=True)
        }
        return _named(folder, "table.parquet", parquet(columns, random))
    if way == 2:
        lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
        odd = dict.fromkeys([*names, random.choice(TOKENS)], random.choice(VALUES))
        lines[random.randrange(len(lines))] = json.dumps(odd)
        return _named(folder, "a.jsonl", packed("\n".join(lines).encode(), "a.jsonl", random))
    name = random.choice(("a.csv", "a.csv", "a.csv", "a.csv.gz", "a.zip", "a.xz"))
    return _named(folder, name, packed(table_text(names, rows, random), "a.csv", random))


def own(random: Random, folder: Path) -> None:
    """A dataset of one's own, as `add` takes it."""
    from ecv_core.dataset.own import add_file, remove
    from ecv_core.dataset.plain import no_report

    below = {"user": 6, "item": 9, "rating": 6, "timestamp": 2**31}
    rows = [[str(random.randrange(most)) for most in below.values()] for _ in range(60)]
    path = _table(folder, list(below), rows, random)
    asked = {"user_id": random.choice((*TOKENS, "1", "3"))} if random.random() < 0.2 else {}
    add_file("fuzzed", path, asked, no_report)
    remove("fuzzed")


def folds(random: Random, folder: Path) -> None:
    """A fold file or split archive of the synthetic dataset."""
    from ecv_core.dataset.preparation import prepared
    from ecv_core.fold import import_folds

    data = prepared("synthetic")
    count = len(data) if random.random() < 0.1 else 200
    users, items = data.user_ids[data.users[:count]], data.item_ids[data.items[:count]]
    pairs = [[str(user), str(item)] for user, item in zip(users, items, strict=True)]
    way = random.randrange(5)
    if way == 0:
        members = {}
        for index in range(random.choice((1, 2, 3))):
            parts = [[*pair, random.choice(("train", "test"))] for pair in pairs]
            names = ["user_id", "item_id", "part"]
            members[f"fold-{index}.csv"] = table_text(names, parts, random)
        content = zipped(members, random)
    elif way == 1:
        lines = ["user_id:token\titem_id:token", *("\t".join(pair) for pair in pairs)]
        parts_there = random.choice(((1, 3), (1, 2, 3), (1,)))
        text = "\n".join(lines).encode()
        content = zipped({f"x-0.part{part}.inter": text for part in parts_there}, random)
    else:
        rows = [[*pair, str(random.randrange(4))] for pair in pairs]
        content = table_text(["user_id", "item_id", "fold"], rows, random)
    import_folds("synthetic", _named(folder, "folds.csv", packed(content, "folds.csv", random)))


def scores(random: Random, folder: Path) -> None:
    """A file of scores for a selection."""
    from ecv_core.analysis.score_files import read_contenders

    names = ["contender", "fold", "score"] + ["user"] * (random.random() < 0.5)
    keys = [(c, f, u) for c in "ab" for f in range(5) for u in range(4 if len(names) > 3 else 1)]
    rows = [[c, str(f), f"{random.random():.3f}", str(u)][: len(names)] for c, f, u in keys]
    read_contenders(_table(folder, names, rows, random))


def told(random: Random, folder: Path) -> None:
    """A table of what other code reports."""
    from ecv_core.jobs.plans.track import read_table

    rows = [[str(random.randrange(9)), f"{random.random():.3f}"] for _ in range(30)]
    read_table(_table(folder, ["user_id", "score"], rows, random))


def orders(random: Random, folder: Path) -> None:
    """A table of fold scores."""
    from ecv_core.analysis.score_files import read_contenders, with_varying_scores

    names = random.choice((["score"], ["a", "b"], ["system", "fold", "score"]))
    rows = [[f"{random.random():.3f}" for _ in names] for _ in range(random.choice((1, 5, 30)))]
    path = _table(folder, names, rows, random)
    with_varying_scores(read_contenders(path), f"the file {path.name}")


def run(random: Random, folder: Path) -> None:
    """A run that was exported; what is taken is kept, listed and deleted again."""
    from ecv_core.store.imports import import_run, read_run
    from ecv_core.store.store import open_store

    found = read_run(document(random), random.choice(("run.json", *TOKENS)))
    store = open_store()
    run_id, _ = import_run(store, found)
    store.run(run_id)
    store.delete(run_id)


def rows(random: Random, folder: Path) -> None:
    """Rows of the database that somebody has written over: each run is read, or told apart."""
    import sqlalchemy as sa

    from ecv_core.records.errors import EcvError
    from ecv_core.records.run import RunRecord
    from ecv_core.store import schema
    from ecv_core.store.activity import current_activity
    from ecv_core.store.document import run_document
    from ecv_core.store.imports import import_run, origins, read_run
    from ecv_core.store.listing import Label, RunList, label_runs
    from ecv_core.store.ownership import active_owners, beat
    from ecv_core.store.plans import STUDY, PlannedRun, keep_plan, stored_plans
    from ecv_core.store.results import Results
    from ecv_core.store.store import open_store

    store = open_store()
    found = read_run(_recorded().encode(), "run.json")
    bad, _ = import_run(store, found)
    good = store.create([found.run.spec], owner="here")[0]
    going = store.create([found.run.spec], owner="here")[0]
    store.start(going, owner="here")
    store.set_progress(going, 0, "fit", 1, 2)
    label_runs(store, {bad: Label(name="a", tags=("b",))})
    keep_plan(store, STUDY, [PlannedRun(spec=found.run.spec)])
    beat(store, "here", serves=True)
    tables = [schema.runs, schema.folds, schema.labels, schema.imports, schema.progress]
    for _ in range(random.choice((1, 1, 2, 5))):
        table = random.choice([*tables, schema.folds, schema.plans, schema.owners])
        column = random.choice([one for one in table.c if one.name not in ("sequence", "run_id")])
        with suppress(sa.exc.SQLAlchemyError, OverflowError), store.transaction("written") as at:
            there = at.execute(sa.select(table.c[column.name]).limit(1)).scalar()
            text = damaged(str(there).encode(), random).decode(errors="replace")
            value = random.choice((text, text, *VALUES, *TOKENS))
            if isinstance(value, list | dict):
                value = json.dumps(value)
            mine = table.c.run_id.in_([bad, going]) if "run_id" in table.c else sa.true()
            clause = str(mine.compile(compile_kwargs={"literal_binds": True}))
            words = f"UPDATE {table.name} SET {column.name} = :value WHERE {clause}"
            at.execute(sa.text(words), {"value": value})  # as it is: SQLite checks no type
    listed = RunList(store)
    there = {row.run_id: row for row in listed.rows()} | listed.damaged
    assert good in there
    for read in (store.runs, store.specs, lambda: current_activity(store), lambda: origins(store)):
        read()
    stored_plans(store, STUDY)
    active_owners(store)
    for run_id in (bad, good, going):
        with suppress(EcvError):
            run: RunRecord = store.run(run_id)
            run_document(run)
            for fold in run.damaged:
                store.delete_fold(run_id, fold)
            Results(store, recorded=False).scores(store.run(run_id))
    with store.transaction("written") as at:
        for table in (*tables, schema.plans, schema.owners):
            at.execute(table.delete())


def samples(random: Random, folder: Path) -> None:
    """A table of samples of one's own, of which a column is to be told from the others."""
    from ecv_core.dataset.own import add_file, remove
    from ecv_core.dataset.plain import no_report

    rows = [[str(random.randrange(9)), f"{random.random():.2f}", random.choice("abc")] * 2] * 5
    rows += [[random.choice((*TOKENS, "1", "b")) for _ in range(6)] for _ in range(3)]
    path = _table(folder, [*"pqrstu"], [[*row] for row in rows * 4], random)
    asked = {"target": random.choice(("u", "u", "1", "2", *TOKENS))}
    add_file("fuzzed-table", path, asked, no_report, lossy=True)
    remove("fuzzed-table")


@cache
def _handed_in() -> tuple[str, str]:
    """A run of the synthetic dataset as JSON, and the hash of its folds."""
    from ecv_core.fold.computing import run_fold
    from ecv_core.fold.spec import make_spec
    from ecv_core.jobs.tracked_fold import TrackedFold
    from ecv_core.papers.board import folds_sha256
    from ecv_core.records.run import RunState
    from ecv_core.store.document import run_document
    from ecv_core.store.store import open_store

    spec = make_spec(dataset="synthetic", algorithm="popular", k=2, rule="never")
    store = open_store()
    (run_id,) = store.create([spec], owner="here")
    store.start(run_id, owner="here")
    for fold in range(2):
        store.add_fold(run_id, run_fold(spec, fold), stopped_at=None)
    store.finish(run_id, RunState.FINISHED)
    text = json.dumps(run_document(store.run(run_id)))
    store.delete(run_id)
    return text, folds_sha256(TrackedFold(spec, fold) for fold in range(2))


def board(random: Random, folder: Path) -> None:
    """A result that others hand in to a board."""
    from ecv_core.papers.board import FOLDS, RUN, TABLE, check_result

    text, hashed = _handed_in()
    names = ["fold", "user_id", random.choice(("score", "item_id"))]
    rows = [[str(at % 2), str(random.randrange(40)), str(random.randrange(9))] for at in range(80)]
    run = document(random, text) if random.random() < 0.5 else text.encode()
    members = {RUN: run, FOLDS: hashed.encode(), TABLE: table_text(names, rows, random)}
    if random.random() < 0.1:
        members[random.choice((RUN, FOLDS, TABLE))] = random.choice(TOKENS).encode()
    content = zipped(members, random)
    content = damaged(content, random) if random.random() < 0.5 else content
    check_result(_named(folder, "result.zip", content))


_WORDS = (
    *("synthetic", "popular", "ml-100k", "--json", "-", "--folder", "--scores", "--score", "-k"),
    *("--state", "--dataset", "--metric", "ndcg@10", "-n", "--seed", "--split", "--param", "a=b"),
    *("--rule", "--alpha", "--full", "--new", "--recommendations", "--joules", "--seconds", "3"),
    *("--user", "--item", "--kind", "efold", "--out", "x.pdf", "--confidence", "--until", "--help"),
)
_COMMANDS = (
    *("track", "ask", "tell", "runs", "resume", "orders", "folds", "import", "report", "figure"),
    *("add", "remove", "datasets", "backup", "restore"),
)
"""Those that compute nothing, or nothing unless they are given a run."""


def words(random: Random, folder: Path) -> None:
    """A command line of words and tokens that do not belong together."""
    from ecv_core import cli

    tokens = [
        one for one in TOKENS if "/" not in one and "\0" not in one
    ]  # names no file of others
    (folder / "x.csv").write_bytes(random.choice(TOKENS).encode())
    given = [*random.choices((*_WORDS, *tokens, "x.csv", *map(str, VALUES)), k=random.randrange(8))]
    os.chdir(folder)
    try:
        code = cli.main([random.choice(_COMMANDS), *given])
    except SystemExit as error:  # --help
        code = int(error.code or 0)
    assert code in (0, 1, 2), code


def setting(random: Random, folder: Path) -> None:
    """The settings of a run, as a link or a command line gives them: typed, but any value."""
    from ecv_core.fold.spec import make_spec
    from ecv_core.records.spec import SETTINGS

    asked: dict[str, Any] = {"dataset": "synthetic", "algorithm": "item-knn"}
    for _ in range(random.choice((1, 2, 3))):
        name = random.choice([one for one in SETTINGS if one != "tracked"])
        kind = SETTINGS[name].kind
        text = random.choice(TOKENS)
        try:
            asked[name] = kind(text) if kind in (int, float, str) else text
        except (ValueError, OverflowError):
            continue
        if kind not in (int, float, str):
            asked.pop(name)
    if random.random() < 0.5:
        asked["params"] = {random.choice(("neighbours", *TOKENS)): random.choice(VALUES[1:20])}
    make_spec(**asked)


KINDS: dict[str, tuple[int, Callable[[Random, Path], None]]] = {
    "own": (25, own),
    "folds": (12, folds),
    "scores": (15, scores),
    "told": (10, told),
    "orders": (10, orders),
    "run": (15, run),
    "setting": (8, setting),
    "rows": (15, rows),
    "words": (10, words),
    "samples": (10, samples),
    "board": (10, board),
}
"""Kind -> (how often, beside the others; what a case of it does)."""

SECONDS, WAITING, MEGABYTES, LONGEST = 10.0, 12, 1024.0, 800
BATCH = 500


def case(number: int, seed: int, only: tuple[str, ...], folder: Path) -> tuple[str, str | None]:
    """Do one; give its kind, and what is wrong with what came of it (None: nothing)."""
    from ecv_core.records.errors import EcvError

    random = Random(f"{seed}-{number}")
    kinds = only or tuple(KINDS)
    kind = random.choices(kinds, [KINDS[one][0] for one in kinds])[0]
    begin, clock = time.process_time(), time.monotonic()
    wrong = None
    try:
        KINDS[kind][1](random, folder)
    except EcvError as error:
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
    import ecv_core.untrusted.bounded as bounded

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
