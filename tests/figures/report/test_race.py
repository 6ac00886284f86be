"""A selection as files: the race plays round by round, and its last round is printed."""

import io
import json
import re

import numpy as np
import pytest
from PIL import Image

from ecv_core.figures.report.moving import moving_html, moving_picture
from ecv_core.figures.report.race import ContenderRace, last_round_figure, moving_race
from ecv_core.jobs.plans.select import begin
from ecv_core.papers.figure_file import write_figure
from ecv_core.records.errors import InputError
from ecv_core.records.run import Scores
from ecv_core.selection.replay import select_in_order
from ecv_core.selection.rounds import Terms
from ecv_core.store.store import open_store
from tests.jobs.plans.test_select import go, specs

HOSTILE = "</script><script>alert('x')</script>"


@pytest.fixture
def race():
    """Three contenders of 200 users, far apart: 0.5, 0.3 and 0.1 whatever the fold."""
    contenders = []
    taste = np.linspace(-0.01, 0.01, 200)
    for name, mean in (("best", 0.5), ("second", 0.3), (HOSTILE, 0.1)):
        users = np.tile(mean + taste, (4, 1))
        contenders.append(
            Scores(name=name, folds=users.mean(axis=1), users=users, joules=np.full(4, 36.0))
        )
    terms = Terms(k=4, higher_is_better=True, has_worst_score=True, expected_loss=0.001)
    return ContenderRace(
        contenders=contenders, terms=terms, result=select_in_order(contenders, terms, range(4))
    )


def test_the_race_has_a_step_for_each_round_and_ends_with_the_answer(race):
    chart = moving_race(race)
    rounds = len(race.result.rounds)
    assert len(chart.sentences) == len(chart.make(dark=False)) == 1 + rounds
    assert "best" in chart.sentences[-1]
    assert "k = 4" in chart.subtitle
    assert "0.1 %" in chart.subtitle


def test_the_page_plays_in_light_and_dark_and_its_text_is_text(race):
    page = moving_html(moving_race(race))
    assert HOSTILE not in page
    text = re.search(r'<script type="application/json" id="steps">(.*?)</script>', page).group(1)
    steps = json.loads(text)
    assert len(steps["light"]) == len(steps["dark"]) == 1 + len(race.result.rounds)
    inks = {steps[look][0]["layout"]["font"]["color"] for look in ("light", "dark")}
    assert len(inks) == 2


def test_a_picture_for_dark_slides_stands_on_dark_ground(race):
    chart = moving_race(race)
    corners = {}
    for dark in (False, True):
        image = Image.open(io.BytesIO(moving_picture(chart, "webp", dark=dark))).convert("L")
        corners[dark] = image.getpixel((2, image.height - 3))
    assert corners[False] > 250
    assert corners[True] < 40


def test_the_last_round_in_print_says_the_state_of_each_contender(race):
    notes = [note.text for note in last_round_figure(race).layout.annotations]
    assert notes[0] == "<b>best</b> · leader"


def test_recorded_runs_of_a_dataset_race_and_an_unknown_selection_is_refused(tmp_path):
    page = tmp_path / "race.html"
    assert "MovieLens 100K" in write_figure("ml-100k", "race", page)
    assert page.stat().st_size > 1_000_000  # with plotly.js in it
    assert write_figure("ml-100k", "race", tmp_path / "race.svg")
    with pytest.raises(InputError, match="0123456789ab"):
        write_figure("0123456789ab", "race", page)


def test_a_selection_of_ones_own_races_once_its_first_round_is_complete(tmp_path):
    store = open_store()
    selection_id = begin(store, specs("popular", "item-knn", "ease"), Terms(k=10))
    page = tmp_path / "race.html"
    go(store, selection_id, most=1)
    with pytest.raises(InputError, match="first round"):
        write_figure(selection_id, "race", page)
    go(store, selection_id)
    assert write_figure(selection_id, "race", page) == "Which is best on Synthetic?"
    assert "EASE is best on Synthetic" in page.read_text("utf-8")
