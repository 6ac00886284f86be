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
    subtitle: str,
    html: str,
    style: str,
    script: str,
    data: Mapping[str, object],
    player_name: str = "",
    fold_seconds: Sequence[float] = (),
) -> str:
    """One HTML page with a component of the dashboard, whose own buttons work in it.

    Args:
        title: The title of the picture.
        subtitle: A line below the title.
        html: What the component begins with.
        style: Its style sheet.
        script: Its module, which exports one function by default.
        data: What that function draws.
        player_name: The player that it follows, which is then on the page; empty for none.
        fold_seconds: For which the player shows each fold, in proportion.

    Returns:
        HTML that loads nothing from anywhere; title, line and data are escaped.
    """
    from markupsafe import Markup

    player_data = None
    if player_name:
        player_data = script_json({"name": player_name, "seconds": list(fold_seconds)})
    # The script exports a function without a name. It gets one here, by which the page calls it.
    script_with_name = script.replace(_EXPORTED_FUNCTION, "const drawPicture = function ")
    page = templates().get_template("component.html")
    return page.render(
        title=title,
        subtitle=subtitle,
        variables=Markup(css_variables()),
        style=Markup(style),
        html=Markup(html),
        script=Markup(script_with_name),
        data=script_json(data),
        player_data=player_data,
        last=len(fold_seconds),
    )
