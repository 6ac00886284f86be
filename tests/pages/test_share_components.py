"""What leaves and enters through the pages: the table behind a chart, reports, links, imports."""

import json

import pytest
from streamlit.testing.v1 import AppTest

from ecv_core.store.document import run_document
from ecv_core.store.store import open_store
from pages.run.details import _document, _report
from pages.shared.address.link import params_of_widgets
from pages.shared.widgets.tables import file_name

SCORES = [0.30, 0.31, 0.305, 0.3075]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("item-knn on ml-100k figure 1", "e-fold-item-knn-on-ml-100k-figure-1"),
        ("../../etc/passwd", "e-fold-etc-passwd"),
        ('a"b<c>|d:e*f?', "e-fold-a-b-c-d-e-f"),
        ("über", "e-fold-ber"),
        ("...", "e-fold"),
        ("x" * 500, "e-fold-" + "x" * 120),
    ],
)
def test_file_names_fit_every_system(words, expected):
    assert file_name(words) == expected


def one_chart():
    import pandas as pd
    import plotly.graph_objects as go
    import streamlit as st

    from pages.shared.charts.plot import plot

    def table():
        st.session_state["made"] = st.session_state.get("made", 0) + 1
        return pd.DataFrame({"n": [1, 2], "score": [0.3, 0.4]})

    plot(
        lambda dark: go.Figure(layout={"height": 300}),
        cache_key=1,
        key="chart",
        alt="a sentence",
        name="my chart",
        table=table,
    )


def test_the_table_behind_a_chart_is_made_when_it_is_opened():
    app = AppTest.from_function(one_chart).run()
    assert not app.exception
    assert not app.dataframe
    assert "made" not in app.session_state
    app.session_state["chart-table"] = True
    app.run()
    assert app.dataframe[0].value["score"].tolist() == [0.3, 0.4]


def test_a_chart_is_saved_under_the_name_it_was_given():
    app = AppTest.from_function(one_chart).run()
    data = json.loads(app.get("bidi_component")[0].proto.json)
    assert (data["name"], data["caption"]) == ("e-fold-my-chart", "my chart")


def test_the_report_and_the_document_of_a_run_say_what_it_was_made_with(a_run):
    run = a_run(SCORES, stopped_at=4)
    assert "<h1>ItemKNN on Synthetic</h1>" in _report(run)
    document = json.loads(_document(run))
    assert document["run_id"] == run.run_id
    assert document["made_with"]["python"]


def choices():
    import streamlit as st

    from pages.shared.address.link import params_of_widgets

    st.multiselect("d", ["a", "b"], default=["a", "b"], key="d")
    st.selectbox("one", ["x", "y"], key="one")
    st.session_state["found"] = params_of_widgets("d", "one", "not-there")


def test_a_link_names_what_is_at_its_default_too():
    app = AppTest.from_function(choices).run()
    assert app.session_state["found"] == {"d": ["a", "b"], "one": ["x"]}
    assert params_of_widgets("not-there") == {}


@pytest.fixture
def history(app):
    app.switch_page("runs/runs.py").run()
    assert not app.exception
    return app


def upload(app, content, name="from-anna.json"):
    app.file_uploader(key="import-file").set_value((name, content, "application/json")).run()
    assert not app.exception
    return app


def exported(a_run, store, **settings):
    """A run that was computed in an installation that is gone."""
    run = a_run([*SCORES, 0.306], stopped_at=5, k=5, rule="never", **settings)
    store.delete(run.run_id)
    return run, json.dumps(run_document(run)).encode()


def test_a_run_is_imported_and_its_page_says_where_it_came_from(history, app, a_run, store):
    run, content = exported(a_run, store)
    upload(history, content)
    assert "Imported, and marked as such." in [one.value for one in history.success]
    assert open_store().run(run.run_id).folds == run.folds
    app.query_params["run"] = run.run_id
    app.switch_page("run/run.py").run()
    assert not app.exception
    said = [one.value for one in app.caption if one.value.startswith("Imported on")]
    assert len(said) == 1
    assert "from-anna.json" in said[0]


def test_only_an_imported_run_is_marked_in_history(history, a_run, store):
    _, content = exported(a_run, store)
    a_run(SCORES)
    upload(history, content)
    history.run()
    assert sorted(history.dataframe[0].value["from"]) == ["", "imported"]


def test_importing_again_says_so(history, a_run, store):
    _, content = exported(a_run, store)
    upload(history, content)
    upload(history, content, "again.json")
    assert "This run is here already." in [one.value for one in history.info]
    assert len(open_store().runs()) == 1


def test_a_foreign_file_is_a_sentence_and_nothing_is_kept(history):
    upload(history, b"{}", "<b>cake</b>.json")
    (error,) = history.error
    assert "cake" in error.value
    assert "<b>" not in error.value.replace("\\<", "")
    assert open_store().runs() == []


def test_a_run_on_data_that_is_not_here_can_be_looked_at_and_leads_back_to_the_form(
    history, app, a_run, store
):
    _, content = exported(a_run, store)
    upload(history, content.replace(b'"synthetic"', b'"their-shop"'))
    (run,) = open_store().runs()
    app.query_params["run"] = run.run_id
    app.switch_page("run/run.py").run()
    assert not app.exception
    assert app.title[0].value == "ItemKNN on their-shop"
    app.session_state["paper-run"] = True
    app.run()
    assert not [one for one in app.get("download_button") if "folds of" in one.proto.label]
    assert "their-shop is not on this machine" in " ".join(one.value for one in app.caption)
    next(one for one in app.button if one.label == "New run").click().run()
    assert not app.exception
    assert not app.error
