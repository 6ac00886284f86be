"""A run that plays fold by fold: one page without a network, and pictures with a frame a step."""

import io
import json
import re
from dataclasses import replace
from itertools import pairwise

import pytest
from PIL import Image

from ecv_core.figures.report.moving import moving_html, moving_picture, moving_run, pictured_steps
from ecv_core.papers.figure_file import write_figure
from ecv_core.records.errors import InputError

HOSTILE = "</script><script>alert('x')</script>"


def steps_of(page):
    text = re.search(r'<script type="application/json" id="steps">(.*?)</script>', page).group(1)
    return json.loads(text)


def test_the_page_has_a_figure_and_a_sentence_for_each_step(a_run):
    steps = steps_of(moving_html(moving_run(a_run())))
    assert len(steps["light"]) == len(steps["sentences"]) == 4  # before the first of 3 folds
    assert steps["sentences"][0].startswith("Before the first fold")
    means = []
    for trace in steps["dark"][3]["data"]:
        if trace.get("name") == "mean so far":
            means = trace["x"]
    assert means == [1, 2, 3]


def test_the_page_loads_nothing_and_its_text_is_text(a_run):
    run = a_run()
    run = replace(run, spec=replace(run.spec, dataset=HOSTILE))
    page = moving_html(moving_run(run))
    assert HOSTILE not in page
    assert "default-src 'none'" in page
    assert not re.search(r"<(script|img|link|iframe)[^>]* src=", page)


@pytest.mark.parametrize("form", ["gif", "webp"])
def test_a_picture_has_a_frame_for_each_step_and_waits_at_the_end(a_run, form):
    image = Image.open(io.BytesIO(moving_picture(moving_run(a_run()), form)))
    assert (image.n_frames, image.size) == (4, (960, 600))
    durations = []
    for frame in range(image.n_frames):
        image.seek(frame)
        image.load()
        durations.append(image.info["duration"])
    assert durations == [1200, 1200, 1200, 4000]


def test_a_picture_of_many_steps_has_some_of_them_the_first_and_the_last():
    assert pictured_steps(4) == [0, 1, 2, 3]
    assert pictured_steps(1) == [0]
    steps = pictured_steps(71)
    assert (len(steps), steps[0], steps[-1]) == (20, 0, 70)
    gaps = {after - before for before, after in pairwise(steps)}
    assert gaps <= {3, 4}  # 70 steps in 19 gaps


def test_only_a_run_plays(a_run, tmp_path):
    path = tmp_path / "run.html"
    assert "fold by fold" in write_figure(a_run(), "efold", path)
    assert path.stat().st_size > 1_000_000  # with plotly.js in it
    with pytest.raises(InputError, match="stops"):
        write_figure(a_run(), "stops", path)
    with pytest.raises(InputError, match="no finished fold"):
        write_figure(a_run((), stopped_at=None), "efold", path)
    with pytest.raises(InputError, match="does not exist"):
        write_figure(a_run(), "efold", tmp_path / "nowhere" / "run.gif")
