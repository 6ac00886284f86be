"""The form that starts a study of splits: algorithms x splits on one dataset, queued at once."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

import streamlit as st

import ecv_core.dataset as datasets
from ecv_core.jobs.plans.study import planned
from ecv_core.jobs.rights.actor import Action
from ecv_core.models import serving
from ecv_core.records.errors import EcvError
from ecv_core.records.run import Run
from ecv_core.records.spec import RunSpec, Task
from ecv_core.splits import SPLITS
from pages.shared.live.acting import why_not
from pages.shared.live.state import sentence, sentences
from pages.shared.widgets.words import algorithm_title, dataset_title, titles_of
from pages.studies.picker import begin_study, work_words
from pages.studies.swaps_choice import STUDIES, recorded_split_runs

_ALGORITHMS = ("popular", "item-knn", "user-knn", "ease")
_SPLITS = ("user-k-fold", "random-holdout", "leave-last-item", "temporal-global")
_LEAST = 2


def start_form(shown: Sequence[Run]) -> None:
    """Draw the form; on Start, queue what is not known yet and show the study.

    Args:
        shown: runs on the page; without any the form is open.
    """
    with (
        st.container(key="new-swaps"),
        st.expander("Compare splits yourself", icon=":material/add:", expanded=not shown),
    ):
        if why := why_not(Action.START_MANY):
            st.markdown(f":material/lock: {why}")
            return
        ready = [name for name, entry in datasets.catalogue().items() if datasets.available(entry)]
        dataset = st.pills(
            "Dataset",
            ready,
            format_func=titles_of(ready, dataset_title).__getitem__,
            default=ready[0],
            required=True,
            key="swaps_new_dataset",
            persist_state="session",
            help="Those on this machine. Download others on the Run page.",
        )
        algorithms = _pills(
            "Algorithms",
            titles_of(serving(Task.TOP_N), algorithm_title),
            _ALGORITHMS,
            "swaps_new_algorithms",
        )
        names = _pills("Splits", {name: name for name in SPLITS}, _SPLITS, "swaps_new_splits")
        try:
            cells = planned(
                [str(dataset)],
                [algorithm for algorithm in serving(Task.TOP_N) if algorithm in algorithms],
                [split for split in SPLITS if split in names],
                full=True,
            )
        except EcvError as error:
            st.error(sentence(error), icon=":material/error:")
            cells = []
        enough = len(algorithms) >= _LEAST and len(names) >= _LEAST
        recorded = recorded_split_runs()
        with st.container(horizontal=True, vertical_alignment="center"):
            pressed = st.button(
                "Start the comparison",
                type="primary",
                icon=":material/play_arrow:",
                key="start-swaps",
                disabled=not (enough and cells),
            )
            st.markdown(work_words(cells, recorded) if enough else _TOO_FEW)
        if enough and cells:
            st.caption("Or on the command line, recorded as files:")
            st.code(
                _command(str(dataset), [cell.spec for cell in cells]),
                language="bash",
                wrap_lines=True,
            )
        if pressed:
            with sentences():
                STUDIES.show(begin_study(cells))
                st.rerun()


_TOO_FEW = "Pick at least two algorithms and two splits."


def _pills(label: str, titles: Mapping[str, str], usual: Sequence[str], key: str) -> list[str]:
    return st.pills(
        label,
        list(titles),
        format_func=titles.__getitem__,
        selection_mode="multi",
        default=list(usual),
        key=key,
        persist_state="session",
        help="With their default parameters.",
    )


def _command(dataset: str, specs: Sequence[RunSpec]) -> str:
    algorithms = dict.fromkeys(spec.algorithm for spec in specs)
    names = dict.fromkeys(spec.split for spec in specs)
    words = ["python", "-m", "ecv_core", "study", "--datasets", dataset]
    words += ["--algorithms", ",".join(algorithms), "--splits", ",".join(names)]
    return shlex.join(words)
