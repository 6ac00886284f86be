"""How each part of a split looks, everywhere: a colour, a shape and a hatching of its own."""

from __future__ import annotations

from dataclasses import dataclass

from ecv_core.figures.palette import Palette


@dataclass(frozen=True, slots=True, kw_only=True)
class PartStyle:
    """Colour, marker symbol and bar pattern, as Plotly names them."""

    colour: str
    symbol: str
    pattern: str


def part_styles(colours: Palette) -> dict[str, PartStyle]:
    """By the part's word, in the order of legends and stacks."""
    blue, red, green, violet, _, ink = colours.series
    return {
        "training": PartStyle(colour=blue, symbol="circle", pattern=""),
        "fold-in": PartStyle(colour=green, symbol="square", pattern="\\"),
        "validation": PartStyle(colour=violet, symbol="triangle-up", pattern="."),
        "test": PartStyle(colour=red, symbol="diamond", pattern="/"),
        "unused": PartStyle(colour=colours.muted, symbol="circle-open", pattern="-"),
        "unknown": PartStyle(colour=ink, symbol="x", pattern="x"),
    }
