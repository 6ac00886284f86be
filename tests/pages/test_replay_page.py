"""The Replay page: what is played, its sentence at every moment, the presentation, odd links."""

import pytest

from ecv_core.records.run import RunState

pytestmark = pytest.mark.usefixtures("recorded")
SCORES = (0.30, 0.34, 0.31, 0.33, 0.32, 0.29, 0.31, 0.335, 0.30, 0.32)


@pytest.fixture
def record(move_to_recorded, a_run):
    """A recorded run that no database knows."""

    def put(dataset, algorithm, **more):
        run = a_run(SCORES, dataset=dataset, algorithm=algorithm, **more)
        move_to_recorded(run)
        return run

    return put


@pytest.fixture
def calls(monkeypatch):
    """What the page gives to the player and to the sentence."""
    seen = {}

    def player(name, **given):
        seen["player"] = given
        return False

    def numbers(name, **given):
        seen[given["key"]] = given

    monkeypatch.setattr("pages.shared.charts.player.draw_player", player)
    monkeypatch.setattr("pages.shared.widgets.sliders.show_numbers_of_slider", numbers)
    monkeypatch.setattr("pages.replay.view.draw_player", player)
    monkeypatch.setattr("pages.replay.view.show_numbers_of_slider", numbers)
    return seen


@pytest.fixture
def undrawn(monkeypatch):
    """A figure for each of ten folds takes a second to draw, which other tests here do."""
    monkeypatch.setattr("pages.replay.view.plot", lambda *_, **__: None)


def open_replay(app, **params):
    app.switch_page("replay/replay.py")
    for name, value in params.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def words(app):
    return " ".join(one.value for one in [*app.warning, *app.error, *app.info, *app.caption])


def test_a_recorded_run_is_there_on_the_first_visit(app, record, calls):
    run = record("ml-100k", "item-knn")
    open_replay(app)
    assert calls["player"]["version"] == run.run_id
    assert len(calls["replay-sentence"]["sentences"]) == 11
    assert ": 1 2 3 4 5 6 7 8 9 10 (as it ran)" in words(app)


def test_a_recorded_run_is_opened_by_its_name(app, record, calls, undrawn):
    record("ml-100k", "item-knn")
    popular = record("ml-100k", "popular")
    open_replay(app, run="ml-100k--popular")
    assert not app.warning
    assert calls["player"]["version"] == popular.run_id


def test_a_replay_can_be_saved(app, record, calls, undrawn):
    record("ml-100k", "item-knn")
    open_replay(app)
    labels = [button.proto.label for button in app.get("download_button")]
    assert labels == ["Web page, with play and pause", "Animated WebP", "Animated GIF"]


def test_an_own_run_is_opened_by_its_id_and_pauses_at_its_stop(app, a_run, calls, undrawn):
    a_run(SCORES)
    run = a_run(SCORES, stopped_at=4, alpha=1.0)
    open_replay(app, run=run.run_id)
    assert calls["player"]["version"] == run.run_id
    assert calls["player"]["pauses"] == [3]  # by its own alpha, which no slider step is
    assert calls["player"]["texts"] == calls["replay-sentence"]["sentences"]


def test_another_alpha_is_decided_by_the_live_rule(app, a_run, calls, undrawn):
    a_run(SCORES[:4], k=4)
    open_replay(app)
    app.select_slider(key="replay_alpha").set_value(1e-7).run()
    assert calls["player"]["pauses"] == []
    assert "the rule never decided to stop" in calls["replay-sentence"]["sentences"][-1]
    app.select_slider(key="replay_alpha").set_value(1e-2).run()
    # widths 0.1034 and 0.0581 after 3 and 4: 0.0581 x 0.0453 = 0.0026; 0.1034 x 0.4048 = 0.042
    assert calls["player"]["pauses"] == []  # it stops with the last fold: nothing comes after
    assert "so the interval is steady enough: stop." in calls["replay-sentence"]["sentences"][4]


def test_without_an_energy_meter_the_page_says_so(app, a_run, calls, undrawn):
    a_run(SCORES[:3], source="none")
    open_replay(app)
    assert "no energy meter ran" in words(app)


def test_a_shuffle_is_told_with_its_seed(app, a_run, calls, undrawn):
    a_run(SCORES)
    open_replay(app)
    app.button(key="shuffle").click().run()
    assert app.number_input(key="order").value == 1
    assert "shuffled with seed 1" in words(app)


def test_the_address_says_where_to_begin(app, a_run, calls, undrawn):
    a_run(SCORES)
    open_replay(app, fold="4")
    assert calls["player"]["step"] == 4


@pytest.mark.parametrize("fold", ["-1", "x", "", "99999999999", "1e3", "4.5"])
def test_an_odd_fold_in_the_address_begins_where_one_can(app, a_run, calls, undrawn, fold):
    a_run(SCORES)
    open_replay(app, fold=fold)
    assert calls["player"]["step"] in (0, 2, 10)  # 2: where it begins by itself


def test_an_unknown_run_is_a_sentence_and_another_one_is_shown(app, a_run, calls, undrawn):
    run = a_run(SCORES)
    open_replay(app, run="0000")
    assert "There is no run '0000' here" in words(app)
    assert calls["player"]["version"] == run.run_id


def test_a_run_without_folds_is_a_sentence(app, a_run, calls):
    a_run(SCORES)
    empty = a_run(state=RunState.CANCELLED)
    open_replay(app, run=empty.run_id)
    assert "has no finished fold, so there is nothing to play" in words(app)


def test_a_run_that_is_still_going_is_a_sentence(app, a_run, calls, undrawn):
    a_run(SCORES)
    going = a_run(SCORES[:2], state=RunState.RUNNING)
    open_replay(app, run=going.run_id)
    assert "is still going" in words(app)


def test_one_fold_can_be_played(app, a_run, calls):
    a_run(SCORES[:1])
    open_replay(app)
    assert calls["player"]["seconds"] == [1.2]
    assert "No more folds were recorded" in calls["replay-sentence"]["sentences"][-1]


def test_an_impossible_alpha_in_the_address_is_a_sentence(app, a_run, calls, undrawn):
    a_run(SCORES)
    open_replay(app, replay_alpha="banana")
    assert "the slider has no alpha banana" in words(app)


def test_a_run_of_another_rule_is_told_as_it_ran_or_with_an_alpha(app, a_run, calls):
    a_run(SCORES, rule="fixed", min_folds=5, stopped_at=5)
    open_replay(app)
    assert not app.select_slider
    assert calls["player"]["pauses"] == [5]
    app.get("button_group")[1].set_value("e-fold").run()
    assert app.select_slider(key="replay_alpha").value == 1e-4


def test_without_any_run_the_page_says_how_to_get_one(app, calls):
    open_replay(app)
    assert "There is no finished run yet" in words(app)


def test_the_presentation_is_opened_by_the_button_and_the_address(app, a_run, calls, undrawn):
    a_run(SCORES)
    open_replay(app)
    app.button(key="present").click().run()
    assert app.query_params["present"] in ("1", ["1"])
    assert "ItemKNN on Synthetic**, nDCG@10, alpha 1e-4" in app.markdown[0].value


def test_a_damaged_recorded_file_is_a_sentence_and_own_runs_still_play(
    app, damaged_runs, a_run, calls, undrawn
):
    a_run(SCORES)
    open_replay(app)
    assert f"{damaged_runs} cannot be read" in words(app).replace("\\", "")
    assert "player" in calls
