"""Selections played from folds that ran before: recorded runs, grids, a file of any program."""

from __future__ import annotations

import tempfile
from pathlib import Path

import streamlit as st
from streamlit.typing import UploadedFile

from ecv_core.analysis.score_files import COLUMNS, USER, read_contenders
from ecv_core.analysis.selection import Terms, play
from ecv_core.analysis.selection.contenders import contenders_of
from ecv_core.figures.words import dataset_title
from ecv_core.jobs.plans.select import terms_for
from ecv_core.jobs.rights import Action
from ecv_core.records.run import Run, Scores
from ecv_core.records.spec import RunSpec
from ecv_core.store.recorded import (
    GRIDS,
    configuration_names,
    read_configurations,
    recorded_runs,
    specs_of,
)
from ecv_core.untrusted.limits import max_upload_mb
from pages.best.settings import Asked
from pages.best.show import Shown, show
from pages.shared.live.acting import why_not
from pages.shared.live.state import KEPT, results


def recorded(name: str, asked: Asked) -> Shown:
    """A recorded selection.

    Args:
        name: a dataset of the recorded study, or a recorded grid.
        asked: what it is to find out.
    Raises: InputError for a damaged file.
    """
    of_grid = name in configuration_names(GRIDS)
    contenders, specs = _grid(name) if of_grid else _study(name)
    terms = terms_for(specs[0], **asked)
    return Shown(
        contenders=contenders,
        terms=terms,
        played=play(contenders, terms, range(terms.k)),
        version=name,
        specs=specs,
        runs=[] if of_grid else _runs_of(name),
    )


def how_many_recorded(shown: Shown) -> None:
    """The next question, of exactly these runs; nothing of a grid, whose runs are not kept."""
    if shown.runs:
        st.page_link(
            "folds/folds.py",
            label="How many folds, at what risk?",
            icon=":material/tune:",
            query_params={"source": "Recorded", "datasets": dataset_title(shown.specs[0].dataset)},
        )


def _runs_of(dataset: str) -> list[Run]:
    return [run for run in recorded_runs() if run.spec.dataset == dataset]


@st.cache_resource(show_spinner="Reading the recorded folds ...", max_entries=4)
def _study(dataset: str) -> tuple[list[Scores], list[RunSpec]]:
    runs = _runs_of(dataset)
    return contenders_of(runs, results()), [run.spec for run in runs]


@st.cache_resource(show_spinner="Reading the recorded folds ...", max_entries=4)
def _grid(name: str) -> tuple[list[Scores], list[RunSpec]]:
    found = read_configurations(GRIDS / f"{name}.json")
    return found.scores, specs_of(found.spec, found.configurations)


_EXAMPLE = "Model,Fold,NDCG@10\n" + "".join(
    f"{model},{fold},{score}\n"
    for model, scores in (("model-a", (0.301, 0.317, 0.309)), ("model-b", (0.284, 0.279, 0.291)))
    for fold, score in enumerate(scores, start=1)
)


def scores_file(asked: Asked) -> None:
    """Where to drop the file, and its selection once it is there.

    Args:
        asked: what it is to find out.
    Raises: InputError for a file that cannot be used, with the reason.
    """
    if why := why_not(Action.UPLOAD):
        st.info(why, icon=":material/lock:")
        return
    file = st.file_uploader(
        "File of scores",
        type=["csv", "gz", "parquet"],
        key="best-file",
        max_upload_size=max_upload_mb(),
        help="CSV, CSV.gz or Parquet; every contender with every fold and the same users.",
    )
    lower = st.toggle("Lower is better", key="lower", **KEPT, help="As for RMSE.")
    if file is None:
        st.caption(
            f"One row per contender and fold, with the columns "
            f"{', '.join(f'`{name}`' for name in COLUMNS)} (or `Model,Fold,NDCG@10`), or one "
            f"column per contender. With every user's score, in a column `{USER}` more, it is "
            "decided earlier. It stays on this computer."
        )
        st.download_button(
            "An example file",
            _EXAMPLE,
            file_name="scores.csv",
            mime="text/csv",
            icon=":material/download:",
            on_click="ignore",
        )
        return
    with st.spinner("Reading the scores ..."):
        contenders = _read(file.file_id, file)
    terms = Terms(k=contenders[0].k, higher_is_better=not lower, **asked)
    shown = Shown(
        contenders=contenders,
        terms=terms,
        played=play(contenders, terms, range(terms.k)),
        version=file.file_id,
        file=file.name,
    )
    show(shown, autoplay=True)


@st.cache_resource(show_spinner=False, max_entries=2)
def _read(file_id: str, _file: UploadedFile) -> list[Scores]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / Path(_file.name).name
        path.write_bytes(_file.getvalue())
        return read_contenders(path)[0]
