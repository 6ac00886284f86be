"""A button that copies the address of what is on the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import streamlit as st

_HERE = Path(__file__).parent

_link = st.components.v2.component(
    "ecv_link",
    html="""
<div class="ecv-link">
  <button type="button" title="Whoever opens it sees this view">
    <svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2"
      stroke-linecap="round" aria-hidden="true">
      <path d="M10 14a4.5 4.5 0 0 0 6.4 0l3-3a4.5 4.5 0 0 0-6.4-6.4l-1 1"/>
      <path d="M14 10a4.5 4.5 0 0 0-6.4 0l-3 3a4.5 4.5 0 0 0 6.4 6.4l1-1"/>
    </svg>
    <span class="ecv-link-label">Copy link</span>
  </button>
  <input type="text" readonly hidden aria-label="Link to this view">
  <span role="status" style="position:absolute;clip-path:inset(50%);width:1px;height:1px"></span>
</div>""",
    css=(_HERE / "link.css").read_text(encoding="utf-8"),
    js=(_HERE / "link.js").read_text(encoding="utf-8"),
    isolate_styles=False,
)


def copy_link(
    params: Mapping[str, str | Sequence[str]] | None = None, *, key: str = "copy-link"
) -> None:
    """A button that copies the page's address, with what is at its default written out.

    Streamlit leaves a choice at its default out of the address. Where that default may be another
    one elsewhere or tomorrow (the newest run, all datasets), name it here.

    Args:
        params: query parameter -> its value, or its values, for when the address leaves it out.
        key: the same key is the same button.
    """
    written = {
        name: [value] if isinstance(value, str) else list(value)
        for name, value in (params or {}).items()
    }
    _link(key=key, data={"params": written})


def chosen(*keys: str) -> dict[str, list[str]]:
    """The values of these widgets as query parameters; those that are not on the page are left out.

    Args:
        keys: of widgets with `bind="query-params"`.
    """
    found = {}
    for key in keys:
        value = st.session_state.get(key)
        if value is None:
            continue
        values = value if isinstance(value, list | tuple) else [value]
        found[key] = [str(one) for one in values]
    return found
