"""A file of one's own on the page: dropped, corrected, kept, deleted; and its runs."""

from __future__ import annotations

import os

import pytest
from streamlit.testing.v1 import AppTest

from ecv_core import dataset as datasets
from ecv_core.dataset import own
from ecv_core.dataset.plain import no_report
from ecv_core.records.tasks import Task
from ecv_core.store.plans import SELECTION, stored_plans
from pages.best.start import SENSIBLE
from tests.pages.conftest import APP

ROWS = [f"u{user};i{item};{item % 5},5" for user in range(6) for item in range(6)]
CONTENT = "\n".join(["Kunde;Artikel;Bewertung", *ROWS, ";i1;3", "u1;i1;gut"]).encode("latin-1")


@pytest.fixture
def page(app, tmp_path, monkeypatch):
    monkeypatch.setenv("ECV_DATA_DIR", str(tmp_path / "data"))
    app.run()
    return app.switch_page("data/data.py").run()


def button(app, label):
    return next(one for one in app.button if one.label == label)


def texts(app):
    return " ".join(one.value for kind in ("markdown", "caption") for one in app.get(kind))


def dropped(page, content=CONTENT, name="Mein Laden.csv"):
    page.file_uploader[0].upload(name, content, "text/csv").run()
    assert not page.exception
    return page


def test_a_dropped_file_is_recognised_counted_and_kept(page):
    dropped(page)
    chosen = {one.label: one.value for one in page.selectbox}
    assert (chosen["User (needed)"], chosen["Item (needed)"], chosen["Rating"]) == (0, 1, 2)
    assert (chosen["Time"], chosen["Basket"], chosen["Separator"]) == (None, None, ";")
    preview = page.dataframe[0].value
    assert list(preview.columns) == ["Kunde → User", "Artikel → Item", "Bewertung → Rating"]
    assert len(preview) == 5
    assert "**36** of **38** rows: 6 users and 6 items. 2 rows cannot be used:" in texts(page)
    reasons = page.dataframe[1].value
    assert reasons["rows"].tolist() == [1, 1]
    assert reasons["why"].tolist()[0] == "no user"
    assert reasons["the first"].tolist() == [
        "row 37: user '', item 'i1', rating '3'",
        "row 38: user 'u1', item 'i1', rating 'gut'",
    ]
    shown = {one.label: one.value for one in page.metric}
    assert shown == {"Users": "6", "Items": "6", "Interactions": "36", "Density": "100.00\u00a0%"}
    assert page.text_input[0].value == "mein-laden"
    button(page, "Keep it").click().run()
    assert "**mein-laden** is a dataset now" in page.success[0].value
    assert datasets.entry("mein-laden").interactions == 36
    assert page.query_params == {"kept": "mein-laden"}


def test_a_table_that_was_kept_leads_there_with_what_classifies_it(page, store):
    rows = [f"{row % 7},{row % 3},{'yes' if row % 7 > 2 else 'no'}" for row in range(60)]
    dropped(page, "\n".join(["size,colour,target", *rows]).encode(), "pets.csv")
    button(page, "Keep it").click().run()
    assert not page.exception
    button(page, "Which is best on it?").click().run()
    assert not page.exception
    (kept,) = stored_plans(store, SELECTION)
    assert [run.name for run in kept.content.runs] == list(SENSIBLE[Task.CLASSES])
    assert {run.spec.dataset for run in kept.content.runs} == {"pets"}


def test_what_was_kept_leads_to_which_is_best_on_it(page, store):
    dropped(page)
    button(page, "Keep it").click().run()
    assert "5 to 50 folds will take about " in texts(page)  # five contenders, one to ten each
    assert "on another machine" in texts(page)
    button(page, "Which is best on it?").click().run()
    assert not page.exception
    (kept,) = stored_plans(store, SELECTION)
    assert [run.name for run in kept.content.runs] == list(SENSIBLE[Task.TOP_N])
    assert {(run.spec.dataset, run.spec.n) for run in kept.content.runs} == {("mein-laden", 6)}
    assert kept.content.terms["expected_loss"] == 0.001
    (first,) = store.runs()  # the first fold waits already
    assert first.spec.only_folds == (0,)


def test_what_to_drop_is_said_until_a_file_is_there(page):
    assert "Drop a file of interactions" in texts(page)
    said = texts(dropped(page))
    assert "Drop a file of interactions" not in said
    assert "The first 5 rows, as read." in said


def test_german_dates_are_read_and_a_tenth_lost_is_no_primary_button(page):
    rows = [f"u{user};i{item};22.01.2023 16:37" for user in range(6) for item in range(6)]
    dropped(page, "\n".join(["Kunde;Artikel;Datum", *rows, *["u1;i1;gestern"] * 5]).encode())
    unit = next(one for one in page.selectbox if one.label == "Times are")
    assert unit.value == "day-first"
    said = texts(page).replace("\\", "")
    assert "36 of the first 41 rows have a time (dates, day first: 22.01.2023): " in said
    assert "22.01.2023 16:37 is 22 January 2023, 16:37 UTC." in said
    warned = page.warning[0].value.replace("\\", "")
    assert "5 of 41 rows (12 %)" in warned
    assert button(page, "Keep only the 36 rows").proto.type == "secondary"
    next(one for one in page.selectbox if one.label == "Time").select_index(0).run()
    assert not page.warning
    assert button(page, "Keep it").proto.type == "primary"


