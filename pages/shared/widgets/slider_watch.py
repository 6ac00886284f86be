"""A slider that moves figures and numbers in the browser, without asking the server."""

from __future__ import annotations

from pages.shared.widgets.component import component

_watch = component(
    __file__,
    "ecv_slider_watch",
    html='<span class="ecv-watch"></span>',
    js="slider_watch.js",
)

_numbers = component(
    __file__,
    "ecv_numbers",
    html='<div class="ecv-numbers"></div>',
    css="numbers.css",
    js="numbers.js",
)


def slider_watch(name: str, *, container: str, step: int) -> None:
    """Tell figures and numbers of every move of a slider, while it moves.

    Args:
        name: what `plot` and `numbers` know the slider by.
        container: key of the container that holds the slider.
        step: where it is now, counted from 0; true also if the browser's slider is not found.
    """
    _watch(key=f"watch-{name}", data={"slider": name, "container": container, "step": step})


def numbers(
    name: str,
    *,
    key: str,
    labels: list[tuple[str, str]],
    values: list[list[str]],
    notes: list[list[str]],
    sentences: list[str],
) -> None:
    """A sentence and a row of numbers that follow a slider.

    Args:
        name: of the slider.
        key: the same key is the same row on the page.
        labels: of each number, with what it means; may be empty.
        values: per step, one text per number.
        notes: per step, a smaller line below each number.
        sentences: per step, what the numbers say.
    """
    _numbers(
        key=key,
        data={
            "slider": name,
            "labels": labels,
            "values": values,
            "notes": notes,
            "sentences": sentences,
        },
    )
