"""What a report says -> one HTML file, from the templates beside this module."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"


def page(template: str, **said: Any) -> str:  # noqa: ANN401  whatever the template names
    """A whole HTML document: no script, nothing loaded from anywhere, A4 when printed.

    Args:
        template: its name in TEMPLATES.
        said: what the template names; text is escaped there, `Markup` is not.
    """
    return _environment().get_template(template).render(said)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
