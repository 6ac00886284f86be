"""The pages that change something, as a visitor, a viewer, an editor and the one person see them.

What is not for them to do is not there, or says why; that it would be refused is in
tests/access.
"""

import ast
import time
from dataclasses import replace
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from ecv_core.access.settings import visitor
from ecv_core.dataset import own
from ecv_core.dataset.own.recognise import recognise
from ecv_core.dataset.plain import no_report
from ecv_core.fold.spec import make_spec
from ecv_core.records.run import RunState
from ecv_core.store.people import introduce
from ecv_core.store.plans import SELECTION, STUDY, PlannedRun, keep_plan
from ecv_core.store.quota import Quota
from pages.shared.live.person import who
from tests.pages.conftest import ISSUER, WHO, fold_result

PAGES = Path(__file__).resolve().parents[2] / "pages"
SPEC = make_spec(dataset="synthetic", algorithm="popular", k=5, rule="never")
EASE = make_spec(dataset="synthetic", algorithm="ease", k=5, rule="never")
ROWS = "\n".join(["user,item", *(f"u{user},i{item}" for user in range(6) for item in range(6))])
everybody = pytest.mark.parametrize("who", WHO)


def opened(app, page, **query):
    for name, value in query.items():
        app.query_params[name] = value
    if page != "run":
        app.switch_page(f"{page}/{page}.py")
    app.run()
    assert not app.exception
    return app


def buttons(app):
    """Label -> whether it can be pressed."""
    return {one.label: not one.disabled for one in app.button}


def said(app):
    kinds = ("markdown", "caption", "info", "warning", "error")
    return " ".join(one.value for kind in kinds for one in app.get(kind))


def a_run(store, started_by, state=RunState.INTERRUPTED):
    run_id = store.create([SPEC], owner="test", started_by=started_by)[0]
    if state is not RunState.QUEUED:
        store.start(run_id, owner="test")
    if not state.active:
        store.finish(run_id, state)
    return run_id


@everybody
def test_run_starts_for_those_who_may(as_one, store, who):
    app = opened(as_one(who), "run")
    assert buttons(app)["Start"] is (who != "viewer")
    assert ("a viewer" in said(app)) is (who == "viewer")
    assert ("Press **Start**" in said(app)) is (who != "viewer")
    if who == "viewer":
        return
    app.button(key="start").click().run()
    assert [run.started_by for run in store.runs()] == [WHO[who]]


def test_a_visitor_is_told_what_is_not_for_visitors_before_the_press(as_one, store):
    app = opened(as_one("visitor"), "run", algorithm="MultiVAE")
    assert buttons(app)["Start"] is False
    assert "MultiVAE is not one of them; choose from\\: Popularity, ItemKNN" in said(app)
    spec = store.run(a_run(store, WHO["visitor"], RunState.FINISHED)).spec
    quota = Quota(runs_per_hour=10, waiting=10)
    for _ in range(10):
        (run_id,) = store.create([spec], owner="x", started_by=WHO["visitor"], quota=quota)
        store.finish(run_id, RunState.FINISHED)
    app = opened(as_one("visitor"), "run", algorithm="Popularity")
    assert buttons(app)["Start"] is False
    assert "You have started 10 of the 10 runs" in said(app)


@everybody
@pytest.mark.parametrize("mine", [True, False], ids=["own", "other"])
def test_an_opened_run_is_gone_on_with_and_cancelled_by_whose_it_is(as_one, store, who, mine):
    introduce(store, f"{ISSUER}#ben", "Ben")
    other = visitor("t" * 32).id if who == "visitor" else f"{ISSUER}#ben"
    started_by = WHO[who] if mine else other
    allowed = who == "one person" or (mine and who != "viewer")
    app = opened(as_one(who), "run", run=a_run(store, started_by))
    assert buttons(app).get("Resume", False) is allowed
    assert ("Started by Ben." in said(app)) is (not mine and who in ("viewer", "editor"))
    assert ("Started by you." in said(app)) is (mine and who != "one person")
    waiting = a_run(store, started_by, RunState.QUEUED)
    app = opened(as_one(who), "run", run=waiting)
    assert ("Cancel" in buttons(app)) is allowed


