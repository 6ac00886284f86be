"""A button that saves a split as a ZIP archive that others can use."""

from __future__ import annotations

from functools import partial

import streamlit as st

from ecv_core.fold import split_archive
from ecv_core.records import RunSpec

_HELP = {
    "csv": "What is learnt from and what is held out, as CSV, with a README that says how it was "
    "made; another e-fold can import it.",
    "recbole": "A folder per fold with RecBole's benchmark files, and a README that says which "
    "settings to use.",
}


def split_download(spec: RunSpec, *, key: str, label: str, form: str = "csv") -> None:
    """The button; the archive is made when it is pressed.

    Args:
        spec: whose split it is; the dataset must be on disk.
        key: of the button.
        label: on it.
        form: one of `ecv_core.splits.FORMS`.
    """
    ending = "" if form == "csv" else f"-{form}"
    st.download_button(
        label,
        partial(split_archive, spec, form),
        file_name=f"{spec.dataset}-{spec.split}-seed{spec.seed}{ending}.zip",
        mime="application/zip",
        icon=":material/download:",
        key=key,
        on_click="ignore",
        help=_HELP[form],
    )
