"""A selection as lanes: recorded, of a file, or one's own; its sentence, its rounds."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from ecv_core.analysis.score_columns import USER
from ecv_core.analysis.score_tables import COLUMNS
from ecv_core.energy.parts import left_in_words
from ecv_core.figures.report.describe import Description, describe_selection
from ecv_core.figures.report.pictures import printed
from ecv_core.figures.selection import selection_figures, selection_steps
from ecv_core.figures.words import counted, dataset_title, metric_label
from ecv_core.jobs.plans.select import terms_for
from ecv_core.records.parameters import ParamValue, listed
from ecv_core.records.run import RunRecord, Scores
from ecv_core.records.spec import RunSpec
from ecv_core.selection.contenders import contender_title, contenders_of, varied
from ecv_core.selection.document import (
    lanes,
    step_sentences,
    verdict_sentence,
    winner_mean,
)
from ecv_core.selection.replay import Played, play
from ecv_core.selection.rounds import Terms
from ecv_core.store.recorded import (
    GRIDS,
    configuration_names,
    read_configurations,
    recorded_runs,
    specs_of,
)
from pages.best.choice import Asked
from pages.shared.address.present import present_button
from pages.shared.charts.energy_parts import energy_bar
from pages.shared.charts.player import asked_step, player
from pages.shared.charts.plot import plot
from pages.shared.live.state import escaped, results
from pages.shared.widgets.choices import scores_upload
from pages.shared.widgets.cite import for_paper, made_with
from pages.shared.widgets.score_file import file_words, scores_of
from pages.shared.widgets.sliders import numbers, slider_watch

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "selection"
_SECONDS = 1.6
_SPEEDS = [("slow, 3.2 s a round", 0.5), ("normal, 1.6 s", 1.0), ("fast, 0.8 s", 2.0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A selection as far as it has come."""

    contenders: Sequence[Scores]
    terms: Terms
    played: Played
    version: Hashable
    """Of what it was made from."""
    specs: Sequence[RunSpec] = ()
    """Of the contenders; none for scores from a file."""
    runs: Sequence[RunRecord] = ()
    """Whose folds these are, where they are kept."""
    file: str = ""
    """Name of the file of scores."""
    note: str = ""
    """Of a file: which direction was taken, and what was left out."""
    computed: frozenset[tuple[int, int]] | None = None
    """(Contender, fold) of what was computed for it; None where all folds were there before."""

    @property
    def titles(self) -> list[str]:
        """Of the contenders, as people read them; a file's are as they stand there."""
        return [contender_title(one.name) if self.specs else one.name for one in self.contenders]

    @property
    def on(self) -> str:
        """Title of the dataset; empty where it is not known."""
        return dataset_title(self.specs[0].dataset) if self.specs else ""

    @property
    def metric(self) -> str:
        """As people read it; empty where it is not known."""
        return metric_label(self.specs[0]) if self.specs else ""

    @property
    def about(self) -> str:
        """Of what it is, and how much of it was there already, in a sentence or two."""
        if not self.specs:
            return f"From {self.file}, {counted(self.terms.k, 'fold')}."
        used = {one for each in self.played.rounds for one in each.ran}
        there = len(used - self.computed) if self.computed is not None else len(used)
        share = there if there < len(used) else "All"
        reused = f"{share} of its {counted(len(used), 'fold')} had been computed before"
        up_to = f"seed {self.specs[0].seed}, up to {counted(self.terms.k, 'fold')} each"
        return f"{self.metric}, {up_to}. {reused}."

    @property
    def decided(self) -> bool:
        """Whether the answer is there."""
        return self.played.rounds[-1].decided


def show(
    chosen: Shown,
    *,
    autoplay: bool = False,
    slider: bool = False,
    then: Callable[[], None] | None = None,
) -> None:
    """The verdict, the way on, the rounds with their controls, the cost.

    Args:
        chosen: with at least one round.
        autoplay: whether it begins to play at once; else it stands at its last round.
        slider: a slider alone instead of the player, whose keys a page may want for itself.
        then: draws the way to the next question, once it is decided.
    """
    told, brief = sentence_of(chosen), sentence_of(chosen, brief=not chosen.terms.certain)
    answer, _, why = brief.partition(": ")
    with st.container(key="presented-verdict"), st.container(key="best-verdict"):
        why = f"{why[:1].upper()}{why[1:]}{_edge(chosen)}"
        st.markdown(f"**{escaped(answer)}**\n\n{escaped(why)}")
        if chosen.note:
            st.caption(chosen.note)
    if not slider:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(escaped(chosen.about))
            if then and chosen.decided:
                then()
            present_button()
    said = step_sentences(chosen.titles, chosen.terms, chosen.played.rounds)
    with st.container(key="presented-lanes"):
        _lanes_played(chosen, said, autoplay=autoplay, slider=slider)
    if more := told.removeprefix(brief).strip():
        st.markdown(escaped(more))
    energy_bar((fold for run in chosen.runs for fold in run.folds), left_in_words(chosen.runs))
    if chosen.decided:
        _for_paper(chosen)


def _lanes_played(chosen: Shown, said: Sequence[str], *, autoplay: bool, slider: bool) -> None:
    count = len(chosen.played.rounds)
    if slider:
        _slider(count)
    else:
        asked = "fold" in st.query_params
        player(
            NAME,
            version=repr(chosen.version),
            texts=said,
            seconds=[_SECONDS] * (count + 1),
            speeds=_SPEEDS,
            speed=1.0,
            step=asked_step(count, 0 if autoplay else count),
            unit="round",
            label="Rounds seen",
            autoplay=autoplay and not asked,
        )
    with st.container(key="best-moment"):
        numbers(NAME, key="best-sentence", labels=[], values=[], notes=[], sentences=said)
    _figure(chosen, said)