def test_a_visitor_whose_run_has_had_its_time_is_told_so_beside_the_button(as_one, store):
    run_id = a_run(store, WHO["visitor"], RunState.CANCELLED)
    store.add_fold(
        run_id, replace(fold_result(0, 0.3, "none"), total_seconds=61.0), stopped_at=None
    )
    app = opened(as_one("visitor"), "run", run=run_id)
    assert buttons(app)["Resume"] is False
    assert "60 s" in app.button(key="resume").help


@everybody
def test_runs_lets_change_what_may_be_changed(as_one, store, who):
    mine, other = a_run(store, WHO[who]), a_run(store, f"{ISSUER}#ben")
    app = as_one(who)
    app.session_state["runs-picked"] = [mine, other]
    shown = buttons(opened(app, "runs"))
    assert shown["Compare 2 runs"]
    resume, delete = {
        "visitor": ("Resume", None),
        "viewer": (None, None),
        "editor": ("Resume", "Delete"),
        "one person": ("Resume 2 runs", "Delete 2 runs"),
    }[who]
    assert [label for label in shown if label.startswith("Resume")] == [resume] * bool(resume)
    assert [label for label in shown if label.startswith("Delete")] == [delete] * bool(delete)
    editing = who in ("editor", "one person")
    assert bool(app.file_uploader) is editing  # Import a run
    assert any(str(one.key).startswith("tags-") for one in app.multiselect) is editing
    if editing:
        app.button(key="delete-picked").click().run()
        assert [run.run_id for run in store.runs()] == ([other] if who == "editor" else [])


@everybody
def test_data_takes_files_from_those_who_may_and_keeps_others_off(
    as_one, who, tmp_path, monkeypatch
):
    monkeypatch.setenv("ECV_DATA_DIR", str(tmp_path / "data"))
    token = own.take_in(lambda path: path.write_text(ROWS), "shop.csv")
    plain = own.taken_in(token)
    own.build_dataset(plain, recognise(plain).layout, own.folder_of(token), no_report)
    own.keep(own.folder_of(token), "shop", added_by=f"{ISSUER}#ben")
    app = opened(as_one(who), "data")
    editing = who in ("editor", "one person")
    assert bool(app.file_uploader) is editing
    assert ("cannot upload files" in said(app)) is not editing
    assert ("Delete it" in buttons(app)) is (who == "one person")
    assert "Run one algorithm" in buttons(app)
    forged = opened(as_one(who), "data", file=token)
    assert bool(forged.dataframe) is False  # of a file that was kept, or is not theirs to see


@everybody
def test_studies_are_started_and_gone_on_with_by_those_who_may(as_one, store, who):
    a_run(store, f"{ISSUER}#ben")
    study = keep_plan(store, STUDY, [PlannedRun(spec=SPEC)], started_by=f"{ISSUER}#ben")
    app = opened(as_one(who), "studies", study=study)
    shown = buttons(app)
    assert ("Start the study" in shown) is (who in ("editor", "one person"))
    assert ("cannot start studies or selections" in said(app)) is (who in ("visitor", "viewer"))
    for label in ("Resume", "Remove from the list"):
        assert (label in shown) is (who == "one person")


@everybody
def test_which_is_best_is_started_and_gone_on_with_by_those_who_may(as_one, store, who):
    contenders = [PlannedRun(name="popular", spec=SPEC), PlannedRun(name="ease", spec=EASE)]
    terms = {"k": 5, "confidence": 0.95, "indifference": 0.0, "until": "winner"}
    terms |= {"higher_is_better": True}
    selection = keep_plan(store, SELECTION, contenders, terms, started_by=f"{ISSUER}#ben")
    app = opened(as_one(who), "best", selection=selection)
    shown = buttons(app)
    for label in ("Resume", "Remove from the list"):
        assert (label in shown) is (who == "one person")
    assert ("cannot start studies or selections" in said(app)) is (who in ("visitor", "viewer"))
    assert ("Your file of scores" in shown) is (who in ("editor", "one person"))
    app = opened(as_one(who), "best", selection="file")
    assert bool(app.file_uploader) is (who in ("editor", "one person"))


