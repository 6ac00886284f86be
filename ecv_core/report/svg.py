"""Shapes and scales -> SVG text that needs no script, no style sheet and no font of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

FONT = "Arial, Helvetica, 'Liberation Sans', sans-serif"
Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """A linear map from data to pixels."""

    data: tuple[float, float]
    pixels: tuple[float, float]

    def __call__(self, value: float) -> float:
        """Where a value lies, in pixels."""
        (low, high), (start, end) = self.data, self.pixels
        return start + (value - low) / (high - low) * (end - start)


def ticks(low: float, high: float, most: int) -> list[float]:
    """Round values from low to high, at most this many (but at least one step), 1-2-5 apart."""
    raw = (high - low) / most
    power = 10.0 ** floor(log10(raw))
    step = next(power * size for size in (1, 2, 5, 10) if power * size >= raw * (1 - 1e-9))
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [round(index * step, 12) for index in range(first, last + 1)]


def drawing(parts: Iterable[str], *, width: int, height: int, alt: str) -> str:
    """An `<svg>` of these parts that scales with its place.

    Args:
        parts: elements, each already escaped.
        width: of the view box, in pixels.
        height: likewise.
        alt: one sentence for those who do not see it.
    """
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'font-family="{FONT}" font-size="13"><title>{escape(alt)}</title>'
        + "".join(parts)
        + "</svg>"
    )


def element(name: str, content: str = "", **attributes: str | float) -> str:
    """One element; `stroke_width=2` becomes `stroke-width="2"`. `content` is escaped already."""
    written = "".join(
        f' {key.replace("_", "-")}="{escape(_number(value))}"' for key, value in attributes.items()
    )
    return f"<{name}{written}>{content}</{name}>" if content else f"<{name}{written}/>"


def text(words: str, x: float, y: float, **attributes: str | float) -> str:
    """Words at a place; they are escaped here."""
    return element("text", escape(words), x=x, y=y, **attributes)


def path(points: Sequence[Point], **attributes: str | float) -> str:
    """A line through these points."""
    steps = " ".join(
        f"{'L' if index else 'M'}{_number(x)} {_number(y)}" for index, (x, y) in enumerate(points)
    )
    look: dict[str, str | float] = {"fill": "none", **attributes}
    return element("path", "", d=steps, **look)


def _number(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")