def _for_paper(chosen: Shown) -> None:
    def make() -> Description:
        return describe_selection(
            chosen.contenders,
            chosen.titles,
            chosen.terms,
            chosen.played,
            specs=chosen.specs,
            file=chosen.file,
            made_with=made_with(chosen.runs) if chosen.runs or chosen.file else {},
            replayed=chosen.computed is None,
        )

    def picture() -> Figure:
        rows = _lanes(chosen)
        brief = rows.assign(says=rows["state"])  # a column has no room for more
        return printed(lambda: selection_figures(brief)[-1])

    on = f" on {chosen.on}" if chosen.on else ""
    for_paper(
        make,
        key="best",
        pictures={"Contenders": picture},
        title=f"Which is best{on}",
        specs=chosen.specs,
    )


def _slider(count: int) -> None:
    with st.container(key="best-slider"):
        step = st.slider("Folds seen", 0, count, 1, key="best-round")
        slider_watch(NAME, container="best-slider", step=int(step))


def sentence_of(chosen: Shown, *, brief: bool = False) -> str:
    """What was found, or what is known so far; `brief` as of `verdict_sentence`."""
    played, whole = chosen.played, chosen.played.joules_of_all_folds
    leader = chosen.contenders[played.rounds[-1].leader]
    return verdict_sentence(
        chosen.titles,
        chosen.terms,
        played.verdict,
        played.rounds,
        played.folds_used,
        mean=winner_mean(leader, played.rounds, played.rounds[-1].leader),
        on=chosen.on,
        energy=None if played.joules is None or not whole else played.joules / whole,
        brief=brief,
    )


def _figure(chosen: Shown, said: Sequence[str]) -> None:
    played = chosen.played
    frame = _lanes(chosen)
    steps = selection_steps(frame, said)

    name = f"which is best on {chosen.on}" if chosen.on else "which is best"
    plot(
        lambda dark: selection_figures(frame, dark=dark),
        version=(repr(chosen.version), repr(chosen.terms), len(played.rounds)),
        key="best-lanes",
        alt=steps.alts[-1],
        slider=NAME,
        steps=lambda: steps,
        name=name,
        table=lambda: frame,
    )


def _lanes(chosen: Shown) -> pd.DataFrame:
    verdict = chosen.played.verdict if chosen.decided else None
    titles = [title.replace("<", "&lt;") for title in chosen.titles]  # Plotly reads tags
    return lanes(chosen.contenders, titles, chosen.terms, chosen.played.rounds, verdict)


# Selections played from folds that ran before: recorded runs, grids, a file of any program.


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


def _runs_of(dataset: str) -> list[RunRecord]:
    return [run for run in recorded_runs() if run.spec.dataset == dataset]


@st.cache_resource(show_spinner="Reading the recorded folds ...", max_entries=4)
def _study(dataset: str) -> tuple[list[Scores], list[RunSpec]]:
    runs = _runs_of(dataset)
    return contenders_of(runs, results()), [run.spec for run in runs]


@st.cache_resource(show_spinner="Reading the recorded folds ...", max_entries=4)
def _grid(name: str) -> tuple[list[Scores], list[RunSpec]]:
    found = read_configurations(GRIDS / f"{name}.json")
    return found.scores, specs_of(found.spec, found.configurations)


_COLUMNS = ", ".join(f"`{name}`" for name in COLUMNS)
_FORM = (
    f"One row per contender and fold, with the columns {_COLUMNS} (or `Model,Fold,NDCG@10`), or "
    f"one column per contender. With every user's score, in a column `{USER}` more, it is decided "
    "earlier. It stays on this computer."
)


def scores_file(asked: Asked) -> None:
    """Where to drop the file, and its selection once it is there.

    Args: asked: what it is to find out.
    Raises: InputError for a file that cannot be used, with the reason.
    """
    file = scores_upload(_FORM, ["csv", "gz", "parquet"], key="best-file")
    if file is None:
        return
    scores = scores_of(file, key="best-file")
    higher_is_better = scores.direction.higher_is_better
    terms = Terms(k=len(scores.folds), higher_is_better=higher_is_better, **asked)
    shown = Shown(
        contenders=scores.contenders,
        terms=terms,
        played=play(scores.contenders, terms, range(terms.k)),
        version=(file.file_id, scores.metric),
        file=file.name,
        note=file_words(scores),
    )
    show(shown, autoplay=True)


# A selection among configurations of one algorithm: what its parameters have to do with it.


def _edge(chosen: Shown) -> str:
    """What `edge_words` says of the winner; nothing where contenders are no search space."""
    params = varied([one.name for one in chosen.contenders]) if chosen.decided else None
    return edge_words(params, params[chosen.played.rounds[-1].leader]) if params else ""


def edge_words(params: Sequence[Mapping[str, ParamValue]], best: Mapping[str, ParamValue]) -> str:
    """Where the best is at an end of what was tried, so that better may lie beyond; or nothing."""
    ends = []
    for name, value in best.items():
        tried = {one[name] for one in params}
        numbers = [one for one in tried if isinstance(one, int | float)]
        if len(tried) > 1 and len(numbers) == len(tried) and value in (min(numbers), max(numbers)):
            side = "smaller" if value == min(numbers) else "larger"
            ends.append(f"{side} values of {name.replace('_', ' ')}")
    return f" The best is at the edge of the grid: try {listed(ends)} too." if ends else ""
