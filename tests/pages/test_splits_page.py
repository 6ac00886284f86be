"""The Splits page: a picture at once, refusals with a way out, and the split to take along."""

from urllib.parse import parse_qs, urlsplit

import pytest

from ecv_core import dataset as datasets
from ecv_core.splits.parts import Leakage
from pages.splits.view import address_of


def open_splits(app, **query):
    """The page as the first one of a session, as from a link."""
    app.switch_page("splits/splits.py")
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def texts(app):
    shown = [*app.markdown, *app.caption, *app.info, *app.warning, *app.error]
    return " ".join(one.value.replace("\\", "") for one in shown)


def headings(app):
    return [one.value for one in app.header]


def figures(app):
    return [one.proto.id for one in app.get("bidi_component") if "split-" in one.proto.id]


WHOLE = [
    "On Synthetic",
    "Does the future leak into training?",
    "What is in each part",
    "Use this split",
]


def test_the_page_opens_with_a_whole_split(app):
    open_splits(app)
    assert headings(app) == WHOLE
    assert app.selectbox(key="split").value == "user-k-fold"
    assert not app.error
    assert not app.warning
    # every interaction of the synthetic data is learnt from or tested in the first fold
    frame = app.dataframe[0].value
    assert frame[frame["fold"] == 1]["interactions"].sum() == 101_325
    assert frame["fold"].nunique() == 1  # the one that is looked at; the file has all


def test_a_random_split_leaks_and_one_point_in_time_does_not(app):
    open_splits(app)
    leak = app.metric[0]
    assert leak.label == "Training that lies later (of any user)"
    assert 40 < float(leak.value.split("\u00a0")[0]) < 60
    assert "Meng et al. (2020) advise **One point in time**" in texts(app)
    assert "there is one score, and so nothing to stop early" in texts(app)
    app.selectbox(key="split").set_value("temporal-global").run()
    assert "so it is here" in texts(app)
    assert app.metric[0].value == "0.0\u00a0%"
    assert "Nothing leaks" in texts(app)
    assert not app.slider  # one split has no other fold
    assert not [one for one in app.number_input if one.key == "k"]


def test_parameters_change_the_split(app):
    open_splits(app, split="random-holdout")
    before = app.dataframe[0].value
    app.number_input(key="param-split-random-holdout-test").set_value(0.5).run()
    after = app.dataframe[0].value

    def share(frame):
        return frame[(frame["fold"] == 1) & (frame["part"] == "test")]["percent"].item()

    assert share(before) == pytest.approx(20, abs=1)
    assert share(after) == pytest.approx(50, abs=1)


def test_the_chosen_fold_decides_what_is_said(app):
    open_splits(app, split="temporal-windows", k="3")
    first = texts(app)
    assert "In fold 1," in first
    app.slider(key="fold").set_value(2).run()
    assert "In fold 2," in texts(app)
    (frame,) = (table.value for table in app.dataframe)
    assert set(frame["fold"]) == {2}
    # Links that exist count from 0, as files do.
    assert app.query_params["fold"] == "1"


@pytest.mark.parametrize(("in_link", "shown"), [("0", 1), ("2", 3), ("7", 3), ("-1", 1), ("x", 1)])
def test_a_link_names_a_fold_from_0_and_the_page_shows_it_from_1(app, in_link, shown):
    open_splits(app, split="temporal-windows", k="3", fold=in_link)
    assert app.slider(key="fold").value == shown
    assert f"In fold {shown}," in texts(app)


def test_a_smaller_k_keeps_the_slider_within_it(app):
    open_splits(app)
    app.slider(key="fold").set_value(10).run()
    app.number_input(key="k").set_value(3).run()
    assert not app.exception
    assert app.slider(key="fold").value == 3
    app.number_input(key="k").set_value(2).run()
    assert not app.exception


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"k": "1"}, "K must be at least 2, but is 1"),
        ({"k": "99999"}, "K must be at most 32,767, but is 99,999"),
        ({"seed": "-1"}, "The seed must be from 0 to 4294967295, but is -1"),
        ({"split": "nonsense"}, "'nonsense' is not known here"),
        ({"dataset": "nonsense"}, "'nonsense' is not known here"),
    ],
)
def test_a_value_that_cannot_be_is_one_sentence(app, query, words):
    open_splits(app, **query)
    assert words in texts(app)


def test_a_time_point_outside_the_data_is_refused_while_the_toy_stays(app):
    open_splits(app, split="temporal-global")
    app.text_input(key="param-split-temporal-global-time_point").set_value("2050-01-01").run()
    (warning,) = app.warning
    assert "The time point 2050-01-01 is outside synthetic" in warning.value.replace("\\", "")
    assert headings(app) == []
    assert "The example has a calendar of its own" in texts(app)


def test_a_strategy_the_dataset_cannot_serve_says_why_and_what_would_work(app):
    open_splits(app, split="leave-last-basket")
    (warning,) = app.warning
    said = warning.value.replace("\\", "")
    assert "Synthetic has no baskets" in said
    assert "it can be split by user-k-fold" in said


