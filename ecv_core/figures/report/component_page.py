"""A picture that draws itself in the browser -> one HTML page that needs no server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ecv_core.figures.palette import css_variables
from ecv_core.figures.report.html_templates import templates
from ecv_core.figures.report.moving import script_json

_EXPORTED_FUNCTION = "export default function "
"""How the function begins that a component's script draws with."""


def component_page(
    *,
    title: str,
    under: str,
    html: str,
    style: str,
    script: str,
    data: Mapping[str, object],
    follows: str = "",
    fold_seconds: Sequence[float] = (),
) -> str:
    """One HTML page with a component of the dashboard, whose own buttons work in it.

    Args:
        title: The title of the picture.
        under: A line below the title.
        html: What the component begins with.
        style: Its style sheet.
        script: Its module, which exports one function by default.
        data: What that function draws.
        follows: The player that it follows, which is then on the page; empty for none.
        fold_seconds: For which the player shows each fold, in proportion.

    Returns:
        HTML that loads nothing from anywhere; title, line and data are escaped.
    """
    from markupsafe import Markup

    plays = None
    if follows:
        plays = script_json({"name": follows, "seconds": list(fold_seconds)})
    page = templates().get_template("component.html")
    return page.render(
        title=title,
        under=under,
        variables=Markup(css_variables()),
        style=Markup(style),
        html=Markup(html),
        script=Markup(script.replace(_EXPORTED_FUNCTION, "const drawPicture = function ")),
        data=script_json(data),
        plays=plays,
        last=len(fold_seconds),
    )
