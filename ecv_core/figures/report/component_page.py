"""A picture that draws itself in the browser -> one HTML page that needs no server."""

from __future__ import annotations

from collections.abc import Mapping

from ecv_core.figures.palette import css_variables
from ecv_core.figures.report.moving import script_json
from ecv_core.figures.report.run_report import templates

_BEGINNING = "export default function "
"""Of what a component's script draws with."""


def component_page(
    *, title: str, under: str, html: str, style: str, script: str, data: Mapping[str, object]
) -> str:
    """One HTML page with a component of the dashboard, whose own buttons work in it.

    Args:
        title: of the picture.
        under: a line below the title.
        html: what the component begins with.
        style: its style sheet.
        script: its module, which exports one function by default.
        data: what that function draws.

    Returns: HTML that loads nothing from anywhere; title, line and data are escaped.
    """
    from markupsafe import Markup

    page = templates().get_template("component.html")
    return page.render(
        title=title,
        under=under,
        variables=Markup(css_variables()),
        style=Markup(style),
        html=Markup(html),
        script=Markup(script.replace(_BEGINNING, "const drawPicture = function ")),
        data=script_json(data),
    )
