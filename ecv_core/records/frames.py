"""Tidy frames that say what their columns mean, for the tables that show them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec

if TYPE_CHECKING:
    import pandas as pd

P = ParamSpec("P")
_KEY = "columns"


def with_columns(
    texts: Mapping[str, str],
) -> Callable[[Callable[P, pd.DataFrame]], Callable[P, pd.DataFrame]]:
    """A function's frame keeps what its columns mean; `column_texts` gives it.

    Args:
        texts: Column -> what it means.
    """

    def decorated(make: Callable[P, pd.DataFrame]) -> Callable[P, pd.DataFrame]:
        @wraps(make)
        def make_with_texts(*args: P.args, **kwargs: P.kwargs) -> pd.DataFrame:
            frame = make(*args, **kwargs)
            frame.attrs[_KEY] = dict(texts)
            return frame

        return make_with_texts

    return decorated


def column_texts(frame: pd.DataFrame) -> dict[str, str]:
    """What the columns of a frame mean, as far as it says."""
    texts: dict[str, str] = frame.attrs.get(_KEY, {})
    return {name: text for name, text in texts.items() if name in frame.columns}
