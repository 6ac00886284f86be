"""What energy is made up of, as a small bar with a sentence: beside every energy on the pages."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

import streamlit as st

from ecv_core.energy.parts import (
    GPU,
    MEMORY,
    PROCESSOR,
    WHOLE,
    EnergyCost,
    EnergyPart,
    energy_parts,
    parts_sentence,
)
from ecv_core.figures.palette import PARTS
from ecv_core.figures.words import estimate

_BLUE, _SKY, _GREEN, _PINK, _YELLOW, _RED, _ORANGE = PARTS
_COLOURS = {
    PROCESSOR["rapl"]: _BLUE,
    GPU: _GREEN,
    PROCESSOR["cpu-load"]: _SKY,
    PROCESSOR["constant"]: _SKY,
    PROCESSOR["mixed"]: _SKY,
    WHOLE["plug"]: _BLUE,
    WHOLE["slurm"]: _PINK,
    WHOLE["command"]: _YELLOW,
    WHOLE["plugin"]: _RED,
    MEMORY: _ORANGE,
}


def energy_bar(folds: Iterable[EnergyCost], note: str = "") -> None:
    """The bar and its sentence; the note alone where no energy is known.

    Args:
        folds: those whose energy is shown.
        note: a sentence to say after it, such as how many runs are left out.
    """
    bar, said = energy_html(folds, note)
    if bar:
        st.html(bar)
    if said:
        st.caption(said)


def energy_html(folds: Iterable[EnergyCost], note: str = "") -> tuple[str, str]:
    """The same as HTML and Markdown; the arguments are those of `energy_bar`."""
    parts = energy_parts(folds)
    return (bar_html(parts), f"{parts_sentence(parts)} {note}".strip()) if parts else ("", note)


def bar_html(parts: Iterable[EnergyPart]) -> str:
    """The bar with a key below it: every part with its share and its watts."""
    told = [
        (part, f"{part.name}: {part.percent:.0f} % ({estimate(part.watts)} W)") for part in parts
    ]
    said = escape("What the energy is made up of: " + ", ".join(text for _, text in told))
    bars = "".join(
        f'<span style="flex: {part.percent:.2f} 0 0; background: {_COLOURS[part.name]}"></span>'
        for part, _ in told
    )
    key = "".join(
        f'<span><i style="background: {_COLOURS[part.name]}"></i> {escape(text)}</span>'
        for part, text in told
    )
    return (
        f'<div class="ecv-parts" role="img" aria-label="{said}">{bars}</div>'
        f'<div class="ecv-parts-key">{key}</div>'
    )
