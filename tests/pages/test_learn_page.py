"""The Learn page: every chapter opens, the way through them, the game, odd addresses."""

import re

import pytest

from ecv_core.figures.words import algorithm_title, dataset_title
from ecv_core.stopping.interval import difference_percent
from pages.learn.course import CHAPTERS
from pages.learn.material.recorded_runs import complete_runs, round_of
from pages.learn.predict import bracket_of
from pages.learn.rule import ALPHAS
from pages.shared.live.classroom import close_room, new_room
from pages.shared.live.phones import Lecture


@pytest.fixture(autouse=True)
def nothing_kept():
    """Of the lessons, which are of recorded runs alone, Streamlit keeps the figures."""


@pytest.fixture
def learn(app):
    """Opens the page at an address."""

    def open_at(**address):
        app.switch_page("learn/learn.py")
        for name, value in address.items():
            app.query_params[name] = value
        app.run()
        assert not app.exception
        return app

    return open_at


def words(app):
    return " ".join(one.value for one in [*app.markdown, *app.caption])


def components(app):
    """The JSON of each component on the page."""
    return [one.proto.json for one in app.get("bidi_component")]


def in_address(app, name):
    """A parameter as text; AppTest gives a list until the page has set it."""
    value = app.query_params[name]
    return value if isinstance(value, str) else value[0]


def chapter_of(app):
    (title,) = app.title
    return next(one.id for one in CHAPTERS.values() if one.question == title.value)


def test_what_is_sent_while_a_chapter_is_drawn_does_not_bring_the_one_before_back(learn):
    app = learn(chapter="interval")
    app.button(key="learn-next").click().run()
    assert chapter_of(app) == "rule"
    app.query_params["chapter"] = "interval"  # the browser has not changed its address yet
    app.run()
    assert chapter_of(app) == "rule"
    app.button(key="learn-next").click().run()
    app.query_params["chapter"] = "interval"
    app.run()
    assert chapter_of(app) == "misleading"


def test_without_a_chapter_the_story_begins(learn):
    assert chapter_of(learn()) == "held_out"


@pytest.mark.parametrize("chapter", ["nowhere", "", "*bold*", "held_out.show"])
def test_a_wrong_chapter_is_said_and_the_story_begins(learn, chapter):
    app = learn(chapter=chapter)
    assert chapter_of(app) == "held_out"
    (warning,) = app.warning
    assert "There is no chapter" in warning.value


def test_next_goes_through_all_chapters_which_open_without_an_error_and_back_returns(learn):
    app = learn()
    for chapter in CHAPTERS.values():
        assert chapter_of(app) == chapter.id
        assert chapter.idea in words(app)
        assert not app.error
        assert not app.warning
        assert components(app)
        following = app.button(key="learn-next")
        if not following.disabled:
            following.click().run()
            assert not app.exception
    assert in_address(app, "chapter") == "glossary"
    app.button(key="learn-back").click().run()
    assert chapter_of(app) == "predict"


def test_a_chapter_can_be_opened_by_its_name(learn):
    app = learn(chapter="folds")
    app.button_group(key="learn-chapter").set_value("rule").run()
    assert chapter_of(app) == "rule"


def test_the_memoriser_is_best_on_what_it_has_seen(learn):
    assert "The memoriser gets **1.00**" in words(learn(chapter="held_out"))


def test_the_memoriser_falls_when_graded_on_held_out_data(learn):
    app = learn(chapter="held_out", graded="what was held out")
    assert "falls from 1.00 to **0.01**" in words(app)


def test_drawing_adds_draws_up_to_a_limit_and_can_begin_anew(learn):
    app = learn(chapter="one_fold")
    assert "Had you stopped after the first fold" in words(app)
    app.button(key="learn-draw").click().run()
    assert "Over 2 draws" in words(app)
    for _ in range(4):
        app.button(key="learn-draw-20").click().run()
    assert "Over 60 draws" in words(app)
    app.button(key="learn-draw-0").click().run()
    assert "Had you stopped" in words(app)


@pytest.mark.parametrize(("asked", "drawn"), [("7", 7), ("999", 60)])
def test_the_address_says_how_many_draws(learn, asked, drawn):
    assert f"Over {drawn} draws" in words(learn(chapter="one_fold", draws=asked))


@pytest.mark.parametrize("asked", ["0", "-3", "many", "\N{SUPERSCRIPT TWO}"])
def test_draws_that_cannot_be_are_one(learn, asked):
    assert "Had you stopped" in words(learn(chapter="one_fold", draws=asked))


@pytest.mark.parametrize(
    ("trap", "said"),
    [
        ("Chance", "agree by chance"),
        ("Looking again and again", "too early"),
        ("The unit of alpha", "10,000 times"),
        ("Shared training data", "**89 %**"),
    ],
)
def test_every_trap_is_told_with_its_way_out(learn, trap, said):
    app = learn(chapter="misleading", trap=trap)
    assert said in words(app)
    assert "Way out" in words(app)
    assert len(components(app)) >= 1


def test_the_alpha_of_the_address_is_that_of_the_slider(learn):
    app = learn(chapter="rule", lesson_alpha="1e-5")
    assert float(app.select_slider(key="lesson_alpha").value) == 1e-5
    assert 1e-4 in ALPHAS


def bet(app, fold, off):
    pills = {one.key: one for one in app.get("button_group")}
    pills["learn-bet-stop"].set_value(fold).run()
    pills = {one.key: one for one in app.get("button_group")}
    pills["learn-bet-off"].set_value(off).run()
    app.button(key="learn-bet-placed").click().run()
    assert not app.exception


