"""Which study is shown: the recorded one, or one of the user's own; the address says which."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from ecv_core.figures.words import counted, duration
from ecv_core.jobs.plans.study import Cell, reusable, with_obstacles
from ecv_core.records.errors import InputError
from ecv_core.records.run import Run
from ecv_core.records.spec import RunSpec
from ecv_core.store.plans import STUDY, PlanRecord, stored_plan, stored_plans
from pages.shared.live.acting import acting
from pages.shared.live.state import sentence, store

RECORDED = "recorded"


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyPicker:
    """One page's choice among the studies that it can show."""

    parameter: str
    """Its name in the address."""
    title: str
    recorded: str
    """What the recorded study is called."""
    help: str
    shows: Callable[[PlanRecord], bool]
    counts: Callable[[PlanRecord], str]
    """What a study holds, as '2 datasets x 3 algorithms'."""
    elsewhere: str
    """Said of a study that this page does not show."""
    resets: tuple[str, ...] = ()
    """Keys of widgets, in the address too, that begin anew with another study."""

    def pick(self) -> str:
        """RECORDED or the id of the study that the address names; a widget where there are own."""
        own = [study for study in stored_plans(store(), STUDY) if self.shows(study)]
        labels = {RECORDED: self.recorded} | {one.plan_id: self._label(one) for one in own}
        asked = st.query_params.get(self.parameter)
        wanted = asked or str(st.session_state.get(self._last, RECORDED))
        if wanted not in labels:
            if asked:
                self._unknown(asked)
            wanted = RECORDED
        st.session_state[self._choice] = wanted
        self.show(wanted)
        if own:
            st.selectbox(
                self.title,
                list(labels),
                format_func=labels.__getitem__,
                key=self._choice,
                on_change=lambda: self.show(st.session_state[self._choice]),
                help=self.help,
            )
        return wanted

    def show(self, study_id: str) -> None:
        """Make the address name this study; call it in a callback, or before a rerun."""
        if st.session_state.get(self._last, study_id) != study_id:
            for key in self.resets:
                st.session_state.pop(key, None)
                st.query_params.pop(key, None)
        st.session_state[self._last] = study_id
        if study_id == RECORDED:
            st.query_params.pop(self.parameter, None)
        else:
            st.query_params[self.parameter] = study_id

    @property
    def _choice(self) -> str:
        return f"{self.parameter}-choice"

    @property
    def _last(self) -> str:
        return f"{self.parameter}-last"

    def _label(self, one: PlanRecord) -> str:
        """Never changes and is never another study's: Streamlit knows a choice by its label."""
        return f"{one.created_at:%Y-%m-%d %H:%M} · {self.counts(one)} · {one.plan_id}"

    def _unknown(self, study_id: str) -> None:
        try:
            stored_plan(store(), STUDY, study_id)
            said = self.elsewhere
        except InputError as error:
            said = sentence(error)
        st.warning(
            f"From the link: {said} The recorded ones are shown.", icon=":material/link_off:"
        )


def begin_study(cells: Sequence[Cell], *, anew: bool = False) -> str:
    """Queue what is not known yet; gives the study's id.

    Args: as for `study.begin`.
    Raises: InputError if a dataset cannot be split in one of the ways, or lacks what an algorithm
        learns from, with the reason.
    """
    with st.spinner("Looking whether the data can be split so ..."):
        for _, why in with_obstacles(cells):
            if why is not None:
                raise InputError(why)
    return acting().begin_study(cells, anew=anew)


def work_words(cells: Sequence[Cell], recorded: Sequence[Run], *, anew: bool = False) -> str:
    """How much work a study is, as far as the recorded runs tell."""
    known = [] if anew else [one for one in cells if reusable(one.spec, recorded)]
    specs = {one.spec for one in cells} - {one.spec for one in known}
    words = [f"**{counted(len(cells), 'run')}**"]
    if known:
        words.append(f"{len(known)} of them recorded already")
    if specs:
        words.append(f"{counted(sum(spec.k for spec in specs), 'fold')} to compute")
    took = {spec: _fold_seconds(spec, recorded) for spec in specs}
    told = sum(spec.k * seconds for spec, seconds in took.items() if seconds is not None)
    if told:
        long = duration(told)
        about = f"{long} and more" if None in took.values() else f"about {long}"
        words.append(f"{about}, judged by the recorded runs")
    return ", ".join(words) + "."


def _fold_seconds(spec: RunSpec, recorded: Sequence[Run]) -> float | None:
    """How long a fold takes, if as long as under other splits; None where that is not known."""
    seconds = [
        fold.total_seconds
        for run in recorded
        if (run.spec.dataset, run.spec.algorithm) == (spec.dataset, spec.algorithm)
        for fold in run.folds
    ]
    return sum(seconds) / len(seconds) if seconds else None
