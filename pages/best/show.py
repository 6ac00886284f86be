"""A selection as lanes: recorded, of a file, or one's own; its sentence, its rounds."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from ecv_core.analysis.score_columns import USER
from ecv_core.analysis.score_tables import COLUMNS
from ecv_core.energy.parts import inflated_energy_words
from ecv_core.energy.savings import tallies
from ecv_core.figures.report.describe import Description, describe_selection
from ecv_core.figures.report.pictures import printed_figure
from ecv_core.figures.report.race import ContenderRace, last_round_figure, moving_race
from ecv_core.figures.selection import selection_figures, selection_steps
from ecv_core.figures.words import (
    counted,
    duration,
    metric_label,
    watt_hours_in_one_unit,
)
from ecv_core.jobs.plans.select import terms_for
from ecv_core.records.parameters import ParamValue, listed, percent_text, score_text
from ecv_core.records.run import RunRecord, Scores
from ecv_core.records.spec import RunSpec
from ecv_core.selection.contenders import contenders_of, varied_parameters
from ecv_core.selection.replay import select_in_order
from ecv_core.selection.rounds import Terms
from ecv_core.store.configurations import GRIDS, configuration_names, recorded_grid, specs_of
from ecv_core.store.recorded import recorded_runs
from pages.best.choice import Question
from pages.folds.choice import FILE, RECORDED, SOURCE
from pages.shared.base.present import draw_present_button
from pages.shared.base.rows import row_container
from pages.shared.charts.cite import draw_paper_panel, machine_and_versions
from pages.shared.charts.energy_parts import energy_words
from pages.shared.charts.player import asked_step, draw_player
from pages.shared.charts.plot import plot
from pages.shared.charts.save_picture import save_picture
from pages.shared.live.state import escaped, results
from pages.shared.widgets.answer_card import Amount, Answer, Certainty, captions, draw_answer_card
from pages.shared.widgets.choices import ask_for_scores_file
from pages.shared.widgets.score_file import file_words, scores_of
from pages.shared.widgets.sliders import show_numbers_of_slider, watch_slider

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SLIDER = "selection"
"""What the player and the chart that it moves call the round that is shown."""
_SECONDS = 1.6
"""How long the player shows a round, at the speed 1."""
_SPEEDS = [("slow, 3.2 s a round", 0.5), ("normal, 1.6 s", 1.0), ("fast, 0.8 s", 2.0)]
"""Label and speed."""


@dataclass(frozen=True, kw_only=True)
class ShownSelection(ContenderRace):
    """A selection with where it comes from."""

    data_version: Hashable
    """Differs where the folds do that it was made from: then the player begins anew, and the chart
    is drawn anew."""
    runs: Sequence[RunRecord] = ()
    """Whose folds these are, where they are kept."""
    file: str = ""
    """Name of the file of scores."""
    note: str = ""
    """Of a file: which direction was taken, and what was left out."""
    computed: frozenset[tuple[int, int]] | None = None
    """(Contender, fold) of what was computed for it; None where all folds were there before."""

    @property
    def about(self) -> str:
        """Metric, seed and folds, and how many of these were there already, in two sentences.

        Of a file: its name and how many folds it has.
        """
        if not self.specs:
            return f"From {self.file}, {counted(self.terms.k, 'fold')}."
        folds_used = self.folds_used
        reused_folds = folds_used
        if self.computed is not None:
            reused_folds = folds_used - self.computed
        count = "All"
        if len(reused_folds) < len(folds_used):
            count = str(len(reused_folds))
        spec = self.specs[0]
        return (
            f"{metric_label(spec)}, seed {spec.seed}, up to {counted(self.terms.k, 'fold')} each. "
            f"{count} of the {counted(len(folds_used), 'fold')} used come from earlier or recorded "
            "runs."
        )

    @property
    def folds_used(self) -> set[tuple[int, int]]:
        """(Contender, fold) of every fold that the rounds looked at."""
        used: set[tuple[int, int]] = set()
        for selection_round in self.result.rounds:
            used.update(selection_round.turns)
        return used


def show_selection(
    selection: ShownSelection,
    offer_next_question: Callable[[ShownSelection], None],
    *,
    autoplay: bool = False,
) -> None:
    """The verdict, the way on, the rounds with their controls, the cost.

    Args:
        selection: A selection with at least one round.
        offer_next_question: Draws the way to the next question, once this one is decided.
        autoplay: Whether it begins to play at once; else it stands at its last round.
    """
    sentences = selection.sentences()
    draw_next_step = None
    if selection.decided:
        draw_next_step = partial(offer_next_question, selection)
    draw_answer_card(selection_answer(selection), draw_next_step=draw_next_step)
    if selection.note:
        st.caption(selection.note)
    with row_container():
        st.caption(escaped(selection.about))
        draw_present_button()
    with st.container(key="presented-lanes"):
        _draw_player(sentences, version=repr(selection.data_version), autoplay=autoplay)
        _draw_lanes(selection, sentences)
    if selection.decided:
        _offer_to_keep(selection)


def show_selection_by_slider(selection: ShownSelection) -> None:
    """The verdict and the rounds of a decided selection, on a page that wants the player's keys."""
    draw_answer_card(selection_answer(selection))
    rounds = len(selection.result.rounds)
    with st.container(key="presented-lanes"):
        with st.container(key="best-slider"):
            step = st.slider("Folds seen", 0, rounds, 1, key="best-round")
            watch_slider(_SLIDER, container="best-slider", step=int(step))
        _draw_lanes(selection, selection.sentences())
    _offer_to_keep(selection)


