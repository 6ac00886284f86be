"""What several chapters share: the sentence to take home, the data behind a picture."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
import streamlit as st

from pages.components.shared.chart_table import chart_table
from pages.components.shared.slider_watch import numbers


def takeaway(text: str) -> None:
    """The lesson below a picture, in Markdown."""
    with st.container(key="learn-takeaway"):
        st.markdown(text)


def numbers_behind(frame: pd.DataFrame, name: str) -> None:
    """The table behind the picture above, on demand, and its CSV; `name` is the file's."""
    chart_table(lambda: frame, key=f"learn-{name}", name=name, alt="the picture above.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Moving:
    """What follows a slider in the browser: per step a sentence and some numbers."""

    slider: str
    key: str
    labels: list[tuple[str, str]]
    """Of each number, with what it means."""
    values: list[list[str]]
    notes: list[list[str]]
    sentences: list[str]

    def say(self) -> None:
        """The sentence, to be read before the picture."""
        numbers(
            self.slider,
            key=f"{self.key}-said",
            labels=[],
            values=[],
            notes=[],
            sentences=self.sentences,
        )

    def count(self) -> None:
        """The numbers, below the picture."""
        numbers(
            self.slider,
            key=f"{self.key}-counted",
            labels=self.labels,
            values=self.values,
            notes=self.notes,
            sentences=[""] * len(self.sentences),
        )
