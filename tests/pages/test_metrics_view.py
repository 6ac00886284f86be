"""The view Metrics and parameters: the answer first, then curves and tables."""

from streamlit.testing.v1 import AppTest

from ecv_core.selection.tuning.metrics_study import study_metrics
from ecv_core.store.configurations import recorded_tuning


def section():
    from pages.shared.live.state import errors_as_sentences
    from pages.studies.metrics_view import show_metrics

    with errors_as_sentences():
        show_metrics()


def test_the_answer_comes_first_then_curves_and_tables() -> None:
    app = AppTest.from_function(section, default_timeout=60)
    app.run()
    assert not app.exception
    assert app.selectbox[0].value == "ml-100k--item-knn"
    said = study_metrics(recorded_tuning("ml-100k--item-knn")).sentence()
    bodies = [one.proto.body for one in app.get("html")]
    assert any(said in body for body in bodies)
    assert [one.value for one in app.header] == [
        "p values of pairs of settings",
        "Discriminative power",
    ]
    table = app.dataframe[0].value
    assert list(table["dp"]) == sorted(table["dp"])
    assert len(table) == 6


def test_another_tuning_can_be_picked_and_an_unknown_one_is_not_kept() -> None:
    app = AppTest.from_function(section, default_timeout=60)
    app.query_params["tuning"] = "UserKNN on HetRec 2011 Last.FM"
    app.run()
    assert app.selectbox[0].value == "hetrec-lastfm--user-knn"
    app = AppTest.from_function(section, default_timeout=60)
    app.query_params["tuning"] = "nothing"
    app.run()
    assert not app.exception
    assert app.selectbox[0].value == "ml-100k--item-knn"