def selection_answer(selection: ShownSelection) -> Answer:
    """Which is best, or leads so far; how good it is for new users, and why it is the answer."""
    full_verdict = selection.verdict()
    # Without certainty, who is worse and how lucky the winner was is folded away as details.
    verdict_in_sight = selection.verdict(brief=not selection.terms.winner_must_be_certain)
    rest_of_verdict = full_verdict.removeprefix(verdict_in_sight).strip()
    # The verdict is 'NAME is best: REASON', or a sentence without a reason.
    headline, _, reason = verdict_in_sight.partition(": ")
    sentences = [leader_sentence(selection)]
    if reason:
        sentences.append(f"{reason[:1].upper()}{reason[1:]}{_edge_of_grid_words(selection)}")
    folds = [fold for run in selection.runs for fold in run.folds]
    energy = energy_words(folds, inflated_energy_words(selection.runs))
    explanation = captions(escaped(rest_of_verdict), _certainty_words(selection.terms))
    return Answer(
        certainty=_certainty(selection),
        headline=headline,
        sentences=sentences,
        amounts=_amounts(selection),
        details=f"<div>{explanation}</div><div>{energy.bar}{captions(energy.sentence)}</div>",
    )


def _certainty_words(terms: Terms) -> str:
    """What 'sure' means here."""
    if terms.winner_must_be_certain:
        return (
            f"Sure means: with {100 * terms.confidence:g} % confidence, no other contender has a "
            f"better mean over all {counted(terms.k, 'fold')}. Close means: some may have one."
        )
    return (
        "Sure means: every other contender is shown to be worse on new data too. Close means: some "
        "may be as good there."
    )


def _certainty(selection: ShownSelection) -> Certainty:
    """Sure where nobody else may be as good; of those that are only used, on new data too."""
    if not selection.decided:
        return Certainty.OPEN
    verdict = selection.result.verdict
    if verdict.tied:
        return Certainty.CLOSE
    if selection.terms.winner_must_be_certain:
        return Certainty.SURE
    # A selection by the expected loss may end before it has told all others apart from the winner.
    # It is sure only where each of them is shown to be worse on new data.
    if set(verdict.losers) <= set(verdict.worse):
        return Certainty.SURE
    return Certainty.CLOSE


def _amounts(selection: ShownSelection) -> list[Amount]:
    """Folds, energy and time of all contenders: used so far, and saved against all folds.

    Not those of `amounts_of`: here the rounds say which folds count, whatever a run's own rule says
    or how many of its folds were there before, and a file of scores has no runs.
    """
    about_word = ""
    if selection.computed is not None:
        # It was computed, not replayed: the cost of the folds that it saved was never measured.
        about_word = "about "
    result = selection.result
    used_folds = sum(result.folds_used)
    all_folds = selection.terms.k * len(selection.contenders)
    amounts = [
        Amount(name="folds", used=f"{used_folds} of {all_folds}", saved=str(all_folds - used_folds))
    ]
    if result.joules is not None and result.joules_of_all_folds:
        share = percent_text(1 - result.joules / result.joules_of_all_folds, ".0f")
        used, saved = watt_hours_in_one_unit(*selection.joules_ranges())
        amounts.append(Amount(name="energy", used=used, saved=f"{saved}, {about_word}{share}"))
    time = _time_amount(selection, about_word)
    if time is not None:
        amounts.append(time)
    return amounts


