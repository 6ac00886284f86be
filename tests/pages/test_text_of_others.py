"""What others write does nothing on a page: no link, no tag, no sign that nobody sees."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from streamlit.testing.v1 import AppTest

from ecv_core.evaluation import METRICS, Metric
from ecv_core.records.run import Energy, Node, Reading, RunRecord, RunState
from ecv_core.store.listing import Label, label_runs
from ecv_core.store.store import Store

SCORES = (0.30, 0.31, 0.305, 0.3075)
NAME = "[n](//evil.example) <a href='//evil.example'>n</a>"
"""A model's name may hold no colon."""
UNIT = "[u](javascript:alert(1)) <a href='javascript:alert(1)'>u</a>"
NOTE = "[t](javascript:alert(1)) https://evil.example www.evil.example \u202e\x1b[31m"
PLAIN = {
    ("code", "codeText"),
    ("text_area", "value"),
    ("text_input", "value"),
    ("multiselect", "options"),
    ("selectbox", "options"),
    ("selectbox", "rawValue"),
    ("bidi_component", "alt"),  # an attribute, and so are the next
    ("bidi_component", "alts"),
    ("dataframe", "alt"),
    ("dataframe", "columns"),
}
"""Kind of an element and its field, of those whose text Streamlit shows as it is."""
MARKDOWN_LINK = re.compile(r"(?<!\\)\]\((?:javascript|//)|https?://evil|www\.evil")
TAG_OF_A_LINK = re.compile(r"""<a\s+href=['"]?(?:javascript|//)""")
UNSEEN = re.compile("[\x1b\u202e]")

PAGES = {
    "run": ("run/run.py", {"run": "{run}"}),
    "history": ("runs/runs.py", {}),
    "comparison": ("runs/runs.py", {"view": "compare", "runs": "{run},{other}"}),
    "replay": ("replay/replay.py", {"run": "{run}"}),
    "folds": ("folds/folds.py", {"source": "My runs", "runs": "{run},{other}"}),
    "best": ("best/best.py", {}),
    "learn": ("learn/learn.py", {"chapter": NAME}),
    "splits": ("splits/splits.py", {"dataset": NAME}),
    "studies": ("studies/studies.py", {"study": NAME}),
    "baselines": ("baselines/baselines.py", {"dataset": NAME}),
    "data": ("data/data.py", {}),
    "home": ("home/home.py", {}),
}


@pytest.fixture
def hostile(a_run: Callable[..., RunRecord], store: Store, a_fold: Any) -> dict[str, str]:
    """Ids of two runs of which others wrote what they could."""
    metric = Metric("clicks", higher_is_better=True, unit=UNIT, title=NAME)
    settings = {"tracked": True, "rule": "fixed", "min_folds": 4, "metric": metric}
    run = a_run(algorithm=NAME[:60], state=RunState.RUNNING, **settings)
    for fold, score in enumerate(SCORES):
        energy = Energy(
            **dict.fromkeys(("joules", "cpu_joules", "gpu_joules", "ram_joules"), 36.0),
            grams_co2e=0.004,
            source="plug",
            readings=tuple(
                Reading(
                    meter=f"{number} {UNIT}",
                    source="plug",
                    joules=36,
                    low_joules=30,
                    high_joules=40,
                    gap_seconds=2,
                )
                for number in range(2)
            ),
        )
        node = Node(host=UNIT, hardware=f"{fold % 2} {UNIT}", began_at=datetime.now(UTC))
        result = replace(a_fold(fold, score, "plug"), energy=energy, node=node)
        store.add_fold(run.run_id, result, stopped_at=4)
    store.finish(run.run_id, RunState.FINISHED)
    other = a_run(SCORES, stopped_at=4, algorithm="other", **settings)
    del METRICS["clicks"]  # another program reported it
    label = Label(name=NAME, tags=("[g](//evil.example)",), note=NOTE)
    label_runs(store, {run.run_id: label})
    return {"run": run.run_id, "other": other.run_id}


@pytest.mark.usefixtures("registries_as_they_were")
@pytest.mark.parametrize("page", PAGES)
def test_text_of_others_does_nothing_on_any_page(
    app: AppTest, hostile: dict[str, str], page: str
) -> None:
    path, params = PAGES[page]
    app.switch_page(path)
    for name, value in params.items():
        app.query_params[name] = value.format(**hostile)
    app.run()
    assert not app.exception
    acting = []
    for element in elements(app._tree):
        values = MessageToDict(element.proto)
        for field, text in texts_of(values):
            if acts(element.type, field, text):
                acting.append((element.type, field, text[:300]))
    assert not acting


def acts(kind: str, field: str, text: str) -> bool:
    """Whether a text of the page would become a link or a tag, or hides what is written."""
    if (kind, field) in PLAIN:
        return False
    if kind != "bidi_component":
        return bool(MARKDOWN_LINK.search(text) or UNSEEN.search(text))
    if field == "html" and re.search(r"""href=["'](?:javascript|//)""", text):
        return True
    # A component's text is HTML, or a figure of Plotly.
    return bool(TAG_OF_A_LINK.search(text) or UNSEEN.search(text))


def elements(block: Any) -> Iterator[Any]:
    """All elements of a page, those that hold others too."""
    for child in block.children.values():
        if getattr(child, "proto", None) is not None:
            yield child
        if hasattr(child, "children"):
            yield from elements(child)


def texts_of(value: Any, field: str = "") -> Iterator[tuple[str, str]]:
    """The texts in what a page sends, each with the name of its field; JSON is read."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from texts_of(part, name)
    elif isinstance(value, list):
        for part in value:
            yield from texts_of(part, field)
    elif isinstance(value, str):
        if value[:1] in ("{", "["):
            try:
                inside = json.loads(value)
            except ValueError:
                pass
            else:
                if field == "columns":
                    yield field, value
                else:
                    yield from texts_of(inside, field)
                return
        yield field, value
