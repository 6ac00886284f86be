"""A database, and people who act on it."""

from collections.abc import Callable

import pytest

from ecv_core.access.dataset_actions import DatasetActions
from ecv_core.access.roles import Actor, PersonRole
from ecv_core.access.run_actions import RunActions
from ecv_core.access.settings import AccessSettings, Limits, Mode
from ecv_core.fold.spec import make_spec
from ecv_core.jobs.manager import Queue
from ecv_core.records.run import RunState
from ecv_core.store.engine import database_url
from ecv_core.store.quota import Quota
from ecv_core.store.store import Store, open_store
from tests.fake_folds import fold_result

ADA = Actor(id="ada", role=PersonRole.EDITOR, name="Ada")
BEN = Actor(id="ben", role=PersonRole.EDITOR, name="Ben")
VERA = Actor(id="vera", role=PersonRole.VIEWER, name="Vera")
VISITOR = Actor(id="visitor:1", role=PersonRole.VISITOR)
OTHER_VISITOR = Actor(id="visitor:2", role=PersonRole.VISITOR)
SPEC = make_spec(dataset="synthetic", algorithm="popular", k=5, rule="never")
LIMITS = Limits(algorithms=("popular", "ease"), seconds=10, quota=Quota(runs_per_hour=3, waiting=2))


class Waiting(Queue):
    """A manager that nobody computes for."""

    def wake(self) -> None:
        """Nothing to wake."""


@pytest.fixture
def store() -> Store:
    return open_store(database_url())


@pytest.fixture
def act(store: Store) -> Callable[[Actor], RunActions]:
    known = AccessSettings(mode=Mode.PUBLIC, limits=LIMITS)
    return lambda actor: RunActions(store, lambda: Waiting(store), actor, known)


@pytest.fixture
def handle(store: Store) -> Callable[[Actor], DatasetActions]:
    return lambda actor: DatasetActions(lambda: store, actor)


@pytest.fixture
def run_of(store: Store) -> Callable[..., str]:
    """Puts a run of somebody into the database."""

    def put(started_by: str, state: RunState = RunState.INTERRUPTED, folds: int = 0) -> str:
        run_id = store.create([SPEC], owner="test", started_by=started_by)[0]
        if state is not RunState.QUEUED:
            store.start(run_id, owner="test")
        for fold in range(folds):
            store.add_fold(run_id, fold_result(fold, 0.3), stopped_at=None)
        if not state.active:
            store.finish(run_id, state)
        return run_id

    return put
