"""Tables on the pages: the task on Run, links, metrics that fit, the study of estimators."""

import pytest

from ecv_core.models import serving
from ecv_core.records.tasks import Task


def start(app):
    next(one for one in app.button if one.label == "Start").click().run()


def test_the_other_task_brings_its_data_algorithms_metric_and_folds(app, store):
    app.run()
    app.segmented_control(key="task-of-data").set_value("Classify or predict, from a table").run()
    assert app.selectbox(key="dataset").value == "breast-cancer"
    start(app)
    (run,) = store.runs()
    assert (run.spec.dataset, run.spec.algorithm) == ("breast-cancer", "logistic-regression")
    assert (run.spec.metric, run.spec.split) == ("accuracy", "stratified-k-fold")


@pytest.mark.parametrize("title", ["Diabetes", "diabetes"])
def test_a_link_to_a_table_opens_its_task_with_what_fits_it(app, store, title):
    app.query_params["dataset"] = title
    app.run()
    assert not app.exception
    assert app.segmented_control(key="task-of-data").value == "Classify or predict, from a table"
    assert set(app.selectbox(key="metric").options) == {
        "R2",
        "Mean absolute error",
        "Root mean squared error",
    }
    start(app)
    (run,) = store.runs()
    assert (run.spec.algorithm, run.spec.metric) == ("ridge", "r2")
    assert run.spec.split == "sample-k-fold"


def test_back_to_recommending_nothing_of_the_table_is_left(app, store):
    app.query_params["dataset"] = "Iris"
    app.run()
    app.segmented_control(key="task-of-data").set_value("Recommend, from interactions").run()
    start(app)
    (run,) = store.runs()
    assert (run.spec.dataset, run.spec.algorithm) == ("synthetic", "item-knn")
    assert (run.spec.metric, run.spec.split) == ("ndcg", "user-k-fold")


def test_the_estimators_of_studies_say_what_each_rule_keeps(app):
    app.switch_page("studies/studies.py")
    app.query_params["view"] = "Estimators"
    app.query_params["estimators-task"] = "regression"
    app.run()
    assert not app.exception
    assert app.select_slider(key="explore_alpha").value == pytest.approx(1e-4)
    app.session_state["estimators-part"] = "Rules"
    app.run()
    text = " ".join(one.value for one in app.markdown)
    assert "estimators on 5 tables" in text
    assert "stagnating standard deviation" in text


def test_a_study_of_tables_starts_with_what_fits_them(app, store):
    app.switch_page("studies/studies.py").run()
    app.segmented_control(key="new_task").set_value(Task.NUMBERS).run()
    assert not app.exception
    (picked,) = [one for one in app.pills if one.key == "new_algorithms_regression"]
    assert picked.value == serving(Task.NUMBERS)[:3]
