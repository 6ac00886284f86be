"""A run is found by its id, the beginning of its id, or its name among the recorded ones."""

import pytest

from ecv_core.cli import main
from ecv_core.fold.spec import make_spec
from ecv_core.records.errors import InputError
from ecv_core.store import store as stores
from ecv_core.store.lookup import find_run, full_id, full_plan_id
from ecv_core.store.plans import SELECTION, STUDY, keep_plan
from ecv_core.store.store import open_store


@pytest.fixture
def store(monkeypatch):
    """A database with three runs, two of whose ids begin alike."""
    ids = iter(["ab12", "ab34", "cd56"])
    monkeypatch.setattr(stores, "new_run_id", lambda: next(ids))
    store = open_store()
    for seed in range(3):
        store.create(
            [make_spec(dataset="synthetic", algorithm="popular", k=3, seed=seed)], owner="test"
        )
    return store


@pytest.mark.parametrize(("name", "run_id"), [("cd56", "cd56"), ("c", "cd56"), ("ab3", "ab34")])
def test_a_run_is_found_by_an_unambiguous_beginning_of_its_id(store, name, run_id):
    assert full_id(store, name) == run_id
    assert find_run(name).run_id == run_id


def test_a_beginning_of_several_ids_names_them(store):
    with pytest.raises(InputError, match=r"2 runs begin with 'ab' \(ab12, ab34\)"):
        full_id(store, "ab")


def test_no_id_is_no_beginning(store):
    with pytest.raises(InputError, match="empty"):
        full_id(store, "")


def test_a_deleted_run_is_not_in_the_way(store):
    store.request_cancel("ab12")
    store.remove(["ab12"])
    assert full_id(store, "ab") == "ab34"


def test_a_plan_is_found_by_the_beginning_of_its_id(store):
    plan_id = keep_plan(store, SELECTION, [])
    assert full_plan_id(store, SELECTION, plan_id[:4]) == plan_id
    assert full_plan_id(store, STUDY, plan_id[:4]) == plan_id[:4]


def test_a_recorded_run_is_found_by_its_name(store):
    run = find_run("ml-100k--popular")
    assert (run.spec.dataset, run.spec.algorithm) == ("ml-100k", "popular")


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "ab"],
        ["export", "ab"],
        ["delete", "ab"],
        ["resume", "ab"],
        ["report", "ab"],
        ["compare", "ab", "cd"],
        ["gate", "ab", "cd"],
        ["figure", "ab", "--kind", "efold", "--out", "figure.pdf"],
        ["ask", "ab"],
        ["tell", "ab", "0", "--score", "0.5"],
    ],
)
def test_every_command_says_that_a_beginning_is_ambiguous(
    store, arguments, capsys, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert "begin with 'ab'" in capsys.readouterr().err
