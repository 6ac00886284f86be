"""How many folds?: what the address keeps, alphas of another scale, rules that come later."""

import json
import re
from html import unescape

import numpy as np

from ecv_core.records.run import UserScores
from tests.pages.folds.conftest import SCORES, open_explore, texts


def test_a_warning_about_the_link_outlives_the_second_look_at_many_systems(app, record):
    for algorithm in ("item-knn", "popular", "ease", "user-knn", "implicit-mf"):
        record("synthetic", algorithm)
    app.switch_page("folds/folds.py")
    app.query_params["explore_alpha"] = "5"
    app.run()
    assert not app.exception
    assert [one.value for one in app.warning if "no alpha 5" in one.value]
    app.run()
    assert not app.warning


def test_an_alpha_of_another_scale_gives_way_to_what_spends_as_the_paper_does(app, a_run):
    a_run([100 * s for s in SCORES], stopped_at=4)
    app.session_state["explore_alpha"] = 1e-6
    open_explore(app)
    alphas = [float(one) for one in app.select_slider(key="explore_alpha").options]
    assert alphas[0] < app.select_slider(key="explore_alpha").value < alphas[-1]


def test_the_precision_rule_is_there_where_users_scores_are(app, record):
    rng = np.random.default_rng(9)
    people = np.arange(50)
    scores = {
        fold: UserScores(
            users=people, metrics=("ndcg@10",), values=score + rng.normal(0, 0.01, (50, 1))
        )
        for fold, score in enumerate(SCORES)
    }
    record("synthetic", "item-knn", users=scores)
    open_explore(app)
    assert "Precision" in app.dataframe[0].value["rule"].tolist()
    assert "95 % interval for new users" in texts(app)


def links(app):
    """What each part of the page says that a link cannot carry."""
    found = [re.search('data-ecv-link="(.*?)"', one.proto.body) for one in app.get("html")]
    return [json.loads(unescape(told[1]))["without"] for told in found if told]


def test_the_link_says_that_it_cannot_carry_an_uploaded_file(app, record):
    record("synthetic", "item-knn")
    open_explore(app)
    assert links(app) == [""]
    app.get("button_group")[0].set_value("My file").run()
    app.get("file_uploader")[0].set_value(("s.csv", b"a\n0.3\n0.31\n0.3\n", "text/csv")).run()
    assert not app.exception
    assert links(app) == ["the scores file: whoever opens it adds it again"]
