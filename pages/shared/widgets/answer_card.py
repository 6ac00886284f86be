"""The answer at the top of a page: what it is, how sure, what it cost and what was saved."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from html import escape
from typing import NamedTuple

import streamlit as st

from pages.shared.base.component import component
from pages.shared.base.rows import row_container

_card = component(
    __file__,
    "ecv_answer",
    html='<div class="ecv-told"></div>',
    css="answer_card.css",
    js=["../live/shared.js", "answer_card.js"],
)

_LINK = re.compile(r"(?<!\\)\[([^\]]*)\]\(([^)\s]*)\)")


class _Look(NamedTuple):
    """How a certainty looks; its sign says the same as its colour."""

    words: str
    colour: str
    sign: str


class Certainty(Enum):
    """How sure an answer is."""

    SURE = _Look("sure", "success", "\u2713")
    """Nothing that is still to come is likely to change it."""
    CLOSE = _Look("close", "warning", "\u2248")
    """It is the best one, and others may be as good."""
    UNCERTAIN = _Look("uncertain", "warning", "!")
    """It is there, with a wide interval, or with a doubt that is said."""
    OPEN = _Look("not known yet", "info", "?")
    """Something is still to come."""
    UNTESTED = _Look("not tested", "info", "?")
    """No test of it is fair, and nothing is to come that changes this."""
    ENDED = _Look("not finished", "warning", "!")
    """Something is missing and does not come by itself."""
    FAILED = _Look("failed", "error", "!")
    """There is an error."""


@dataclass(frozen=True, kw_only=True)
class Amount:
    """A row of the table: of what how much was used, and how much was saved."""

    name: str
    used: str
    saved: str = ""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the card says."""

    certainty: Certainty
    headline: str
    """The answer itself: a winner, a score, a number of folds."""
    sentences: Sequence[str] = ()
    """Its interval for new users first, then why."""
    amounts: Sequence[Amount] = ()
    saved_head: str = "saved"
    details: str = ""
    """HTML behind 'Details'."""


def draw_answer_card(answer: Answer, *, draw_next_step: Callable[[], None] | None = None) -> None:
    """Draw the card; a page has one.

    Args:
        answer: What it says.
        draw_next_step: Draws a button that leads on.
    """
    draw_card({"html": answer_html(answer)}, draw_next_step=draw_next_step)


def draw_card(entries: Mapping[str, object], *, draw_next_step: Callable[[], None] | None) -> None:
    """Draw a card whose HTML all who watch are told anew as it changes.

    Args:
        entries: With the HTML as 'html'; see `shared_entries`.
        draw_next_step: As of `draw_answer_card`.
    """
    with st.container(key="presented-verdict"):
        _card(key="answer", data=dict(entries))
    if draw_next_step is not None:
        with row_container(key="answer-next"):
            draw_next_step()


def answer_html(answer: Answer) -> str:
    """The card as HTML."""
    look = answer.certainty.value
    sign = f'<i class="ecv-sign" aria-hidden="true">{look.sign}</i>'
    lines = [f'<p class="ecv-standing">{sign} {look.words}</p>']
    if answer.headline:
        lines.append(f'<p class="ecv-answer">{escape(answer.headline)}</p>')
    for sentence in answer.sentences:
        lines.append(f"<p>{escape(sentence)}</p>")
    words = f'<div class="ecv-words" role="alert">{"".join(lines)}</div>'
    details = ""
    if answer.details:
        facts = f'<div class="ecv-facts">{answer.details}</div>'
        details = f"<details><summary>Details</summary>{facts}</details>"
    return (
        f'<section class="ecv-card ecv-{look.colour}" aria-label="Answer">'
        f'<div class="ecv-main">{words}{_table(answer)}</div></section>{details}'
    )


def _table(answer: Answer) -> str:
    """What was used and saved; nothing where nothing is known."""
    if not answer.amounts:
        return ""
    # What is still to come may be saved: its column is there from the start, so that nothing moves.
    has_saved = answer.certainty is Certainty.OPEN
    for amount in answer.amounts:
        has_saved = has_saved or bool(amount.saved)
    head = '<td></td><th scope="col">used</th>'
    if has_saved:
        head += f'<th scope="col">{escape(answer.saved_head)}</th>'
    rows = []
    for amount in answer.amounts:
        row = f'<th scope="row">{escape(amount.name)}</th><td>{escape(amount.used)}</td>'
        if has_saved:
            row += f"<td>{escape(amount.saved or '-')}</td>"
        rows.append(f"<tr>{row}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


# For what is behind Details.


def text_html(markdown: str) -> str:
    """Text with links, as our sentences have them."""
    linked = _LINK.sub(
        r'<a href="\2" target="_blank" rel="noopener noreferrer">\1</a>', escape(markdown)
    )
    return re.sub(r"\\(&\w+;|[\W_])", r"\1", linked)


def captions(*texts: str) -> str:
    """Paragraphs in small type, of Markdown; empty ones are left out."""
    return "".join(f'<p class="ecv-caption">{text_html(text)}</p>' for text in texts if text)
