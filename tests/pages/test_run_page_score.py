"""Metric and ranking protocol on the Run page: definition, negatives, warning, mistakes."""

from ecv_core.evaluation import SAMPLED_WARNING
from ecv_core.fold.spec import make_spec
from ecv_core.records.run import RunState


def button(app, label):
    return next(one for one in app.button if one.label == label)


def warnings(app):
    return [one.value for one in app.warning]


def test_full_ranking_of_all_items_is_the_default_and_warns_of_nothing(app, store):
    app.run()
    assert not app.warning
    button(app, "Start").click().run()
    (run,) = store.runs()
    assert (run.spec.candidates, run.spec.negatives) == ("all", None)


def test_sampled_negatives_are_taken_and_what_they_do_is_said(app, store):
    app.run()
    app.segmented_control(key="ranking").set_value("sampled negatives").run()
    assert warnings(app) == [SAMPLED_WARNING]
    assert app.number_input(key="negatives").value == 100
    app.number_input(key="negatives").set_value(50).run()
    app.segmented_control(key="negative_sampling").set_value("popularity").run()
    app.segmented_control(key="candidates").set_value("train").run()
    assert any("nDCG@10 (50 sampled negatives)" in one.value for one in app.markdown)
    button(app, "Start").click().run()
    spec = store.runs()[0].spec
    assert (spec.negatives, spec.negative_sampling, spec.candidates) == (50, "popularity", "train")


def test_the_chosen_metric_is_defined_with_its_source_and_its_peers(app):
    app.query_params["metric"] = "Gini index"
    app.run()
    assert r"\sum_k x_k" in app.latex[0].value
    words = " ".join(one.value for one in app.caption)
    assert "Adomavicius, Kwon (2012)" in words
    assert "Elliot" in words


def test_metrics_of_ranked_items_and_of_ratings_are_offered(app):
    app.run()
    offered = app.selectbox(key="metric").options
    assert {"AUC", "Log loss", "EPC", "Item coverage", "Gini index", "MAE", "RMSE"} < set(offered)


def test_an_algorithm_that_predicts_ratings_brings_its_metric_and_split(app, store):
    app.run()
    pick = next(one for one in app.get("button_group") if one.key == "algorithm")
    pick.set_value(["bias"]).run()
    assert app.selectbox(key="metric").value == "rmse"
    assert app.selectbox(key="split").value == "record-k-fold"
    button(app, "Start").click().run()
    spec = store.runs()[0].spec
    assert (spec.algorithm, spec.metric_name, spec.split) == ("bias", "rmse", "record-k-fold")
    assert spec == make_spec(
        dataset="synthetic", algorithm="bias", alpha=dict(spec.rule_params)["alpha"]
    )


def test_a_metric_that_does_not_fit_is_a_sentence_and_nothing_can_start(app):
    app.query_params["metric"] = "Log loss"
    app.run()
    assert "only neu-mf predicts" in app.error[0].value
    assert button(app, "Start").disabled


def test_too_few_negatives_are_a_sentence(app):
    app.query_params["ranking"] = "sampled negatives"
    app.query_params["negatives"] = "3"
    app.run()
    assert "every held-out item is a hit" in app.error[0].value


def test_the_dataset_has_the_size_that_the_task_sees(app):
    app.query_params["dataset"] = "ml-100k"
    app.run()
    pruned = next(one.value for one in app.markdown if "density" in one.value)
    assert "interactions" in pruned
    app.pills(key="algorithm").set_value(["bias"]).run()
    given = next(one.value for one in app.markdown if "density" in one.value)
    for word in ("**943** users", "**1,682** items", "**100,000** ratings"):  # GroupLens' own
        assert word in given
    assert "**6.30\u00a0%**" in given  # 100000 / (943 * 1682)


def test_a_link_to_a_metric_of_ratings_for_an_algorithm_that_ranks_says_why(app):
    app.query_params["metric"] = "RMSE"
    app.run()
    assert "RMSE is of predicted ratings" in app.error[0].value
    assert button(app, "Start").disabled


def test_a_link_to_an_unknown_metric_is_said(app):
    app.query_params["metric"] = "nDCQ"
    app.run()
    assert "'nDCQ' is not known here" in warnings(app)[0]


def test_new_run_fills_the_protocol_of_the_run_in(app, a_run, store):
    given = dict(
        algorithm="popular", negatives=40, negative_sampling="popularity", candidates="train", k=5
    )
    run = a_run([0.3, 0.31, 0.3], stopped_at=3, state=RunState.FINISHED, **given)
    app.query_params["run"] = run.run_id
    app.run()
    button(app, "New run").click().run()
    button(app, "Start").click().run()
    assert store.runs()[0].run_id != run.run_id
    assert store.runs()[0].spec == run.spec


def test_a_link_may_name_a_metric_by_its_id(app):
    app.query_params["metric"] = "recall"
    app.run()
    assert app.selectbox(key="metric").value == "recall"
    assert not app.warning
    assert app.query_params["metric"] == "Recall"
