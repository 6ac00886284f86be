"""Choices that are in the address and stay while one visits other pages; the button that starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.typing import UploadedFile

from ecv_core.access.roles import Action
from ecv_core.figures.words import (
    algorithm_title,
    counted,
    dataset_title,
    in_catalogue_order,
    runs_in_catalogue_order,
    titles_of,
)
from ecv_core.records.run import RunRecord
from ecv_core.records.spec import RunSpec
from ecv_core.untrusted.limits import max_upload_mb
from pages.shared.address.link import translate_address
from pages.shared.base.rows import row_container
from pages.shared.live.person import why_not
from pages.shared.live.state import KEPT_IN_ADDRESS, escaped


def pick_one(
    label: str,
    options: Sequence[str],
    key: str,
    *,
    usual: str = "",
    words: Callable[[str], str] = str,
    **overrides: Any,  # noqa: ANN401  arguments of the widget
) -> str:
    """One of the options, picked in a box; an earlier pick that is none of them is forgotten.

    Args:
        label: The label of the box.
        options: At least one.
        key: The key of the widget, and in the address.
        usual: What is picked at first; the first option if it is none of them.
        words: An option as shown.
        overrides: Width, help and what else the box takes.
    """
    # An earlier pick, made when there were other options, is forgotten.
    if st.session_state.get(key, options[0]) not in options:
        del st.session_state[key]
    if usual not in options:
        usual = options[0]
    arguments = {"width": 260, "format_func": words, **KEPT_IN_ADDRESS, **overrides}
    picked = st.selectbox(label, options, index=options.index(usual), key=key, **arguments)
    return str(picked or usual)


def pick_several(
    label: str,
    titles: Mapping[str, str],
    key: str,
    **overrides: Any,  # noqa: ANN401  arguments of the widget
) -> list[str]:
    """Some of several pills, at first all; earlier picks among other pills are forgotten.

    Args:
        label: The label of the pills.
        titles: What can be picked -> as shown.
        key: The key of the widget, and in the address.
        overrides: Help and what else the pills take.
    """
    labels = {option: escaped(title) for option, title in titles.items()}
    translate_address(key, labels, warns_of_unknown=True, in_popover=True)
    options = list(labels)
    # Earlier picks, made when there were other options, are forgotten.
    if not set(st.session_state.get(key, options)) <= set(options):
        st.session_state[key] = options
    return st.pills(
        label,
        options,
        selection_mode="multi",
        default=options,
        format_func=labels.__getitem__,
        key=key,
        **KEPT_IN_ADDRESS,
        **overrides,
    )


def switch(
    label: str,
    options: Sequence[str],
    key: str,
    **overrides: Any,  # noqa: ANN401  arguments of the widget
) -> str:
    """One of a few options that are all seen, at first the first."""
    arguments = {
        "default": options[0],
        "required": True,
        **KEPT_IN_ADDRESS,
        **overrides,
    }
    return str(st.segmented_control(label, options, key=key, **arguments) or options[0])


def start_button(label: str, words: str, *, key: str, disabled: bool) -> bool:
    """Whether it is pressed; beside it, in Markdown, what would start or what to do first."""
    with row_container():
        pressed = st.button(
            label, type="primary", icon=":material/play_arrow:", key=key, disabled=disabled
        )
        st.markdown(words)
    return pressed


def picked_line(*, key: str) -> tuple[DeltaGenerator, DeltaGenerator]:
    """A line for what is picked, once that is known, and what opens beside it.

    Args:
        key: The key of the line.

    Returns:
        Where the words go, and where the widgets go.
    """
    with row_container(key=key, width="content"):
        words = st.container(width="content")
        widgets = st.popover("Choose", icon=":material/tune:")
    return words, widgets


def pick_runs(
    runs: Sequence[RunRecord], offered_specs: Sequence[RunSpec] = (), *, prefix: str = ""
) -> list[RunRecord]:
    """The runs of the datasets and algorithms that are picked, in the order of both; all at first.

    Args:
        runs: To pick among.
        offered_specs: Specs whose datasets and algorithms can be picked, so that the choice stays
            as runs come in; by default those of the runs.
        prefix: The prefix of the keys of both widgets, and of their names in the address.
    """
    specs = offered_specs or [run.spec for run in runs]
    datasets = in_catalogue_order(spec.dataset for spec in specs)
    algorithms = in_catalogue_order(spec.algorithm for spec in specs)
    picked_datasets = pick_several(
        "Datasets", titles_of(datasets, dataset_title), f"{prefix}datasets"
    )
    picked_algorithms = pick_several(
        "Algorithms", titles_of(algorithms, algorithm_title), f"{prefix}algorithms"
    )
    picked = []
    for run in runs:
        if run.spec.dataset in picked_datasets and run.spec.algorithm in picked_algorithms:
            picked.append(run)
    return runs_in_catalogue_order(picked)


def runs_words(runs: Sequence[RunRecord]) -> str:
    """'**46 runs**: 6 datasets, 8 algorithms, seed 42', as Markdown."""
    datasets = set()
    algorithms = set()
    seeds = set()
    for run in runs:
        datasets.add(run.spec.dataset)
        algorithms.add(run.spec.algorithm)
        seeds.add(run.spec.seed)
    seed = counted(len(seeds), "seed")
    if len(seeds) == 1:
        seed = f"seed {min(seeds)}"
    return (
        f"**{counted(len(runs), 'run')}**: {counted(len(datasets), 'dataset')}, "
        f"{counted(len(algorithms), 'algorithm')}, {seed}"
    )


_EXAMPLE = "model-a,model-b\n0.301,0.284\n0.317,0.279\n0.309,0.291\n0.312,0.283\n0.296,0.288\n"


_KINDS = ["csv", "tsv", "json", "gz", "parquet"]


def ask_for_scores_file(format_words: str, *, key: str) -> UploadedFile | None:
    """A file of fold scores of any program; while there is none, how it has to look.

    Args:
        format_words: What is in it, in a sentence.
        key: The key of the widget.
    """
    refusal = why_not(Action.UPLOAD)
    if refusal:
        st.info(refusal, icon=":material/lock:")
        return None
    left_column, right_column = st.columns([2, 1], vertical_alignment="bottom")
    file = left_column.file_uploader(
        "Fold scores", type=_KINDS, key=key, max_upload_size=max_upload_mb(), help=format_words
    )
    right_column.download_button(
        "An example file",
        _EXAMPLE,
        file_name="fold-scores.csv",
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
    )
    if file is None:
        st.caption(format_words)
    return file