def _time_amount(selection: ShownSelection, about_word: str) -> Amount | None:
    """Computing time of all contenders together; None for scores of a file, which have none.

    Args:
        selection: Whose folds were looked at.
        about_word: What stands before the time that was saved: of folds that never ran, a forecast.
    """
    used_folds = selection.folds_used
    used_seconds = 0.0
    seconds_of_all_folds = 0.0
    for number, contender in enumerate(selection.contenders):
        if not contender.results:
            return None
        # The last tally is of all k folds: those that did not run are expected to cost as much as
        # the next one would.
        *_, tally_of_all = tallies(contender.results, selection.terms.k)
        seconds_of_all_folds += tally_of_all.seconds
        for result in contender.results:
            if (number, result.fold) in used_folds:
                used_seconds += result.total_seconds
    saved = f"{about_word}{duration(seconds_of_all_folds - used_seconds)}"
    return Amount(name="time", used=duration(used_seconds), saved=saved)


def leader_sentence(selection: ShownSelection) -> str:
    """How good the best so far will be on new users: its mean, and where theirs is."""
    leader = selection.leader
    folds = counted(selection.result.folds_used[leader], "fold")
    mean = score_text(selection.result.winner_mean)
    subject = f"The mean of {selection.titles[leader]} over {folds}"
    return f"{subject} is {mean}. {selection.new_data_sentence()}"


def _draw_player(sentences: Sequence[str], *, version: str, autoplay: bool) -> None:
    """The player of the rounds.

    Args:
        sentences: What happened before the first round, and in each.
        version: Changes with what the rounds were made from; the player then begins anew.
        autoplay: Whether it begins to play at once, unless the address names a round.
    """
    rounds = len(sentences) - 1
    first_step = rounds
    if autoplay:
        first_step = 0
    draw_player(
        _SLIDER,
        version=version,
        texts=sentences,
        seconds=[_SECONDS] * len(sentences),
        speeds=_SPEEDS,
        speed=1.0,
        step=asked_step(rounds, first_step),
        unit="round",
        label="Rounds seen",
        autoplay=autoplay and "fold" not in st.query_params,
    )


def _draw_lanes(selection: ShownSelection, sentences: Sequence[str]) -> None:
    """A lane for each contender, and above them a sentence; both follow the slider or the player.

    Args:
        selection: Whose rounds they are.
        sentences: What happened before the first round, and in each.
    """
    frame = selection.frame()
    # The browser gets the sentences and figures of all rounds, and shows those of the round at
    # which the slider or the player is.
    with st.container(key="best-moment"):
        show_numbers_of_slider(_SLIDER, key="best-sentence", sentences=sentences)
    make_steps = partial(selection_steps, frame, sentences)
    plot(
        partial(selection_figures, frame),
        cache_key=(repr(selection.data_version), repr(selection.terms), len(sentences)),
        key="best-lanes",
        alt=make_steps()[-1].alt,
        slider_name=_SLIDER,
        steps=make_steps,
        name=selection.name,
        table=frame.copy,
    )


def _offer_to_keep(selection: ShownSelection) -> None:
    """The race as a moving picture, and what a paper takes of it."""
    save_picture(
        partial(moving_race, selection), name=selection.name, key="race", label="Save the race"
    )

    def describe() -> Description:
        versions: Mapping[str, Any] = {}  # of a recorded grid it is not known what made it
        if selection.runs or selection.file:
            versions = machine_and_versions(selection.runs)
        return describe_selection(
            selection, versions, file=selection.file, replayed=selection.computed is None
        )

    def picture() -> Figure:
        return printed_figure(partial(last_round_figure, selection))

    draw_paper_panel(
        describe,
        key="best",
        pictures={"Contenders": picture},
        title=selection.name,
        specs=selection.specs,
    )


# Selections played from folds that ran before: recorded runs, grids, a file of any program.


