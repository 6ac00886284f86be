"""A component of the dashboard as one page: its script and style are in it, its data is text."""

import json
import re

from ecv_core.figures.report.component_page import component_page

HOSTILE = "</script><script>alert('x')</script>"


def test_the_page_has_all_that_the_component_needs_and_loads_nothing():
    page = component_page(
        title="What is a <fold>?",
        subtitle="made up",
        html='<div class="board"></div>',
        style=".board { color: red; }",
        script="export default function ({ data, parentElement }) { return data; }",
        data={"name": HOSTILE},
    )
    assert "What is a &lt;fold&gt;?" in page
    assert '<div id="picture"><div class="board"></div></div>' in page
    assert "const drawPicture = function ({ data, parentElement })" in page
    assert HOSTILE not in page
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page).group(1)
    assert json.loads(data) == {"name": HOSTILE}
    assert not re.search(r"<(script|img|link|iframe)[^>]* src=", page)
    assert 'id="play"' not in page


def test_a_component_that_follows_a_player_has_one_on_its_page():
    page = component_page(
        title="A race",
        subtitle="made up",
        html="",
        style="",
        script="export default function ({ data }) { return data; }",
        data={},
        player_name="race",
        fold_seconds=[0.5, 1.5],
    )
    assert 'id="play"' in page
    assert '{"name":"race","seconds":[0.5,1.5]}' in page