def test_without_timestamps_only_a_user_s_own_order_is_known(app):
    if not datasets.available(datasets.entry("ta-feng")):
        pytest.skip("ta-feng is not on disk")
    open_splits(app, dataset="ta-feng", split="leave-last-basket", k="1")
    assert app.metric[0].label == "Training that lies later (of the same user)"
    assert app.metric[0].value == "0.0\u00a0%"


def test_without_any_order_the_page_says_that_leakage_cannot_be_known(app):
    if not datasets.available(datasets.entry("amazon-instant-video")):
        pytest.skip("amazon-instant-video is not on disk")
    open_splits(app, dataset="amazon-instant-video")
    assert "has neither timestamps nor any other order" in texts(app)
    assert not app.metric


def test_where_no_pair_tells_of_leakage_the_page_does_not_say_that_nothing_leaks(app, monkeypatch):
    unknown = Leakage(of_any_user=None, of_same_item=None, of_same_user=None, leaked_tests=None)
    monkeypatch.setattr("ecv_core.splits.leakage", lambda *_: unknown)
    open_splits(app, dataset="synthetic")
    assert app.metric[0].value == "unknown"
    assert "Nothing leaks" not in texts(app)


@pytest.mark.parametrize(("last", "shown"), [("7258118399", True), ("1e308", False)])
def test_times_to_the_end_of_2199_are_shown_and_those_beyond_are_refused(
    app, tmp_path, monkeypatch, last, shown
):
    folder = tmp_path / "own"
    folder.mkdir()
    monkeypatch.setenv("ECV_DATA_DIR", str(folder))
    rows = [f"u{at % 12},i{at // 12},{1_000_000_000 + at * 86_400}" for at in range(144)]
    rows[-1] = f"u11,i11,{last}"
    (folder / "mine.csv").write_text("\n".join(["user_id,item_id,timestamp", *rows]) + "\n")
    open_splits(app, dataset="mine", k="5")
    assert ("row 144: user 'u11', item 'i11', time '1e308'" in texts(app)) is not shown
    assert bool(headings(app)) is shown


def test_a_run_is_opened_with_the_very_split(app):
    open_splits(app, split="temporal-windows")
    app.number_input(key="k").set_value(4).run()
    app.number_input(key="param-split-temporal-windows-first").set_value(0.6).run()
    app.selectbox(key="param-split-temporal-windows-training").set_value("sliding").run()
    (link,) = app.get("link_button")
    asked = {name: text for name, (text,) in parse_qs(urlsplit(link.proto.url).query).items()}
    assert asked == {
        "dataset": "synthetic",
        "split": "temporal-windows",
        "k": "4",
        "seed": "42",
        "param-split-temporal-windows-first": "0.6",
        "param-split-temporal-windows-training": "sliding",
        "param-split-temporal-windows-unknown": "drop",
        "param-split-temporal-windows-validation": "0.0",
    }


def test_the_link_fills_the_form_of_the_run_page(app):
    app.query_params["split"] = "random-holdout"
    app.query_params["k"] = "4"
    app.query_params["param-split-random-holdout-test"] = "0.35"
    app.run()
    assert not app.exception
    assert app.selectbox(key="split").value == "random-holdout"
    assert app.number_input(key="k").value == 4
    assert app.number_input(key="param-split-random-holdout-test").value == 0.35


def test_a_single_split_has_no_k_in_its_link():
    from ecv_core.fold.spec import make_spec

    spec = make_spec(
        dataset="synthetic",
        algorithm="popular",
        split="temporal-global",
        split_params={"time_point": "2024-06-01"},
        rule="never",
    )
    address = address_of(spec)
    assert "k" not in address
    assert address["param-split-temporal-global-time_point"] == "2024-06-01"


def test_the_toy_says_what_is_left_out_and_names_its_leak():
    from ecv_core.analysis.split_tables.toy import toy_split
    from pages.splits.view import toy_sentence

    # 61 of the 77 lie before day 156; Jon's five and items K and L of others are unknown
    dropped = toy_sentence(toy_split("temporal-global", 1, 42), 0)
    assert dropped.startswith("The model learns from 61 interactions; 7 are tested. 9 more are")
    assert "so nothing leaks" in dropped
    last = toy_sentence(toy_split("leave-last-basket", 1, 42), 0)
    assert "Jon takes B on day 158" in last
    assert "Eve takes it on day 96" in last


def test_a_strategy_brings_its_own_number_of_folds(app):
    app.switch_page("splits/splits.py").run()
    assert app.number_input(key="k").value == 10
    app.selectbox(key="split").select("temporal-user").run()
    assert app.number_input(key="k").value == 1
    assert not app.warning
    app.selectbox(key="split").select("user-k-fold").run()
    assert app.number_input(key="k").value == 10
    app.number_input(key="k").set_value(7).run()
    app.selectbox(key="split").select("record-k-fold").run()
    assert app.number_input(key="k").value == 7  # as chosen: both usually have ten
