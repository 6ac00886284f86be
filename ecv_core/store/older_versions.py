"""Older versions: their tables -> those of today; users' scores as schema 4 packed them."""

from __future__ import annotations

import json
import lzma
from collections.abc import Mapping, Sequence
from contextlib import suppress
from decimal import Decimal, localcontext
from functools import lru_cache
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from ecv_core.records.run import UserScores
from ecv_core.records.spec import RunSpec
from ecv_core.store.schema import metadata, plans, progress, runs


def take_over(connection: sa.Connection, version: int) -> None:
    """Bring the tables of an older version to those of today."""
    if version == 1:
        progress.drop(connection, checkfirst=True)  # says where running folds are, no more
    metadata.create_all(connection)
    _add_columns(connection)
    there = sa.inspect(connection).get_table_names()
    for table, kept in (("studies", _study), ("selections", _selection)):
        if table in there:
            old = sa.Table(table, sa.MetaData(), autoload_with=connection)
            for row in connection.execute(old.select().order_by(old.c.sequence)).mappings().all():
                with suppress(ValueError, TypeError, KeyError):  # damaged: its runs are there still
                    _keep(connection, *kept(row))
            old.drop(connection)


def _add_columns(connection: sa.Connection) -> None:
    """Those that the runs of an older version lack; only the key of a run's scores is filled."""
    there = {column["name"] for column in sa.inspect(connection).get_columns(runs.name)}
    for column in (runs.c.started_by, runs.c.anew, runs.c.score_key):
        if column.name not in there:
            kind = column.type.compile(connection.dialect)
            connection.execute(sa.text(f"ALTER TABLE runs ADD COLUMN {column.name} {kind}"))
    if runs.c.score_key.name not in there:
        for index in runs.indexes:
            index.create(connection, checkfirst=True)
        _fill_score_keys(connection)


def _fill_score_keys(connection: sa.Connection) -> None:
    """Give every run the key of its scores; a damaged spec has none and is never found by it."""
    keys = []
    for row in connection.execute(sa.select(runs.c.sequence, runs.c.spec)).all():
        with suppress(ValueError):
            keys.append({"place": row.sequence, "key": RunSpec.from_json(row.spec).score_key})
    if keys:
        of_place = runs.update().where(runs.c.sequence == sa.bindparam("place"))
        connection.execute(of_place.values(score_key=sa.bindparam("key")), keys)


def _study(row: sa.RowMapping) -> tuple[dict[str, Any], list[str]]:
    """A study as a plan, and the runs that were started for it."""
    cells = json.loads(row["cells"])
    content = {"runs": [{"spec": cell["spec"], "name": ""} for cell in cells], "terms": {}}
    mine = [cell["run_id"] for cell in cells if not cell["borrowed"]]
    return _plan(row, "study", content), mine


def _selection(row: sa.RowMapping) -> tuple[dict[str, Any], list[str]]:
    """A selection as a plan, and the runs that compute for it."""
    old = json.loads(row["content"])
    contenders = old["contenders"]
    content = {
        "runs": [{"spec": one["spec"], "name": one["name"]} for one in contenders],
        "terms": old["terms"] | {"recorded": True},
    }
    mine = [one["run_id"] for one in contenders if one["run_id"]]
    return _plan(row, "selection", content), mine


def _plan(row: sa.RowMapping, kind: str, content: dict[str, Any]) -> dict[str, Any]:
    return {
        "plan_id": row[f"{kind}_id"],
        "kind": kind,
        "created_at": row["created_at"],
        "content": json.dumps(content),
        "started_by": row.get("started_by"),
    }


def _keep(connection: sa.Connection, plan: dict[str, Any], run_ids: list[str]) -> None:
    connection.execute(plans.insert().values(**plan))
    mine = runs.update().where(runs.c.run_id.in_(run_ids))
    connection.execute(mine.values(group_id=plan["plan_id"]))


# Per-user scores as schema 4 packed them: such rows are only read, and stay as they are.
#
# Six metrics of a user follow from which ranks were hits and how many items were held out, and the
# two of novelty nearly do: those integers were written, and what they leave open. So the formulas
# below, and the order of their sums, decide the last bit; they must never change.


_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6, "lc": 0, "lp": 0, "pb": 0}]
_FROM_HITS = ("ndcg", "map", "recall", "precision", "mrr", "hit")

_Bits = NDArray[np.uint32]
_Floats = NDArray[np.float64]


def scores_of_schema_4(described: Mapping[str, Any], users: bytes, scores: bytes) -> UserScores:
    """The scores of a row.

    Args:
        described: what the row says of itself: `metrics`, how many `users`, the list length whose
            `hits` were written (0 for none), and two constants of its `novelty` if that was packed.
        users: packed steps from user to user.
        scores: packed columns: the hits and the held-out items where there are hits, then every
            metric that does not follow from them.
    """
    many, metrics, n = int(described["users"]), tuple(described["metrics"]), int(described["hits"])
    from_hits = [at for at, name in enumerate(metrics) if n and _id(name) in _FROM_HITS]
    others = [at for at in range(len(metrics)) if at not in from_hits]
    columns = _columns(_unpacked(scores), 2 * bool(n) + len(others), many)
    bits = np.empty((many, len(metrics)), "<u4")
    hits = np.zeros((many, n), np.bool_)
    if n:
        pattern, held_out, *columns = columns
        hits = (pattern[:, None] >> np.arange(n, dtype=np.uint32) & 1).astype(bool)
        followed = _of_hits(hits, held_out)
        for at in from_hits:
            bits[:, at] = followed[_id(metrics[at])]
    for at, column in zip(others, columns, strict=True):
        bits[:, at] = column
    if n and (constants := described.get("novelty")):
        epc, efd = metrics.index(f"epc@{n}"), metrics.index(f"efd@{n}")
        gain = _gained(hits) / np.cumsum(_discounts(n))[-1]
        bits[:, epc] = _step(bits[:, epc]) + _bits(gain * constants[0])
        bits[:, efd] = _step(bits[:, efd]) + _efd(gain, bits[:, epc], constants[1])
    codes = np.cumsum(_whole_numbers(_unpacked(users), many, 4), dtype="<u4")
    return UserScores(users=codes.view("<i4"), metrics=metrics, values=bits.view("<f4"))


