"""The HTML templates of reports and saved pages; no text of others acts in them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ecv_core.figures.palette import DARK, LIGHT
from ecv_core.untrusted.texts import blank_hidden_characters

if TYPE_CHECKING:
    from jinja2 import Environment


def _visible_text(value: object) -> object:
    """What a template writes; text that is no markup of ours without signs that nobody sees."""
    if type(value) is str:
        return blank_hidden_characters(value)
    return value


@cache
def templates() -> Environment:
    """What pages are made of: their text is escaped, and a name that is not given is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        finalize=_visible_text,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.globals["colours"] = LIGHT
    templates.globals["dark"] = DARK
    return templates
