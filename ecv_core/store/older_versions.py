"""Databases of older versions -> the tables of today, nothing lost."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import sqlalchemy as sa

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
