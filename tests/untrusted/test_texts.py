"""Text of others in what is no page: charts, reports, LaTeX, a terminal."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable

import numpy as np
import plotly.graph_objects as go
import pytest

from ecv_core.cli.terminal import visible_on_terminals
from ecv_core.figures.palette import LIGHT, Step, base_layout, lay_out, steps_json
from ecv_core.figures.report import latex
from ecv_core.figures.report.html_templates import templates
from ecv_core.untrusted.texts import disarm_chart_text

LINK = "<a href='javascript:alert(1)'>"
SCRIPT = "<script>alert(1)</script>"
HOSTILE = f"a{LINK}b</a>{SCRIPT}\x1b[31m\u202ec"


def in_a_trace() -> str:
    trace = go.Scatter(
        x=[1],
        y=[HOSTILE],
        name=HOSTILE,
        text=np.array([HOSTILE], dtype=object),
        customdata=[[HOSTILE, 1.0]],
        hovertemplate=f"{HOSTILE}<extra></extra>",
    )
    return json.dumps(lay_out(go.Figure(trace), base_layout(LIGHT, 100)).to_plotly_json(), **PLAIN)


def in_a_layout() -> str:
    axis = {"title": {"text": HOSTILE}, "tickvals": [1], "ticktext": [HOSTILE]}
    notes = [{"text": HOSTILE, "showarrow": False}]
    figure = lay_out(go.Figure(), base_layout(LIGHT, 100), xaxis=axis, annotations=notes)
    return json.dumps(figure.to_plotly_json(), **PLAIN)


def in_a_step() -> str:
    steps = json.loads(steps_json([Step(alt="", changes={0: {"text": [HOSTILE]}})]))
    return json.dumps(steps, **PLAIN)


def in_a_report() -> str:
    return templates().from_string("{{ text }}").render(text=HOSTILE)


def in_latex() -> str:
    table = latex.latex_table(["a", "b"], [[HOSTILE, "1"]], caption=HOSTILE, label="x")
    return table + latex.escaped(HOSTILE)


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_stdout() -> str:
    return on_a_terminal("stdout")


def on_stderr() -> str:
    return on_a_terminal("stderr")


def on_a_terminal(name: str) -> str:
    terminal = FakeTerminal()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"sys.{name}", terminal)
        with visible_on_terminals():
            print(HOSTILE, file=getattr(sys, name))
    return terminal.getvalue()


PLAIN = {"ensure_ascii": False, "default": lambda array: array.tolist()}
SINKS = {
    "trace": in_a_trace,
    "layout": in_a_layout,
    "step": in_a_step,
    "report": in_a_report,
    "LaTeX": in_latex,
    "stdout": on_stdout,
    "stderr": on_stderr,
}


@pytest.mark.parametrize("sink", SINKS.values(), ids=SINKS)
def test_a_sign_that_nobody_sees_comes_out_nowhere(sink: Callable[[], str]) -> None:
    text = sink()
    assert not {"\x1b", "\u202e"} & set(text)
    assert "\\u001b" not in text  # as JSON has it


@pytest.mark.parametrize("name", ["trace", "layout", "step", "report"])
def test_a_tag_of_others_is_text(name: str) -> None:
    text = SINKS[name]()
    assert "&lt;a href=" in text
    assert "<a " not in text
    assert "<script" not in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<b>0.31</b><br>of 5", "<b>0.31</b><br>of 5"),  # our own
        ("<span style='font-size:13px'>x</span>", "<span style='font-size:13px'>x</span>"),
        ("%{y}<extra></extra>", "%{y}<extra></extra>"),
        ("a < b", "a &lt; b"),
        ("<A HREF=x>", "&lt;A HREF=x>"),
        ("<b onclick=x>", "&lt;b onclick=x>"),
        ("<span style='color:red'>", "&lt;span style='color:red'>"),
        ("<img src=x>", "&lt;img src=x>"),
    ],
)
def test_a_chart_has_our_tags_alone(text: str, shown: str) -> None:
    assert disarm_chart_text(text) == shown


def test_what_is_no_terminal_gets_every_sign() -> None:
    file = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", file)
        with visible_on_terminals():
            print("a\x1b")
    assert file.getvalue() == "a\x1b\n"


def test_a_progress_bar_goes_back_to_the_beginning_of_its_line() -> None:
    terminal = FakeTerminal()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stderr", terminal)
        with visible_on_terminals():
            print("\r50 %", file=sys.stderr)
    assert terminal.getvalue() == "\r50 %\n"