def _id(metric: str) -> str:
    return metric.partition("@")[0]


def _of_hits(hits: NDArray[np.bool_], held_out: _Bits) -> dict[str, _Bits]:
    """The bits of the metrics that follow; hits of shape (users, n)."""
    n = hits.shape[1]
    reachable = np.minimum(np.maximum(held_out, 1), n)
    precise, first, count = np.zeros((3, len(hits)))
    for rank in range(1, n + 1):
        hit = hits[:, rank - 1]
        first = np.where(hit & (count == 0), 1 / rank, first)
        count = count + hit
        precise = precise + hit * (count / rank)
    followed = {
        "ndcg": _gained(hits) / np.cumsum(_discounts(n))[reachable - 1],
        "map": precise / reachable,
        "recall": count / np.maximum(held_out, 1),
        "precision": count / n,
        "mrr": first,
        "hit": (count > 0).astype(np.float64),
    }
    return {
        name: np.where(held_out > 0, values, 0.0).astype("<f4").view("<u4")
        for name, values in followed.items()
    }


def _gained(hits: NDArray[np.bool_]) -> _Floats:
    gained = np.zeros(len(hits))
    for rank, discount in enumerate(_discounts(hits.shape[1])):
        gained = gained + hits[:, rank] * discount
    return gained


@lru_cache(maxsize=8)
def _discounts(n: int) -> tuple[float, ...]:
    """1 / log2(rank + 1), rounded from 40 digits: the same on every machine."""
    with localcontext() as context:
        context.prec = 40
        two = Decimal(2).ln()
        return tuple(float(two / Decimal(rank + 1).ln()) for rank in range(1, n + 1))


def _efd(gain: _Floats, epc: _Bits, of_everybody: float) -> _Bits:
    """The guess from EPC: the gain times the bits that choosing the mean item tells."""
    with np.errstate(all="ignore"):
        seen = 1 - np.ascontiguousarray(epc).view("<f4").astype(np.float64) / np.where(
            gain > 0, gain, 1.0
        )
    shares = np.minimum(np.where(seen > 2.0**-24, seen, 2.0**-24), 1.0)
    return _bits(gain * (of_everybody - _log2(shares)))


def _log2(values: _Floats) -> _Floats:
    """For numbers above 0; to about 1e-9, by arithmetic that is the same on every machine."""
    part, power = np.frexp(values)  # in [0.5, 1)
    ratio = (part - 0.75) / (part + 0.75)  # in [-0.2, 0.143)
    square = ratio * ratio
    total = np.zeros_like(ratio)
    for odd in range(13, 0, -2):
        total = total * square + 1 / odd
    return power + -0.4150374992788438 + ratio * total * 2.8853900817779268


def _bits(values: _Floats) -> _Bits:
    possible = (values > 0) & (values < 1e30)  # no NaN either
    return np.where(possible, values, 0.0).astype("<f4").view("<u4")


def _step(numbers: _Bits) -> _Bits:
    """How far from the guess: 0, 1, 2, 3 ... are 0, -1, 1, -2 ..."""
    one = np.uint32(1)
    return (numbers >> one) ^ -(numbers & one)


def _columns(data: bytes, columns: int, many: int) -> Sequence[_Bits]:
    """Columns of numbers; users were in the order of all columns before."""
    groups, place, read = np.zeros(many, np.int64), 0, list[_Bits]()
    for _ in range(columns):
        listed, place = int.from_bytes(data[place : place + 4], "little"), place + 4
        values = np.cumsum(_whole_numbers(data[place:], listed, 4), dtype="<u4")
        place += 4 * listed
        width = 1 if 0 < listed <= 1 << 8 else 2 if 0 < listed <= 1 << 16 else 4
        numbers = _whole_numbers(data[place:], many, width)
        place += width * many
        column = np.empty(many, "<u4")
        column[np.argsort(groups, kind="stable")] = values[numbers] if listed else numbers
        groups = np.unique(groups << 32 | column.astype(np.int64), return_inverse=True)[1]
        read.append(column)
    return read


def _whole_numbers(data: bytes, many: int, width: int) -> _Bits:
    """Numbers of so many bytes, of which all first bytes come first, then all second ones."""
    planes = np.frombuffer(data, "u1", count=width * many).reshape(width, many)
    return np.ascontiguousarray(planes.T).view(f"<u{width}").reshape(many).astype("<u4")


def _unpacked(data: bytes) -> bytes:
    return lzma.decompress(data, lzma.FORMAT_RAW, filters=_FILTERS)
