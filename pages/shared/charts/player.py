"""Play, pause, step and scrub through the steps of figures and numbers, in the browser alone."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.shared.base.component import component
from pages.shared.base.present import presenting

_player = component(
    __file__,
    "ecv_player",
    html='<div class="ecv-player"></div>',
    css="player.css",
    js=["player.js"],
)


def draw_player(
    name: str,
    *,
    version: str,
    texts: Sequence[str],
    seconds: Sequence[float],
    speeds: Sequence[tuple[str, float]],
    speed: float,
    step: int,
    pauses: Sequence[int] = (),
    unit: str = "fold",
    label: str,
    autoplay: bool = False,
) -> None:
    """Controls of what follows the slider `name`.

    See `plot`, `show_numbers_of_slider` and `watch_slider`.

    In a presentation there are only the keys. The step is kept in the address as `?fold=`, a speed
    other than the usual one as `?speed=`.

    Args:
        name: What figures and numbers know it by.
        version: A change of it goes back to `step`; without one the step stays.
        texts: What each step says, for those who cannot see it; one per step.
        seconds: How long each step but the last lasts at speed 1.
        speeds: What can be chosen: its text and the factor.
        speed: The factor to begin with; one of them.
        step: Where to begin.
        pauses: Steps at which playing stops by itself.
        unit: What is counted, before "3 of 10".
        label: The label of the scrub slider.
        autoplay: Begin to play at once; who asked for little motion sees the last step instead.
    """
    _player(
        key=f"player-{name}",
        data={
            "name": name,
            "version": version,
            "texts": list(texts),
            "seconds": list(seconds),
            "speeds": list(speeds),
            "speed": speed,
            "step": step,
            "pauses": list(pauses),
            "unit": unit,
            "label": label,
            "present": presenting(),
            "autoplay": autoplay,
        },
    )


def asked_step(most: int, default: int = 0) -> int:
    """The step that `?fold=` asks for, if it is one."""
    text = st.query_params.get("fold", "")
    if text.isascii() and text.isdigit() and len(text) < 9:
        return min(int(text), most)
    return default
