"""What others write does nothing on a page: no link, no tag, no sign that nobody sees."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from streamlit.testing.v1 import AppTest

from ecv_core.evaluation import METRICS, Metric
from ecv_core.records.run import Energy, Node, Reading, RunRecord, RunState
from ecv_core.store.listing import Label, label_runs
from ecv_core.store.plans import SELECTION, STUDY, PlannedRun, keep_plan
from ecv_core.store.store import Store
from tests.pages.test_forged_messages import TERMS

SCORES = (0.30, 0.31, 0.305, 0.3075)
NAME = "[n](//evil.example) <a href='//evil.example'>n</a>"
"""A model's name may hold no colon."""
UNIT = "[u](javascript:alert(1)) <a href='javascript:alert(1)'>u</a>"
SIGNS = "<img src=x onerror=alert(7)> $\\alpha_7$ *b7*"
"""A picture, a formula and a style; again without a colon."""
COLOUR = ":red[x7] :smile7:"
NOTE = (
    "[t](javascript:alert(1)) https://evil.example www.evil.example \u202e\x1b[31m "
    f"{SIGNS} {COLOUR}"
)
PLAIN = {
    ("code", "codeText"),
    ("text_area", "value"),
    ("text_input", "value"),
    ("multiselect", "options"),
    ("selectbox", "options"),
    ("selectbox", "rawValue"),
    ("bidi_component", "alt"),  # an attribute, and so are the next
    ("bidi_component", "alts"),
    ("bidi_component", "says"),  # lanes.js sets it as textContent
    ("dataframe", "alt"),
    ("dataframe", "columns"),
}
"""Kind of an element and its field, of those whose text Streamlit shows as it is."""
MARKDOWN = re.compile(
    r"(?<!\\)\]\((?:javascript|//)|https?://evil|www\.evil"
    r"|(?<!\\)(?:<img src=x|\$\\alpha_7|\*b7|:red\[x7|:smile7)"
)
TAG = re.compile(r"""<a\s+href=['"]?(?:javascript|//)|<img src=x""")
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
    "race": ("replay/replay.py", {"view": "Race", "run": "{run}"}),
    "run of signs": ("run/run.py", {"run": "{other}"}),
    "form": ("run/run.py", dict.fromkeys(("dataset", "algorithm", "metric", "split", "k"), NOTE)),
    "own study": ("studies/studies.py", {"study": "{study}"}),
    "ranks": ("studies/studies.py", {"view": "Splits and ranks", "study": NOTE}),
    "metrics": ("studies/studies.py", {"view": "Metrics", "tuning": NOTE}),
    "own selection": ("best/best.py", {"selection": "{selection}"}),
    "run that is not there": ("run/run.py", {"run": NOTE}),
    "comparison with what is not there": (
        "runs/runs.py",
        {"view": "compare", "runs": "{run}," + NOTE},
    ),
}


@pytest.fixture
def hostile(a_run: Callable[..., RunRecord], store: Store, a_fold: Any) -> dict[str, str]:
    """Ids of two runs of which others wrote what they could."""
    metric = Metric("clicks", higher_is_better=True, unit=UNIT, title=f"{NAME} {SIGNS} {COLOUR}")
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
    other = a_run(SCORES, stopped_at=4, algorithm=SIGNS, **settings)
    del METRICS["clicks"]  # another program reported it
    labels = {
        run.run_id: Label(name=NAME, tags=("[g](//evil.example)", COLOUR), note=NOTE),
        other.run_id: Label(name=f"{SIGNS} {COLOUR}", tags=(SIGNS[:30],), note=NOTE),
    }
    label_runs(store, labels)
    contenders = [PlannedRun(name=made.spec.algorithm, spec=made.spec) for made in (run, other)]
    return {
        "run": run.run_id,
        "other": other.run_id,
        "study": keep_plan(store, STUDY, contenders),
        "selection": keep_plan(store, SELECTION, contenders, TERMS),
    }


def acting_texts(app: AppTest) -> list[tuple[str, str, str]]:
    """Kind, field and beginning of every text of the page that would do something."""
    assert not app.exception
    acting = []
    for element in elements(app._tree):
        values = MessageToDict(element.proto)
        for field, text in texts_of(values):
            if acts(element.type, field, text):
                acting.append((element.type, field, text[:300]))
    return acting


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
    assert not acting_texts(app)


FILES = {
    "scores of contenders": ("best/best.py", {"selection": "file"}),
    "scores of folds": ("folds/folds.py", {"source": "My file"}),
    "data": ("data/data.py", {}),
}


@pytest.mark.parametrize("page", FILES)
def test_a_file_of_others_does_nothing_on_any_page(
    app: AppTest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, page: str
) -> None:
    monkeypatch.setenv("ECV_DATA_DIR", str(tmp_path / "data"))
    path, params = FILES[page]
    app.switch_page(path)
    for name, value in params.items():
        app.query_params[name] = value
    app.run()
    text = io.StringIO()
    rows = csv.writer(text)
    if page == "data":
        rows.writerow([NOTE, NAME, UNIT, COLOUR])
        for row in range(60):
            rows.writerow([f"{NAME}{row % 6}", f"{SIGNS}{row // 6}", row % 5 + 1, UNIT])
        rows.writerow(["", UNIT, NOTE, NOTE])
    else:
        rows.writerow([f"{NAME} {COLOUR}", SIGNS, UNIT])
        rows.writerows([score, score / 2, score * 2] for score in SCORES)
    (uploader,) = app.file_uploader
    uploader.upload(f"{NAME} {SIGNS} {COLOUR}.csv", text.getvalue().encode(), "text/csv").run()
    assert not acting_texts(app)


def acts(kind: str, field: str, text: str) -> bool:
    """Whether a text of the page would become a link or a tag, or hides what is written."""
    if (kind, field) in PLAIN:
        return False
    if kind not in ("bidi_component", "html"):
        return bool(MARKDOWN.search(text) or UNSEEN.search(text))
    if field in ("html", "body") and re.search(r"""href=["'](?:javascript|//)""", text):
        return True
    # A component's text is HTML, or a figure of Plotly.
    return bool(TAG.search(text) or UNSEEN.search(text))


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
