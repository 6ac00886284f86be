"""What a page would do for somebody, called as a forged page would: without looking at buttons."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from ecv_core.access.roles import OWNER
from ecv_core.fold.spec import make_spec
from ecv_core.jobs.plans.study import Cell, cells_of_study
from ecv_core.records.errors import RightsError
from ecv_core.records.run import RunRecord, RunState
from ecv_core.selection.rounds import Terms
from ecv_core.stopping import moments, rule_for
from ecv_core.store.imports import RunFile
from ecv_core.store.listing import Label, label_runs
from ecv_core.store.people import add_lost, people_names
from ecv_core.store.plans import SELECTION, STUDY, PlannedRun, keep_plan, stored_plans
from ecv_core.store.schema import folds, labels
from tests.access.conftest import ADA, BEN, OTHER_VISITOR, SPEC, VERA, VISITOR
from tests.fake_folds import fold_result

EASE = make_spec(dataset="synthetic", algorithm="ease", k=5, rule="never")
TERMS = Terms(k=5, confidence=0.95, indifference=0.0, until="winner", higher_is_better=True)


def an_imported_run():
    run = RunRecord(
        run_id="elsewhere",
        spec=SPEC,
        state=RunState.FINISHED,
        folds=(fold_result(0, 0.31),),
        moments=moments(rule_for(SPEC), [fold_result(0, 0.31)], SPEC.confidence),
        created_at=datetime.now(UTC),
    )
    return RunFile(run=run, name="run.json", made_with={})


def everything(store):
    """All that an action could have changed."""
    with store.transaction("read") as connection:
        written = connection.execute(labels.select()).all()
    return (
        [(run.run_id, run.state, run.spec, run.started_by, run.damaged) for run in store.runs()],
        [store.cancel_requested(run.run_id) for run in store.runs()],
        written,
        stored_plans(store, STUDY),
        stored_plans(store, SELECTION),
    )


@pytest.fixture
def theirs(store, run_of):
    """A run that waits, one that was cut off, a study and a selection, all of Ben."""
    stopped = run_of("ben", RunState.INTERRUPTED, folds=2)
    with store.transaction("written") as connection:
        connection.execute(folds.update().where(folds.c.fold == 1).values(result="{"))
    study = keep_plan(store, STUDY, [PlannedRun(spec=SPEC)], started_by="ben")
    contenders = [
        PlannedRun(name=one, spec=one_spec) for one, one_spec in (("popular", SPEC), ("ease", EASE))
    ]
    selection = keep_plan(
        store,
        SELECTION,
        contenders,
        {
            "k": 5,
            "confidence": 0.95,
            "indifference": 0.0,
            "until": "winner",
            "higher_is_better": True,
        },
        started_by="ben",
    )
    return {
        "waits": run_of("ben", RunState.QUEUED),
        "stopped": stopped,
        "study": study,
        "selection": selection,
    }


ON_THEIRS = {
    "resume": lambda act, of: act.resume(of["stopped"]),
    "check": lambda act, of: act.resume(of["stopped"], full=True),
    "cancel": lambda act, of: act.cancel(of["waits"]),
    "remove": lambda act, of: act.remove([of["stopped"]]),
    "bring back": lambda act, of: act.bring_back([of["stopped"]]),
    "delete": lambda act, of: act.delete(of["stopped"]),
    "delete fold": lambda act, of: act.delete_fold(of["stopped"], 1),
    "label": lambda act, of: act.label({of["stopped"]: Label(name="mine")}),
    "go on with study": lambda act, of: act.go_on_with_study(of["study"]),
    "forget study": lambda act, of: act.forget_plan(STUDY, of["study"]),
    "go on with selection": lambda act, of: act.go_on_with_selection(of["selection"]),
    "forget selection": lambda act, of: act.forget_plan(SELECTION, of["selection"]),
}
ANEW = {
    "import": lambda act, of: act.import_run(an_imported_run()),
    "begin study": lambda act, of: act.begin_study([Cell(spec=SPEC)]),
    "begin selection": lambda act, of: act.begin_selection(
        [("popular", SPEC), ("ease", EASE)], TERMS
    ),
}


def test_nobody_has_folds_computed_where_they_may_not_choose(act, monkeypatch) -> None:
    with pytest.raises(RightsError, match=r"cannot be computed on 'tcp://evil:1' here; .*: here"):
        act(ADA).start([SPEC], compute_on="tcp://evil:1")
    monkeypatch.setenv("ECV_CLUSTER", "local:2")
    assert act(ADA).places == ["local:2", "here"]
    assert act(VISITOR).places == ["local:2"]


@pytest.mark.parametrize("action", ON_THEIRS)
@pytest.mark.parametrize("actor", [ADA, VERA, VISITOR], ids=["editor", "viewer", "visitor"])
def test_what_is_somebody_elses_is_not_changed(store, act, theirs, action, actor):
    before = everything(store)
    with pytest.raises(RightsError):
        ON_THEIRS[action](act(actor), theirs)
    assert everything(store) == before


@pytest.mark.parametrize("action", ANEW)
@pytest.mark.parametrize("actor", [VERA, VISITOR], ids=["viewer", "visitor"])
def test_who_may_not_start_something_starts_nothing(store, act, theirs, action, actor):
    before = everything(store)
    with pytest.raises(RightsError):
        ANEW[action](act(actor), theirs)
    assert everything(store) == before


def test_a_viewer_starts_no_run(store, act):
    with pytest.raises(RightsError, match="you are a viewer here and cannot start runs"):
        act(VERA).start([SPEC])
    assert store.runs() == []


@pytest.mark.parametrize("action", [*ON_THEIRS, *ANEW])
@pytest.mark.parametrize("actor", [BEN, OWNER], ids=["themselves", "the one person"])
def test_the_same_is_done_for_those_who_may(store, act, theirs, action, actor):
    before = everything(store)
    if action == "bring back":
        store.remove([theirs["stopped"]])
    (ON_THEIRS | ANEW)[action](act(actor), theirs)
    assert (everything(store) == before) == (action == "bring back")


def test_cancelling_a_study_leaves_the_runs_of_others_alone(store, act, run_of):
    mine, other = run_of("ada", RunState.QUEUED), run_of("ben", RunState.QUEUED)
    cells = [Cell(spec=SPEC, run=store.run(one)) for one in (mine, other)]
    act(ADA).cancel_study(cells)
    assert store.run(mine).state is RunState.CANCELLED
    assert store.run(other).state is RunState.QUEUED
    with pytest.raises(RightsError):
        act(VERA).cancel_study(cells)


def test_what_is_started_belongs_to_who_started_it(store, act):
    run_id = act(ADA).start([SPEC])
    assert store.run(run_id).started_by == "ada"
    kept, _ = act(ADA).import_run(an_imported_run())
    assert store.run(kept).started_by == "ada"
    study = act(ADA).begin_study([Cell(spec=EASE)])
    (record,) = stored_plans(store, STUDY)
    assert (record.plan_id, record.started_by) == (study, "ada")
    assert [run.started_by for run in store.group(study)] == ["ada"]
    assert people_names(store) == {"ada": "Ada"}


def test_the_folds_of_a_selection_belong_to_who_began_it(store, act):
    selection = act(ADA).begin_selection([("popular", SPEC), ("ease", EASE)], TERMS)
    act(ADA).go_on_with_selection(selection)
    assert [run.started_by for run in store.runs()] == ["ada"]


def test_a_study_takes_what_others_have_finished_and_computes_what_they_have_not(
    store, act, run_of
):
    whole, begun = run_of("ben", RunState.FINISHED, folds=5), run_of("ben", folds=2)
    (cell,) = cells_of_study(store, act(ADA).begin_study([Cell(spec=SPEC)]))
    assert cell.run.run_id == whole
    store.delete(whole)
    (cell,) = cells_of_study(store, act(ADA).begin_study([Cell(spec=SPEC)]))
    assert cell.run.run_id != begun
    assert cell.run.started_by == "ada"
    assert store.run(begun).state is RunState.INTERRUPTED


# -- visitors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"algorithm": "multi-vae"}, "quick algorithms only, and MultiVAE is not one of them"),
        ({"algorithm": "a.module:Code"}, "quick algorithms only"),
        ({"dataset": "amazon-apps-of-2031"}, "not on this machine"),
    ],
    ids=["slow", "code", "dataset"],
)
def test_visitors_run_quick_algorithms_on_what_is_here(store, act, changes, said):
    wanted = replace(SPEC, **changes)
    assert said in act(VISITOR).start_refusal([SPEC, wanted])
    with pytest.raises(RightsError, match=said):
        act(VISITOR).start([SPEC, wanted])
    assert store.runs() == []


def test_a_cheap_model_beside_a_run_must_be_quick_too(act):
    wanted = replace(
        SPEC, rule="precision", rule_params=(("adjust_by", "item-knn"), ("tolerance", 0.3))
    )
    assert "ItemKNN is not one of them" in act(VISITOR).start_refusal([wanted])


def test_a_visitor_starts_so_many_runs_an_hour_and_others_may_go_on(store, act):
    visitor = act(VISITOR)
    for _ in range(3):
        assert visitor.start_refusal([SPEC]) is None
        store.finish(visitor.start([SPEC]), RunState.FINISHED)
    said = "started 3 of the 3 runs"
    assert said in visitor.start_refusal([SPEC])
    with pytest.raises(RightsError, match=said):
        visitor.start([SPEC])
    assert len(store.runs()) == 3
    act(OTHER_VISITOR).start([SPEC])
    act(ADA).start([SPEC] * 4)  # no visitor


def test_the_queue_of_all_visitors_has_an_end(store, act):
    act(OTHER_VISITOR).start([SPEC])
    with pytest.raises(RightsError, match="1 of at most 2 runs are already waiting"):
        act(VISITOR).start([SPEC, EASE])
    act(VISITOR).start([EASE])
    assert len(store.runs()) == 2


def test_a_visitor_goes_on_with_own_runs_until_their_time_is_over(store, act, run_of):
    run_id = run_of(VISITOR.id, RunState.CANCELLED, folds=2)  # of 0.8 s each
    assert act(VISITOR).resume(run_id)
    long = run_of(VISITOR.id, RunState.CANCELLED)
    for fold in range(13):
        store.add_fold(long, fold_result(fold, 0.3), stopped_at=None)
    assert "may take 10 s here" in act(VISITOR).go_on_refusal(store.run(long))
    with pytest.raises(RightsError, match="may take 10 s here"):
        act(VISITOR).resume(long)
    with pytest.raises(RightsError, match="belongs to somebody else"):
        act(OTHER_VISITOR).resume(run_id)
    with pytest.raises(RightsError, match="belongs to somebody else"):
        act(OTHER_VISITOR).cancel(run_id)
    act(VISITOR).cancel(run_id)
    assert store.run(run_id).state is RunState.CANCELLED


def test_what_is_resumed_counts_like_what_is_started(store, act, run_of):
    visitor, run_id = act(VISITOR), run_of(VISITOR.id, RunState.CANCELLED)
    for _ in range(3):
        assert visitor.resume(run_id)
        store.request_cancel(run_id)
    assert "started 3 of the 3 runs" in visitor.go_on_refusal(store.run(run_id))
    with pytest.raises(RightsError, match="may start or resume within an hour"):
        visitor.resume(run_id)
    with pytest.raises(RightsError, match="may start or resume within an hour"):
        visitor.start([SPEC])
    store.delete(run_id)  # and deleting gives nothing back
    assert "started 3 of the 3 runs" in visitor.start_refusal([SPEC])


def test_seconds_of_folds_that_were_cut_off_count(store, act, run_of):
    run_id = run_of(VISITOR.id, RunState.CANCELLED, folds=2)  # of 0.8 s each
    assert act(VISITOR).go_on_refusal(store.run(run_id)) is None
    add_lost(store, [run_id, "another"], 17)  # that two runs have shared
    assert "may take 10 s here" in act(VISITOR).go_on_refusal(store.run(run_id))


def test_labels_of_ones_own_are_written(store, act, run_of):
    run_id = run_of("ada")
    act(ADA).label({run_id: Label(name="mine")})
    label_runs(store, {})
    with store.transaction("read") as connection:
        assert [row.name for row in connection.execute(labels.select())] == ["mine"]