def test_no_scores_are_uploaded_by_a_visitor(as_one):
    app = opened(as_one("visitor"), "folds", source="My file")
    assert not app.file_uploader
    assert "visitors cannot upload files" in said(app)


def test_what_one_may_do_is_on_a_page_of_its_own(as_one):
    app = opened(as_one("visitor"), "account")
    assert "10 an hour; you can start 10 more runs now" in said(app)
    app = opened(as_one("editor"), "account")
    assert "You are an **editor**" in said(app)
    assert "or as `ada`" in said(app)  # the subject, which a list can name
    assert "Sign out" in buttons(app)


def test_a_browser_that_keeps_no_cookie_is_another_visitor_each_time(monkeypatch):
    monkeypatch.setenv("ECV_MODE", "public")
    visitors = set()
    for _ in range(2):  # a page that is loaded anew has a new session
        monkeypatch.setattr(st, "session_state", {})
        visitors.add(who().id)
    assert len(visitors) == 2


@pytest.mark.parametrize("page", ["run", "runs", "data", "studies", "best"])
@pytest.mark.parametrize("mode", ["team", "pubic"])
def test_a_page_that_is_run_on_its_own_shows_nobody_anything(mode, page, monkeypatch):
    monkeypatch.setenv("ECV_MODE", mode)
    if mode == "team":
        monkeypatch.setenv("ECV_EDITORS", "ada")
    app = AppTest.from_file(str(PAGES / page / f"{page}.py"), default_timeout=30)
    app.user = {"is_logged_in": False}
    app.run()
    assert not app.exception
    assert said(app) == ("" if mode == "team" else said_of_the_mode())
    assert [app.title, app.button, app.file_uploader] == [[], [], []]


def said_of_the_mode():
    return "ECV\\_MODE must be 'public' or 'team', or not set for one person, but is 'pubic'."


def test_who_is_not_signed_in_or_on_no_list_sees_no_page_nor_does_anybody_in_a_wrong_mode(
    as_one, monkeypatch
):
    app = as_one("viewer")
    app.user = {"is_logged_in": False}
    app.run()
    assert list(buttons(app)) == ["Sign in"]
    app = as_one("viewer")
    monkeypatch.setenv("ECV_VIEWERS", "carl")
    app.run()
    assert list(buttons(app)) == ["Sign out"]
    assert "who is on no list here" in said(app)
    app = as_one("viewer")
    monkeypatch.setenv("ECV_MODE", "pubic")
    app.run()
    assert not app.button
    assert said(app) == said_of_the_mode()
    app = as_one("viewer")
    app.user = {**app.user, "iat": time.time() - 3601}
    app.run()
    assert list(buttons(app)) == ["Sign in"]
    app = as_one("viewer")
    app.user = {}  # Streamlit knows of no provider
    app.run()
    assert "needs a provider of OpenID Connect" in said(app)
    assert not app.button


CHANGES = {
    *("create", "requeue", "request_cancel", "remove", "bring_back", "delete", "add_fold"),
    *("label_runs", "import_run", "keep_plan", "forget_plan", "begin", "go_on", "leave_queue"),
    *("compute", "drive", "queue", "finish", "add_progress", "take_in", "build_dataset"),
    *("keep", "download", "start", "resume", "cancel", "forget"),
}
"""What changes something, by its name in the library."""
ASKED = {"run_actions", "dataset_actions", "person"}
ASKED |= {"background_work"}  # tasks of the server
ASKED |= {"STUDIES"}  # a form, which asks `run_actions()` itself


def test_no_page_changes_anything_but_by_asking_for_it():
    """Calls of such names are of `run_actions()` or `dataset_actions()`, and none is imported."""
    found = []
    for path in PAGES.rglob("*.py"):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ecv_core"):
                found += [(path.name, one.name) for one in node.names if one.name in CHANGES]
            if not isinstance(node, ast.Call):
                continue
            called = node.func
            name = getattr(called, "attr", None)
            if name in CHANGES:
                whose = ast.unparse(called.value)
                if whose.removesuffix("()") not in ASKED:
                    found.append((path.name, f"{whose}.{name}"))
    assert found == []
