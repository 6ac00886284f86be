"""For my paper: text, table, BibTeX, figures and folds to release, made when it is opened."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from ecv_core import dataset as datasets
from ecv_core.figures.report.describe import Description
from ecv_core.figures.report.latex import PAPER_NAMES, PAPER_URL
from ecv_core.figures.words import dataset_title
from ecv_core.records.run import RunRecord
from ecv_core.records.spec import Role, RunSpec
from ecv_core.store.made_with import made_with as environment_of
from pages.shared.charts.plot import print_figures
from pages.shared.live.state import errors_as_sentences, escaped, store
from pages.shared.widgets.setting_widgets import split_download

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER_LINK = f"[{PAPER_NAMES}]({PAPER_URL})"
"""The paper whose method this is, as Markdown."""


def draw_paper_panel(
    describe: Callable[[], Description],
    *,
    key: str,
    pictures: Mapping[str, Callable[[], Figure]],
    title: str,
    specs: Iterable[RunSpec],
) -> None:
    """A closed panel with all that a paper takes from a page.

    Args:
        describe: Gives the text; called when the panel is open.
        key: The key of the panel; no other on the page has it.
        pictures: Name -> what draws it, as in `ecv_core.figures.report`; pure functions of data.
        title: What they show, such as 'item-knn on ml-100k, alpha 1e-4'; kept in each file.
        specs: Whose folds can be released; none for scores from a file.
    """
    box = st.expander(
        "For my paper", icon=":material/article:", key=f"paper-{key}", on_change="rerun"
    )
    if not box.open:
        return
    with box, errors_as_sentences():
        description = describe()
        names = ["Text", "LaTeX", "BibTeX", "Figures", "Folds"]
        plain, latex, references, figures, folds = st.tabs(names, key=f"paper-tabs-{key}")
        with plain:
            st.code(description.methods, language=None, wrap_lines=True)
        with latex:
            st.code(description.latex, language="latex", wrap_lines=True)
            if description.table:
                st.code(description.table, language="latex")
        with references:
            st.code(description.bibtex, language="bibtex")
        with figures:
            print_figures(pictures, key=key, title=title)
        with folds:
            _offer_folds(specs, key)


def _offer_folds(specs: Iterable[RunSpec], key: str) -> None:
    """A button for each split whose data are here."""
    spec_of_split = {}
    for spec in specs:
        # Specs that agree in the settings of the split have the same folds, even if they run only
        # some.
        settings_of_split = str(replace(spec, only_folds=()).settings_with_roles(Role.FOLDS))
        spec_of_split[settings_of_split] = spec
    if not spec_of_split:  # scores from a file have no specs
        st.caption("The folds were made by other software; release them from there.")
    for number, spec in enumerate(spec_of_split.values()):
        title = dataset_title(spec.dataset)
        entry = datasets.catalogue().get(spec.dataset)
        if entry is not None and datasets.available(entry):
            label = f"The folds of {title}, seed {spec.seed}"
            split_download(spec, key=f"paper-folds-{key}-{number}", label=escaped(label))
        else:
            st.caption(escaped(f"{title} is not on this machine, so its folds are not either."))


def machine_and_versions(runs: Sequence[RunRecord]) -> Mapping[str, Any]:
    """The machine and the versions that runs of this dashboard were computed with."""
    return environment_of(runs, store())