def test_a_bet_has_two_points_for_the_fold_and_one_for_the_mean(learn):
    runs = complete_runs()
    now = next(one for one in (round_of(runs, n) for n in range(1, 50)) if 3 < one.stop < 7)
    off = bracket_of(difference_percent(now.moments[now.stop - 1].mean, now.moments[-1].mean))
    app = learn(chapter="predict", round=str(now.number))
    bet(app, now.stop, off)
    assert "**3 of 3 points**" in words(app)
    assert f"stopped after fold **{now.stop}**" in words(app)
    title = f"{algorithm_title(now.run.spec.algorithm)} on {dataset_title(now.run.spec.dataset)}"
    assert f"It was **{title}**" in words(app)
    app.button(key="learn-next-round").click().run()
    assert in_address(app, "round") == str(now.number + 1)
    stop = round_of(runs, now.number + 1).stop
    bet(app, stop + 1 if stop < 10 else 9, "2 % or more")
    assert "**4 of 6** points" in words(app)  # the score is kept; the fold beside it has one


def test_the_hall_bets_by_phone_and_sees_who_was_nearest(learn):
    now = next(one for one in (round_of(complete_runs(), n) for n in range(1, 50)) if one.stop == 5)
    off = bracket_of(difference_percent(now.moments[4].mean, now.moments[-1].mean))
    wrong = "2 % or more" if off != "2 % or more" else "below 0.5 %"
    right_pick = ["below 0.5 %", "0.5 to 1 %", "1 to 2 %", "2 % or more"].index(off)
    wrong_pick = (right_pick + 1) % 4
    room = new_room()
    app = learn(chapter="predict", round=str(now.number))
    app.session_state["lecture"] = Lecture(room, "http://192.0.2.7:8502/classroom/x")
    app.run()
    room.bets.update(  # folds 5, 9, 5 and 4: 3, 1, 2 and 1 of 3 points
        {1: (2, right_pick), 2: (6, right_pick), 3: (2, wrong_pick), 4: (1, wrong_pick)}
    )
    bet(app, 3, wrong)
    assert "**The hall** (4 bets): nearest with 3 of 3 points phone **1**." in words(app)
    assert "fold 4: **1**, fold 5: **2**, fold 9: **1**" in words(app)
    assert f"{off}: **2**" in words(app)
    app.button(key="learn-next-round").click().run()
    assert "The hall" not in words(app)
    close_room(room)


@pytest.mark.parametrize(
    ("percent", "words_of"),
    [(0.0, "below 0.5 %"), (0.5, "0.5 to 1 %"), (1.99, "1 to 2 %"), (2.0, "2 % or more")],
)
def test_a_difference_is_in_one_bracket(percent, words_of):
    assert bracket_of(percent) == words_of


def test_the_run_is_not_named_before_the_end(learn):
    now = round_of(complete_runs(), 7)
    app = learn(chapter="predict", round="7")
    shown = words(app) + " ".join(components(app))
    assert now.run.spec.dataset not in shown
    assert "It was" not in shown


def test_a_round_that_never_stops_says_so(learn):
    runs = complete_runs()
    number = next(n for n in range(1, 500) if round_of(runs, n).stop == 10)
    app = learn(chapter="predict", round=str(number))
    bet(app, 3, "2 % or more")
    assert "**0 of 3 points**" in words(app)
    assert "All 10 folds were used" in words(app)
    assert app.button(key="learn-next-round")


@pytest.mark.parametrize("number", ["abc", "0", "10000", "-1", "1e3", ""])
def test_a_wrong_round_is_said_and_another_begins(learn, number):
    app = learn(chapter="predict", round=number)
    (warning,) = app.warning
    assert "Rounds are numbered from 1 to 9999" in warning.value
    assert re.fullmatch(r"\d+", in_address(app, "round"))
    bet(app, 3, "2 % or more")
    assert not app.warning


def test_an_unknown_term_is_said_and_the_glossary_is_there(learn):
    app = learn(chapter="glossary", term="flux")
    assert "no entry 'flux'" in app.warning[0].value
    assert re.search(r'"id": ?"alpha"', " ".join(components(app)))


@pytest.mark.parametrize("chapter", ["one_fold", "interval", "rule", "savings", "predict"])
def test_without_recorded_runs_a_chapter_says_so_in_a_sentence(
    learn, tmp_path, monkeypatch, chapter
):
    monkeypatch.setattr("ecv_core.store.recorded.FOLDER", tmp_path)
    app = learn(chapter=chapter)
    (error,) = app.error
    assert "No recorded run came with this copy" in error.value
    assert app.button(key="learn-next")


@pytest.mark.parametrize(
    ("chapter", "moves"),
    [
        ("held_out", False),
        ("folds", False),
        ("ndcg", False),
        ("one_fold", True),
        ("interval", True),
        ("rule", True),
        ("misleading", False),
        ("savings", True),
        ("choosing", True),
        ("predict", False),
    ],
)
def test_every_picture_can_be_saved_as_a_page_and_as_a_picture_where_it_moves(
    learn, chapter, moves
):
    app = learn(chapter=chapter)
    labels = [button.proto.label for button in app.get("download_button")]
    assert [label for label in labels if label.startswith("Web page")]
    assert ("Animated WebP" in labels) == moves
    assert ("Animated GIF" in labels) == moves
