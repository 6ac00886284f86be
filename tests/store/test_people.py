"""Who started what: and what holds when several start at once."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from ecv_core.records.errors import RightsError
from ecv_core.records.run import RunState
from ecv_core.records.spec import RunSpec
from ecv_core.store.people import introduce, people_names, starters, used_by
from ecv_core.store.quota import Quota

SPEC = RunSpec(dataset="synthetic", algorithm="popular", k=5, rule="never")


def test_a_run_says_who_started_it(store):
    mine = store.create([SPEC, SPEC], owner="me", started_by="ada")
    (other,) = store.create([SPEC], owner="me")
    assert [store.run(one).started_by for one in (*mine, other)] == ["ada", "ada", ""]
    assert starters(store, [*mine, "nothing"]) == dict.fromkeys(mine, "ada")
    assert store.requeue(other, SPEC, owner="another") is False
    assert store.run(other).started_by == ""


@pytest.mark.parametrize(
    "quota", [Quota(runs_per_hour=3, waiting=99), Quota(runs_per_hour=99, waiting=3)]
)
def test_who_presses_in_many_tabs_at_once_gets_no_more(store, quota):
    together = Barrier(8)

    def press(_):
        together.wait()
        try:
            store.create([SPEC], owner="me", started_by="visitor", quota=quota)
        except RightsError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(press, range(8))) == 3
    assert len(store.runs()) == 3


def test_what_is_refused_is_not_queued_in_part(store):
    quota = Quota(runs_per_hour=2, waiting=9)
    with pytest.raises(RightsError, match="this would add 3 more"):
        store.create([SPEC] * 3, owner="me", started_by="visitor", quota=quota)
    assert store.runs() == []
    store.create([SPEC] * 2, owner="me", started_by="visitor", quota=quota)
    assert used_by(store, "visitor").started == 2
    assert used_by(store, "another").started == 0
    assert used_by(store, "another").waiting == 2
    for run in store.runs():
        store.finish(run.run_id, RunState.FINISHED)
    assert used_by(store, "visitor").waiting == 0


def test_people_are_called_as_they_are_called_now(store):
    introduce(store, "id#1", "Ada")
    introduce(store, "id#1", "Ada L.")
    introduce(store, "id#2", "Ben")
    assert people_names(store) == {"id#1": "Ada L.", "id#2": "Ben"}
