"""What the nodes of a cluster compute, as a table; how it is without any."""

from ecv_core.records.run import RunState
from tests.pages.test_compare_page import texts


def open_nodes(app):
    app.query_params["view"] = "Nodes"
    app.switch_page("runs/runs.py").run()
    assert not app.exception
    return app


def test_without_a_cluster_the_view_says_how_to_get_one(app):
    assert "No node of a cluster is computing now" in texts(open_nodes(app))
    assert "ECV_CLUSTER" in texts(app)


def test_folds_on_nodes_are_rows_with_their_runs(app, store, a_run):
    first = a_run([0.3, 0.31], state=RunState.RUNNING)
    second = a_run([0.2], state=RunState.RUNNING, algorithm="popular")
    store.begin_on(first.run_id, 2, "node-1")
    store.begin_on(second.run_id, 1, "node-2")
    open_nodes(app)
    assert "2 folds are computed now, by 2 nodes" in texts(app)
    (table,) = [frame.value for frame in app.dataframe]
    assert table["Node"].tolist() == ["node-1", "node-2"]
    assert table["Computes"].tolist() == [
        "fold 3 of ItemKNN on Synthetic",
        "fold 2 of Popularity on Synthetic",
    ]
