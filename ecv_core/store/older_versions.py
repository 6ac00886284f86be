"""A database of version 0.1 -> the tables of today, nothing lost."""

from __future__ import annotations

import json
from contextlib import suppress

import sqlalchemy as sa

from ecv_core.records.spec import RunSpec
from ecv_core.store.schema import metadata, plans, runs


def take_over(connection: sa.Connection) -> None:
    """Bring the tables of version 0.1 to those of today."""
    metadata.create_all(connection)
    for column in (runs.c.started_by, runs.c.anew, runs.c.score_key):
        kind = column.type.compile(connection.dialect)
        connection.execute(sa.text(f"ALTER TABLE runs ADD COLUMN {column.name} {kind}"))
    for index in runs.indexes:
        index.create(connection, checkfirst=True)
    _fill_score_keys(connection)
    studies = sa.Table("studies", sa.MetaData(), autoload_with=connection)
    for row in connection.execute(studies.select().order_by(studies.c.sequence)).all():
        with suppress(ValueError, TypeError, KeyError):  # damaged: its runs are there still
            _keep_study(connection, row.study_id, row.created_at, json.loads(row.cells))
    studies.drop(connection)


def _fill_score_keys(connection: sa.Connection) -> None:
    """Give every run the key of its scores; a damaged spec has none and is never found by it."""
    keys = []
    for row in connection.execute(sa.select(runs.c.sequence, runs.c.spec)).all():
        with suppress(ValueError):
            keys.append({"place": row.sequence, "key": RunSpec.from_json(row.spec).score_key})
    if keys:
        of_place = runs.update().where(runs.c.sequence == sa.bindparam("place"))
        connection.execute(of_place.values(score_key=sa.bindparam("key")), keys)


def _keep_study(
    connection: sa.Connection, study_id: str, created_at: str, cells: list[dict[str, object]]
) -> None:
    """Keep a study as a plan; the runs that were started for it are its group."""
    content = {"runs": [{"spec": cell["spec"], "name": ""} for cell in cells], "terms": {}}
    mine = [cell["run_id"] for cell in cells if not cell["borrowed"]]
    connection.execute(
        plans.insert().values(
            plan_id=study_id, kind="study", created_at=created_at, content=json.dumps(content)
        )
    )
    of_study = runs.update().where(runs.c.run_id.in_(mine))
    connection.execute(of_study.values(group_id=study_id))
