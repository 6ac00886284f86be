"""One damaged file, or one odd setting, of each kind, and who reads it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.mutations import TOKENS, VALUES, document, packed, parquet, table_text, zipped


def _named(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def _numbered(random: Random, count: int, *kinds: int) -> list[list[str]]:
    """Rows of whole numbers below these."""
    return [[str(random.randrange(kind)) for kind in kinds] for _ in range(count)]


def own(random: Random, folder: Path) -> None:
    """A dataset of one's own, as `add` takes it."""
    from ecv_core.datasets.own import Corrections, add_file, remove
    from ecv_core.datasets.own.plain import no_report

    names = ["user", "item", "rating", "timestamp"]
    rows = _numbered(random, 60, 6, 9, 6, 2**31)
    way = random.randrange(6)
    if way == 0:
        content = parquet(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)), random)
    elif way == 1:
        lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
        lines[random.randrange(60)] = json.dumps(
            dict.fromkeys([*names, random.choice(TOKENS)], random.choice(VALUES))
        )
        content = packed("\n".join(lines).encode(), "a.jsonl", random)
    else:
        content = packed(table_text(names, rows, random), "a.csv", random)
    path = _named(folder, "own.csv", content)
    asked = Corrections()
    if random.random() < 0.2:
        asked = Corrections(
            columns={"user_id": random.choice((*TOKENS, "1", "3"))},
            separator=random.choice((",", ";", "::", None)),
            header=random.choice((True, False, None)),
        )
    add_file("fuzzed", path, asked, no_report)
    remove("fuzzed")


def folds(random: Random, folder: Path) -> None:
    """A fold file or split archive of the synthetic dataset."""
    from ecv_core.fold import import_folds, prepared

    data = prepared("synthetic")
    users, items = data.user_ids[data.users], data.item_ids[data.items]
    count = len(data) if random.random() < 0.1 else 200
    pairs = zip(users[:count], items[:count], strict=True)
    rows = [[str(user), str(item), str(random.randrange(4))] for user, item in pairs]
    names = ["user_id", "item_id", "fold"]
    way = random.randrange(5)
    if way == 0:
        members = {}
        for index in range(random.choice((1, 2, 3))):
            parts = [[*row[:2], random.choice(("train", "test"))] for row in rows]
            members[f"fold-{index}.csv"] = table_text([*names[:2], "part"], parts, random)
        content = zipped(members, random)
    elif way == 1:
        members = {
            f"x-0.part{part}.inter": "\n".join(
                ["user_id:token\titem_id:token", *("\t".join(row[:2]) for row in rows)]
            ).encode()
            for part in random.choice(((1, 3), (1, 2, 3), (1,)))
        }
        content = zipped(members, random)
    else:
        content = table_text(names, rows, random)
    path = _named(folder, "folds.csv", packed(content, "folds.csv", random))
    import_folds("synthetic", path)


def scores(random: Random, folder: Path) -> None:
    """A file of scores for a selection."""
    from ecv_core.selection.score_files import read_contenders

    names = ["contender", "fold", "score"] + ["user"] * (random.random() < 0.5)
    keys = [(c, f, u) for c in "ab" for f in range(5) for u in range(4 if len(names) > 3 else 1)]
    rows = [[c, str(f), f"{random.random():.3f}", str(u)][: len(names)] for c, f, u in keys]
    if random.random() < 0.3:
        content = parquet(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)), random)
        read_contenders(_named(folder, "scores.parquet", content))
    else:
        content = packed(table_text(names, rows, random), "scores.csv", random)
        ending = random.choice(("scores.csv", "scores.csv.gz"))
        read_contenders(_named(folder, ending, content))


def told(random: Random, folder: Path) -> None:
    """A table of what other code reports."""
    from ecv_core.tracking.asked import read_table

    rows = _numbered(random, 30, 9, 9)
    if random.random() < 0.3:
        columns: dict[str, list[Any]] = {
            "user_id": [row[0] for row in rows],
            "score": [float(row[1]) for row in rows],
        }
        read_table(_named(folder, "told.parquet", parquet(columns, random)))
    else:
        content = packed(table_text(["user_id", "score"], rows, random), "told.csv", random)
        read_table(_named(folder, random.choice(("t.csv", "t.csv.gz", "t.zip", "t.xz")), content))


def orders(random: Random, folder: Path) -> None:
    """A table of fold scores."""
    from ecv_core.analysis.orders import read_scores

    names = random.choice((["score"], ["a", "b"], ["system", "fold", "score"]))
    rows = [[f"{random.random():.3f}" for _ in names] for _ in range(random.choice((1, 5, 30)))]
    content = table_text(names, rows, random)
    read_scores(_named(folder, "orders.csv", packed(content, "orders.csv", random)))


def run(random: Random, folder: Path) -> None:
    """A run that was exported; what is taken is kept, listed and deleted again."""
    from ecv_core.runs.run_file import read_run
    from ecv_core.store import import_run, open_store

    found = read_run(document(random), random.choice(("run.json", *TOKENS)))
    store = open_store()
    run_id, _ = import_run(store, found.run, sha256=found.sha256, file_name="x", made_with={})
    store.run(run_id)
    store.delete(run_id)


def setting(random: Random, folder: Path) -> None:
    """The settings of a run, as a link or a command line gives them: typed, but any value."""
    from ecv_core.records import SETTINGS
    from ecv_core.spec import make_spec

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


def grid(random: Random, folder: Path) -> None:
    """A search space as `tune --grid` has it."""
    from ecv_core.cli import main
    from ecv_core.errors import InputError

    values = ",".join(random.choice((*TOKENS, "5", "10")) for _ in range(2))
    words = ["tune", "synthetic", "popular", "--grid", f"neighbours={values}".replace("\0", "")]
    if main(words) != 2:
        raise AssertionError(f"{words} was taken, though 'popular' has no parameter")
    raise InputError("refused")


KINDS: dict[str, tuple[int, Callable[[Random, Path], None]]] = {
    "own": (30, own),
    "folds": (12, folds),
    "scores": (15, scores),
    "told": (10, told),
    "orders": (10, orders),
    "run": (15, run),
    "setting": (7, setting),
    "grid": (1, grid),
}
"""Kind -> (how often, in a hundred; what a case of it does)."""
