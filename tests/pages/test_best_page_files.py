"""Which is best?: scores from files, recorded grids, search spaces."""

import numpy as np
from streamlit.testing.v1 import AppTest

from ecv_core.store.plans import SELECTION, stored_plans
from ecv_core.store.store import Store
from pages.best.show import edge_words
from tests.pages.test_best_page import address, open_best, texts, verdict


def scores(wrong: str = "") -> bytes:
    """Three contenders, 4 folds, 30 users; B is far behind."""
    rng = np.random.default_rng(0)
    rows = ["contender,fold,user,score"]
    for name, mean in (("A", 0.6), ("B", 0.2), ("C", 0.58)):
        for fold in range(4):
            for user in range(30):
                value = mean + 0.1 * np.sin(user) + rng.normal(0, 0.001)
                rows.append(f"{name},{fold},{user},{value:.5f}")
    return "\n".join([*rows, wrong]).encode()


def test_a_file_of_scores_is_one_press_away(app: AppTest) -> None:
    open_best(app)
    app.button(key="best-own-file").click().run()
    assert app.selectbox(key="selection-choice").value == "file"
    assert address(app) == "file"
    assert not [one for one in app.button if one.key == "best-own-file"]


def test_a_file_of_fold_scores_is_replayed(app: AppTest) -> None:
    open_best(app, "file")
    rows = [
        f"{name},{fold},{base + fold}" for fold in range(4) for name, base in (("A", 5), ("B", 0))
    ]
    content = "\n".join(["system,fold,score", *rows]).encode()
    app.file_uploader(key="best-file").upload("mine.csv", content, "text/csv").run()
    assert verdict(app).startswith("Use A\n")
    assert "No interval for new users" in texts(app)


def test_a_file_of_scores_is_replayed(app: AppTest) -> None:
    open_best(app, "file")
    app.file_uploader(key="best-file").upload("mine.csv", scores(), "text/csv").run()
    assert not app.exception
    assert verdict(app).startswith("Use A\n")
    assert "of all folds. C, the second, is" in verdict(app)
    assert "95 % interval for new users" in texts(app)
    app.session_state["paper-best"] = True
    app.run()
    text = app.code[0].value
    assert text.startswith(
        "The scores of 3 systems with 4 folds each were computed by other software and read from "
        "the file 'mine.csv'. All folds were there"
    )
    assert "computed with e-fold" not in text
    assert "release them from there" in texts_of(app.caption)
    app.toggle(key="lower").set_value(True).run()
    assert verdict(app).startswith("Use B\n")


def test_a_files_metric_says_which_way_is_better_and_the_switch_says_otherwise(
    app: AppTest,
) -> None:
    open_best(app, "file")
    rows = [
        f"{name},{fold},{base + fold / 100}"
        for fold in range(5)
        for name, base in (("A", 5), ("B", 1))
    ]
    content = "\n".join(["model,fold,test_rmse", *rows]).encode()
    app.file_uploader(key="best-file").upload("mine.csv", content, "text/csv").run()
    assert not app.exception
    assert app.toggle(key="lower").value
    assert verdict(app).startswith("Use B\n")
    assert "'test\\_rmse'" in texts_of(app.caption)
    app.toggle(key="lower").set_value(False).run()
    assert verdict(app).startswith("Use A\n")
    assert "Higher is better" in texts_of(app.caption)
    # Another file has a direction of its own.
    other = content.replace(b"test_rmse", b"ndcg")
    app.file_uploader(key="best-file").upload("other.csv", other, "text/csv").run()
    assert not app.toggle(key="lower").value
    assert verdict(app).startswith("Use A\n")


def test_one_of_several_metrics_of_a_file_is_chosen(app: AppTest) -> None:
    open_best(app, "file")
    rows = [
        f"{name},{fold},{base + fold / 100},{6 - base}"
        for fold in range(5)
        for name, base in (("A", 5), ("B", 1))
    ]
    content = "\n".join(["model,fold,rmse,mae", *rows]).encode()
    app.file_uploader(key="best-file").upload("mine.csv", content, "text/csv").run()
    assert app.selectbox(key="best-file-metric").value == "rmse"
    assert verdict(app).startswith("Use B\n")
    app.selectbox(key="best-file-metric").set_value("mae").run()
    assert not app.exception
    assert verdict(app).startswith("Use A\n")
    assert "rmse" in texts_of(app.caption)


def test_a_file_that_cannot_be_used_is_one_sentence(app: AppTest) -> None:
    open_best(app, "file")
    app.file_uploader(key="best-file").upload("mine.csv", scores("A,0,0,0.5"), "text/csv").run()
    assert not app.exception
    (error,) = app.error
    assert "more than one row for contender 'A', fold 0, user 0" in error.value


def test_a_best_value_at_the_edge_of_the_grid_asks_for_a_wider_one() -> None:
    tried = [{"factors": n, "kind": kind} for n in (8, 16, 32) for kind in ("a", "b")]
    assert edge_words(tried, {"factors": 16, "kind": "a"}) == ""
    beyond = edge_words(tried, {"factors": 32, "kind": "a"})
    assert beyond == " The best is at the edge of the grid: try larger values of factors too."


def test_the_answer_says_that_the_best_is_at_the_edge(app: AppTest) -> None:
    rows = [
        f"item-knn:neighbours={n},{fold},{n / 100 + fold / 1e4}"
        for n in (10, 20, 40)
        for fold in range(5)
    ]
    content = "\n".join(["contender,fold,score", *rows]).encode()
    open_best(app, "file")
    app.file_uploader(key="best-file").upload("mine.csv", content, "text/csv").run()
    answer = verdict(app)
    assert answer.endswith(
        "The best is at the edge of the grid: try larger values of neighbours too."
    )


def test_a_search_space_is_a_list_of_contenders(app: AppTest, store: Store) -> None:
    open_best(app, contenders_from="a search space", dataset="synthetic")
    app.session_state["best-start-0"] = True
    app.run()
    app.text_area(key="space_own").set_value("neighbours=5,50\nshrink=0,10").run()
    said = texts_of(app.caption)
    assert "4 configurations: neighbours 5, 50; shrink 0.0, 10.0." in said
    app.button(key="begin").click().run()
    (record,) = stored_plans(store, SELECTION)
    assert [one.name for one in record.content.runs] == [
        "item-knn:neighbours=5,shrink=0.0",
        "item-knn:neighbours=5,shrink=10.0",
        "item-knn:neighbours=50,shrink=0.0",
        "item-knn:neighbours=50,shrink=10.0",
    ]


def texts_of(elements) -> str:
    return "\n".join(str(one.value) for one in elements)