def recorded_selection(name: str, question: Question) -> ShownSelection:
    """A recorded selection.

    Args:
        name: A dataset of the recorded study, or a recorded grid.
        question: What it is to find out.

    Raises:
        InputError: If a file is damaged.
    """
    runs: list[RunRecord] = []
    if name in configuration_names(GRIDS):
        # A grid has several values of an algorithm's parameter. Its fold scores are recorded alone,
        # without runs.
        contenders, specs = _scores_and_specs_of_grid(name)
    else:
        specs = []
        for run in recorded_runs():
            if run.spec.dataset == name:
                runs.append(run)
                specs.append(run.spec)
        contenders = _scores_on_dataset(name, runs)
    terms = terms_for(specs[0], **question)
    return ShownSelection(
        contenders=contenders,
        terms=terms,
        result=select_in_order(contenders, terms, range(terms.k)),
        data_version=name,  # what is recorded under a name does not change
        specs=specs,
        runs=runs,
    )


def link_to_folds(selection: ShownSelection) -> None:
    """The next question, of exactly these runs or this file, which has to be added once more.

    There is none of a grid, whose runs are not kept.
    """
    if selection.file:
        source = {SOURCE: FILE}
    elif selection.runs:
        source = {SOURCE: RECORDED, "datasets": selection.title_of_dataset}
    else:
        return
    st.page_link(
        "folds/folds.py",
        label="How many folds, at what risk?",
        icon=":material/tune:",
        query_params=source,
    )


@st.cache_resource(show_spinner="Reading the recorded folds ...", max_entries=4)
def _scores_on_dataset(dataset: str, _runs: Sequence[RunRecord]) -> list[Scores]:
    return contenders_of(_runs, results())


@st.cache_resource(show_spinner="Reading the recorded folds ...", max_entries=4)
def _scores_and_specs_of_grid(name: str) -> tuple[list[Scores], list[RunSpec]]:
    """The contenders of a recorded grid, and their specs in the same order."""
    recording = recorded_grid(name)
    return recording.scores, specs_of(recording.spec, recording.configurations)


_COLUMNS = ", ".join(f"`{name}`" for name in COLUMNS)
_FORM = (
    f"One row per contender and fold, with the columns {_COLUMNS} (or `Model,Fold,NDCG@10`), or "
    f"one column per contender. With the score of every user, in a further column `{USER}`, fewer "
    "folds are needed. The file stays on this computer."
)


def show_scores_file(question: Question) -> None:
    """Where to drop the file, and its selection once it is there.

    Args:
        question: What it is to find out.

    Raises:
        InputError: If the file cannot be used, with the reason.
    """
    file = ask_for_scores_file(_FORM, key="best-file")
    if file is None:
        return
    scores = scores_of(file, key="best-file")
    terms = Terms(
        k=len(scores.folds),
        higher_is_better=scores.direction.higher_is_better,
        has_worst_score=scores.direction.has_worst_score,
        **question,
    )
    shown = ShownSelection(
        contenders=scores.contenders,
        terms=terms,
        result=select_in_order(scores.contenders, terms, range(terms.k)),
        data_version=(file.file_id, scores.metric),
        file=file.name,
        note=file_words(scores),
    )
    show_selection(shown, link_to_folds, autoplay=True)


# A selection among configurations of one algorithm: what its parameters have to do with it.


def _edge_of_grid_words(selection: ShownSelection) -> str:
    """That the winner has the smallest or the largest value tried of a parameter; else empty."""
    if not selection.decided:
        return ""
    configurations = varied_parameters([contender.name for contender in selection.contenders])
    if not configurations:  # they are no configurations of one algorithm
        return ""
    return edge_words(configurations, configurations[selection.leader])


def edge_words(
    configurations: Sequence[Mapping[str, ParamValue]], best: Mapping[str, ParamValue]
) -> str:
    """That the best is at an end of what was tried, so that better may lie beyond; else empty.

    Args:
        configurations: The parameters of every contender that differ among them.
        best: Those of the winner.
    """
    values_beyond = []
    for parameter, value in best.items():
        tried = {configuration[parameter] for configuration in configurations}
        numeric = all(isinstance(candidate, int | float) for candidate in tried)
        if not numeric or len(tried) == 1:
            continue
        words = parameter.replace("_", " ")
        if value == min(tried):
            values_beyond.append(f"smaller values of {words}")
        elif value == max(tried):
            values_beyond.append(f"larger values of {words}")
    if not values_beyond:
        return ""
    return f" The best is at the edge of the grid: try {listed(values_beyond)} too."
