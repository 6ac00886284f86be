"""The view Metrics and parameters: the answer first, then curves and tables."""

import json

from streamlit.testing.v1 import AppTest

from ecv_core.analysis.tuning.metrics_study import study_metrics
from ecv_core.figures import spaces_study
from ecv_core.store.configurations import TUNINGS, read_configurations


def section():
    from pages.shared.live.state import sentences
    from pages.studies.metrics_view import metrics_and_parameters

    with sentences():
        metrics_and_parameters()


def test_the_answer_comes_first_then_curves_and_tables() -> None:
    app = AppTest.from_function(section, default_timeout=60)
    app.run()
    assert not app.exception
    assert app.selectbox[0].value == "ml-100k--item-knn"
    said = study_metrics(read_configurations(TUNINGS / "ml-100k--item-knn.json")).sentence()
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


def test_which_split_chooses_the_settings(tmp_path, monkeypatch) -> None:
    scores = {"user-k-fold": [0.1, 0.2, 0.3], "leave-last-item": [0.1, 0.3, None]}
    document = {
        "dataset": "ml-100k",
        "metric": "ndcg@10",
        "configurations": [f"ease:regularization={value}" for value in (1.0, 2.0, 3.0)],
        "scores": scores,
        "agreements": [],
    }
    (tmp_path / "ml-100k.json").write_text(json.dumps(document))
    monkeypatch.setattr(spaces_study.spaces_names, "__defaults__", (tmp_path,))
    monkeypatch.setattr("pages.studies.metrics_view.SPACES", tmp_path)
    app = AppTest.from_function(section, default_timeout=60)
    app.query_params["by"] = "Which split chooses them"
    app.run()
    assert not app.exception
    bodies = [one.proto.body for one in app.get("html")]
    assert any("the best under &#x27;Per user, evenly&#x27; is EASE" in body for body in bodies)
    assert [one.label for one in app.selectbox] == ["Best under", "Looked at under"]
    assert "recorded under every split: 2 of 3 under 'Last item'." in app.caption[0].value
    assert "the best under another in 2 of 2 cases" in app.caption[2].value
    app.selectbox[0].select("leave-last-item").run()
    assert not app.exception
    assert app.selectbox[1].value == "user-k-fold"
