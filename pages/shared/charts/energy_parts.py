"""What energy is made up of, as a small bar with a sentence: beside every energy on the pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

import streamlit as st

from ecv_core.energy.meter import SOURCES
from ecv_core.energy.parts import (
    CPU_PARTS,
    GPU,
    IN_NO_PART,
    MEMORY,
    UNDIVIDED,
    EnergyCost,
    EnergyPart,
    energy_parts,
    excluded_energy_words,
    parts_sentence,
    runs_without_other_work,
)
from ecv_core.energy.savings import metered_runs
from ecv_core.figures.palette import PARTS
from ecv_core.figures.words import estimate_text
from ecv_core.records.parameters import percent_text
from ecv_core.records.run import FoldResult, RunRecord, Scores

_BLUE, _SKY, _GREEN, _PINK, _YELLOW, _RED, _ORANGE = PARTS
_COLOURS = {
    CPU_PARTS["rapl"]: _BLUE,
    GPU: _GREEN,
    UNDIVIDED["plug"]: _BLUE,
    UNDIVIDED["slurm"]: _PINK,
    UNDIVIDED["command"]: _YELLOW,
    UNDIVIDED["plugin"]: _RED,
    UNDIVIDED["told"]: _YELLOW,
    IN_NO_PART: _RED,
    MEMORY: _ORANGE,
}
for _estimate_of_cpu in ("cpu-load", "constant", "mixed"):
    _COLOURS[CPU_PARTS[_estimate_of_cpu]] = _SKY


class EnergyWords(NamedTuple):
    """What energy is made up of."""

    bar: str
    """As HTML; empty where no energy is known."""
    sentence: str
    """As Markdown; may be empty."""


def draw_energy_bar(folds: Iterable[EnergyCost], note: str) -> None:
    """The bar and its sentence; the note alone where no energy is known.

    Args:
        folds: Those whose energy is shown.
        note: A sentence to say after it, such as how many runs are left out.
    """
    energy = energy_words(folds, note)
    if energy.bar:
        st.html(energy.bar)
    if energy.sentence:
        st.caption(energy.sentence)


def draw_runs_energy_bar(runs: Sequence[RunRecord]) -> None:
    """The bar of what runs used together, without those that other work disturbed."""
    metered = metered_runs(runs)
    folds: list[FoldResult] = []
    for run in runs_without_other_work(metered):
        folds += run.folds
    draw_energy_bar(folds, excluded_energy_words(metered))


def energy_sources_sentence(systems: Iterable[Scores]) -> str:
    """How the energy of these runs is known, each source once: 'Energy: estimated, metered.'"""
    sources = {SOURCES.get(system.source, system.source) for system in systems}
    return f"Energy: {', '.join(sorted(sources))}."


def energy_words(folds: Iterable[EnergyCost], note: str) -> EnergyWords:
    """The same as texts; the arguments are those of `draw_energy_bar`."""
    parts = energy_parts(folds)
    if not parts:
        return EnergyWords("", note)
    return EnergyWords(bar_html(parts), f"{parts_sentence(parts)} {note}".strip())


def bar_html(parts: Iterable[EnergyPart]) -> str:
    """The bar with a key below it: every part with its share and its watts."""
    bars = []
    keys = []
    texts = []
    for part in parts:
        colour = f"background: {_COLOURS[part.name]}"
        share = percent_text(part.percent / 100, ".0f")
        text = f"{part.name}: {share} ({estimate_text(part.watts)} W)"
        texts.append(text)
        bars.append(f'<span style="flex: {part.percent:.2f} 0 0; {colour}"></span>')
        keys.append(f'<span><i style="{colour}"></i> {escape(text)}</span>')
    label = escape("What the energy is made up of: " + ", ".join(texts))
    return (
        f'<div class="ecv-parts" role="img" aria-label="{label}">{"".join(bars)}</div>'
        f'<div class="ecv-parts-key">{"".join(keys)}</div>'
    )
