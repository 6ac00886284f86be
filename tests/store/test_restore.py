"""A drill: everything is lost, and is there again from the backup, as docs/deploy.md says it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from ecv_core import cli
from ecv_core.jobs.driver import drive
from ecv_core.jobs.executors import Here
from ecv_core.jobs.plan_runs import PlanRuns
from ecv_core.jobs.plans.run import RunPlan
from ecv_core.records.run import FoldResult, RunRecord, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.store.listing import Label, RunList, label_runs
from ecv_core.store.outputs import database_files
from ecv_core.store.ownership import this_process
from ecv_core.store.results import Results
from ecv_core.store.store import Store, open_store
from tests.databases import PROGRAMS, PostgresServer
from tests.fake_folds import SCORES, computing, users_result

SPEC = RunSpec(dataset="synthetic", algorithm="popular", k=5, rule="never")


def fold(spec: RunSpec, index: int) -> FoldResult:
    """With the scores of three users, whose mean is the fold's."""
    return users_result(index, np.full((3, 1), SCORES[index]))


@dataclass
class Installation:
    """A finished run with a name, and one that was cut off after two folds."""

    finished: RunRecord
    cut_off: RunRecord

    @classmethod
    def fill(cls, store: Store) -> Installation:
        drive(RunPlan(SPEC), PlanRuns(store), Here(computing(fold)))
        (finished,) = store.runs()
        label_runs(store, {finished.run_id: Label(name="the baseline")})
        (run_id,) = store.create([SPEC], owner=this_process(), anew=True)
        store.start(run_id, owner=this_process())
        for index in range(2):
            store.add_fold(run_id, fold(SPEC, index), stopped_at=None)
        store.finish(run_id, RunState.INTERRUPTED, owner=this_process())
        return cls(finished=finished, cut_off=store.run(run_id))

    def check(self, store: Store) -> None:
        """Everything is there again, and what was cut off goes on."""
        assert store.run(self.finished.run_id) == self.finished
        assert store.run(self.cut_off.run_id) == self.cut_off
        names = {row.run_id: row.label.name for row in RunList(store).rows()}
        assert names[self.finished.run_id] == "the baseline"
        users = Results(store).user_scores(self.finished)
        means = [float(users[index].values.mean()) for index in range(5)]
        assert means == pytest.approx(SCORES)
        store.requeue(self.cut_off.run_id, SPEC, owner=this_process())
        run = store.run(self.cut_off.run_id)
        drive(
            RunPlan(SPEC),
            PlanRuns(store, runs=[run], compute_every_fold=True),
            Here(computing(fold)),
        )
        resumed = store.run(self.cut_off.run_id)
        assert resumed.state is RunState.FINISHED
        assert [result.score for result in resumed.folds] == pytest.approx(SCORES)


def test_sqlite_from_the_copy_that_backup_makes(tmp_path: Path) -> None:
    installation = Installation.fill(open_store())
    copy = tmp_path / "elsewhere" / "copy.sqlite"
    copy.parent.mkdir()
    assert cli.main(["backup", str(copy)]) == 0
    for path in database_files(tmp_path / "runs.sqlite"):
        path.unlink(missing_ok=True)
    assert open_store().runs() == []
    for path in database_files(tmp_path / "runs.sqlite"):
        path.unlink(missing_ok=True)
    copy.rename(tmp_path / "runs.sqlite")
    installation.check(open_store())


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """One of this test alone, all of which is dumped."""
    if PROGRAMS is None:
        pytest.skip("PostgreSQL is not on this machine")
    server = PostgresServer(PROGRAMS)
    yield server
    server.stop()


@pytest.mark.slow
def test_postgresql_from_what_pg_dump_says(server: PostgresServer, tmp_path: Path) -> None:
    url = server.database()
    installation = Installation.fill(open_store(url))
    dump = tmp_path / "dump.sql"
    dump.write_bytes(server.run("pg_dump"))
    server.forget()
    server.run("psql", "-c", f"DROP SCHEMA {schema_of(url)} CASCADE")
    server.run("psql", "-c", f"CREATE SCHEMA {schema_of(url)}")
    assert open_store(url).runs() == []
    server.forget()
    server.run("psql", "-c", f"DROP SCHEMA {schema_of(url)} CASCADE")
    server.run("psql", "-q", "-v", "ON_ERROR_STOP=1", "-f", str(dump))
    installation.check(open_store(url))


def schema_of(url: str) -> str:
    return url.rpartition("%3D")[2]
