"""Plans are found again by whoever opens the database next; removing one keeps its runs."""

import pytest

from ecv_core.records.errors import InputError
from ecv_core.records.spec import RunSpec
from ecv_core.store.plans import (
    SELECTION,
    STUDY,
    PlannedRun,
    forget_plan,
    keep_plan,
    plan_behind,
    stored_plan,
    stored_plans,
)
from ecv_core.store.store import open_store


def planned(algorithm="popular", name=""):
    spec = RunSpec(dataset="synthetic", algorithm=algorithm, params=(("a", 1),))
    return PlannedRun(spec=spec, name=name)


def test_a_plan_comes_back_as_it_was_kept():
    runs = [planned(name="one"), planned("ease", "other")]
    terms = {"k": 5, "confidence": 0.95, "until": "winner", "recorded": True}
    plan_id = keep_plan(open_store(), SELECTION, runs, terms, started_by="ada")
    found = stored_plan(open_store(), SELECTION, plan_id)
    assert (found.plan_id, found.kind, found.started_by) == (plan_id, SELECTION, "ada")
    assert found.content.runs == tuple(runs)
    assert found.content.terms == terms


def test_the_newest_of_a_kind_comes_first_and_other_kinds_not_at_all():
    store = open_store()
    first, second = (keep_plan(store, STUDY, [planned()]) for _ in range(2))
    other = keep_plan(store, SELECTION, [planned()])
    assert [plan.plan_id for plan in stored_plans(store, STUDY)] == [second, first]
    assert [plan.plan_id for plan in stored_plans(store, SELECTION)] == [other]


def test_the_runs_of_a_plan_lead_to_it():
    store = open_store()
    plan_id = keep_plan(store, STUDY, [planned()])
    (run_id,) = store.create([planned().spec], owner="me", plan_id=plan_id)
    alone = store.create([planned().spec], owner="me")[0]
    assert plan_behind(store, store.run(run_id).group).plan_id == plan_id
    assert plan_behind(store, store.run(alone).group) is None


def test_a_forgotten_plan_is_gone_and_its_runs_are_not():
    store = open_store()
    plan_id = keep_plan(store, STUDY, [planned()])
    (run_id,) = store.create([planned().spec], owner="me", plan_id=plan_id)
    forget_plan(store, plan_id)
    assert stored_plans(store, STUDY) == []
    assert store.run(run_id).run_id == run_id


@pytest.mark.parametrize("kind", [STUDY, SELECTION])
def test_an_unknown_plan_or_one_of_another_kind_is_one_clear_sentence(kind):
    store = open_store()
    other = keep_plan(store, STUDY if kind == SELECTION else SELECTION, [planned()])
    for plan_id in ("nope", other):
        with pytest.raises(InputError, match=f"there is no {kind} '{plan_id}' here; it may have"):
            stored_plan(store, kind, plan_id)