def test_a_correction_is_read_at_once_and_outlives_a_reload(page):
    dropped(page)
    token = page.query_params["file"]
    rating = next(one for one in page.selectbox if one.label == "Rating")
    rating.select_index(0).run()
    assert "**36** of **38** rows" in texts(page)  # 'gut' is no reason any more, but repeats a pair
    assert page.dataframe[1].value["why"].tolist()[1].startswith("a repeated user and item")
    again = AppTest.from_file(APP, default_timeout=30).run()  # as another session does
    again.switch_page("data/data.py")
    again.query_params["file"] = token
    again.run()
    rating = next(one for one in again.selectbox if one.label == "Rating")
    assert rating.value is None
    header = next(one for one in again.toggle if "names the columns" in one.label)
    header.set_value(False).run()
    assert again.dataframe[0].value.iloc[0].tolist() == ["Kunde", "Artikel", "Bewertung"]
    button(again, "Another file").click().run()
    assert len(again.file_uploader) == 1
    assert os.listdir(datasets.data_dir() / "added") == []


def test_what_lacks_an_item_asks_for_it(page):
    dropped(page)
    item = next(one for one in page.selectbox if one.label == "Item (needed)")
    item.select_index(0).run()
    assert "Say which column is the item." in page.warning[0].value
    assert len(page.metric) == 0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"PK\x05\x06" + b"\0" * 18, "it is not text"),
        (b"\x89PNG\r\n\0\0", "it is not text"),
        (b"one\ntwo\n", "it has one column"),
    ],
)
def test_a_wrong_file_is_one_sentence_and_a_way_back(page, content, said):
    dropped(page, content, "wrong.bin")
    assert any(word in page.error[0].value for word in said.split("|"))
    button(page, "Another file").click().run()
    assert not page.error
    assert len(page.file_uploader) == 1


@pytest.mark.parametrize("token", ["0" * 32, "../../etc", "x"])
def test_an_address_that_leads_nowhere_says_so(page, token):
    page.query_params["file"] = token
    page.run()
    assert not page.exception
    assert "drop it again" in page.error[0].value
    button(page, "Another file").click().run()
    assert not page.exception


def test_a_name_that_is_taken_is_refused_beside_the_form(page):
    dropped(page)
    page.text_input[0].set_value("synthetic")
    button(page, "Keep it").click().run()
    assert "there is a dataset 'synthetic' already" in page.error[0].value.lower()
    assert own.added() == {}


@pytest.fixture
def shop(page, tmp_path):
    path = tmp_path / "shop.csv"
    path.write_bytes(CONTENT)
    own.add_file("shop", path, {}, no_report)
    return page.run()


def test_a_kept_dataset_is_deleted(shop):
    assert "6 users · 6 items · 36 interactions" in texts(shop)
    assert "No run has used it." in texts(shop)
    button(shop, "Delete it").click().run()
    assert own.added() == {}


def test_its_run_says_when_the_data_is_gone(shop, a_run):
    run = a_run([0.5, 0.6], dataset="shop", k=3, n=5)
    assert run.spec.data_sha256 == own.added()["shop"].sha256
    assert "1 run used it" in texts(shop.run())
    opened = shop.switch_page("run/run.py")
    opened.query_params["run"] = run.run_id
    opened.run()
    assert not opened.warning
    own.remove("shop")
    opened.run()
    assert "is no longer here" in opened.warning[0].value
    assert not opened.exception


def test_run_and_splits_offer_to_add_data(app):
    app.run()
    links = [one for one in app.get("page_link") if one.proto.label == "Add your data"]
    assert len(links) == 1


def test_the_page_says_how_much_the_server_takes(monkeypatch):
    for asked, megabytes in (("7", 7), ("", 200)):
        monkeypatch.setenv("ECV_MAX_UPLOAD_MB", asked)
        app = AppTest.from_file(APP, default_timeout=30).run()
        app.switch_page("data/data.py").run()
        assert app.file_uploader[0].proto.max_upload_size_mb == megabytes
    monkeypatch.setenv("ECV_MAX_UPLOAD_MB", "lots")
    app = AppTest.from_file(APP, default_timeout=30).run()
    app.switch_page("data/data.py").run()
    assert not app.exception
    assert "must be a whole number of megabytes" in app.error[0].value


def test_a_large_file_is_read_when_asked_for(page, monkeypatch):
    monkeypatch.setattr("pages.data.dropped.MOST_BYTES_UNASKED", 100)
    dropped(page)
    assert len(page.metric) == 0
    button(page, "Read the file (0 MB)").click().run()
    assert len(page.metric) == 4
    assert not any(one.label == "Cancel" for one in page.button)


def test_returns_and_users_who_are_hardly_people_can_be_left_out(page):
    rows = [f"u{user},i{item},2" for user in range(60) for item in range(6)]
    rows += [f"crawler,i{item},1" for item in range(90)]
    dropped(page, "\n".join(["user,item,quantity", "u1,i9,-1", *rows]).encode(), "sales.csv")
    assert "**451** of **451** rows" in texts(page)
    returns = next(one for one in page.toggle if "quantity of 0 or less" in one.label)
    returns.set_value(True).run()
    assert "**450** of **451** rows" in texts(page)
    button(page, "Leave out such users").click().run()
    assert "**360** of **451** rows" in texts(page)
    button(page, "Use every user").click().run()
    assert "**450** of **451** rows" in texts(page)
    assert not page.exception
