"""A selection -> the race of its contenders, round by round, as a chart in steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ecv_core.energy.savings import Range, energy_facts, sum_of_ranges, total_saved_range
from ecv_core.figures.report.moving import MovingChart
from ecv_core.figures.selection import selection_figures
from ecv_core.figures.words import dataset_title, metric_label, winner_new_data_line
from ecv_core.records.parameters import percent_text
from ecv_core.records.run import Scores
from ecv_core.records.spec import RunSpec
from ecv_core.selection.contenders import contender_title
from ecv_core.selection.document import (
    lanes,
    step_sentences,
    verdict_sentence,
    winner_new_data,
)
from ecv_core.selection.replay import SelectionResult, folds_of
from ecv_core.selection.rounds import Terms

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


@dataclass(frozen=True, kw_only=True)
class ContenderRace:
    """A selection as far as it has come."""

    contenders: Sequence[Scores]
    terms: Terms
    result: SelectionResult
    """With at least one round."""
    specs: Sequence[RunSpec] = ()
    """Of the contenders; none for scores from a file."""

    @property
    def titles(self) -> list[str]:
        """Of the contenders, as people read them; a file's are as they stand there."""
        names = [contender.name for contender in self.contenders]
        if not self.specs:
            return names
        return [contender_title(name) for name in names]

    @property
    def title_of_dataset(self) -> str:
        """Title of the dataset; empty where it is not known."""
        if not self.specs:
            return ""
        return dataset_title(self.specs[0].dataset)

    @property
    def metric(self) -> str:
        """What the contenders are scored by; 'Score' where it is not known."""
        if not self.specs:
            return "Score"
        return metric_label(self.specs[0])

    @property
    def name(self) -> str:
        """What files of it are called."""
        if not self.title_of_dataset:
            return "which is best"
        return f"which is best on {self.title_of_dataset}"

    @property
    def question(self) -> str:
        """Its title."""
        return f"{self.name[:1].upper()}{self.name[1:]}?"

    @property
    def decided(self) -> bool:
        """Whether the answer is there."""
        return self.result.rounds[-1].decided

    @property
    def leader(self) -> int:
        """The place of the best so far, who may have been placed before the last round."""
        return self.result.verdict.winner

    def joules_ranges(self) -> tuple[Range, Range]:
        """The joules of the folds that were used, and of all others up to k, which were not.

        Each is from the least to the most, as those of a run. Call it where the joules are known.
        """
        used_ranges = []
        facts_of_contenders = []
        for number, contender in enumerate(self.contenders):
            if not contender.results:
                # Of some recorded scores, one number is known for each fold, and no range.
                used = self.result.joules or 0.0
                saved = (self.result.joules_of_all_folds or used) - used
                return (used, used), (saved, saved)
            used_folds = folds_of(self.result.rounds, number)
            used_results = []
            others = []
            for result in contender.results:
                if result.fold in used_folds:
                    used_results.append(result)
                    used_ranges.append(result.energy.joules_range)
                else:
                    others.append(result)
            # Other folds of a contender that have run count as those that check the stop of a run.
            facts_of_contenders.append(
                energy_facts(
                    [*used_results, *others], self.terms.k, len(used_results), is_checked=True
                )
            )
        return sum_of_ranges(used_ranges), total_saved_range(facts_of_contenders)

    def new_data_sentence(self) -> str:
        """Where the leader's mean of new users is, or why that is not known."""
        return winner_new_data_line(
            winner_new_data(self.contenders, self.terms, self.result),
            self.terms.confidence,
            winner=self.contenders[self.leader],
            contender_count=len(self.contenders),
            specs=self.specs,
        )

    def frame(self) -> pd.DataFrame:
        """The lanes after each round, as `selection.document.lanes` makes them."""
        verdict = None
        if self.decided:
            verdict = self.result.verdict
        return lanes(self.contenders, self.titles, self.terms, self.result.rounds, verdict)

    def sentences(self) -> list[str]:
        """What happened in each round, from step 0 on."""
        return step_sentences(self.titles, self.terms, self.result.rounds)

    def verdict(self, *, brief: bool = False) -> str:
        """What was found, or what is known so far; `brief` as of `verdict_sentence`."""
        return verdict_sentence(
            self.titles, self.terms, self.result, dataset=self.title_of_dataset, brief=brief
        )


def moving_race(race: ContenderRace) -> MovingChart:
    """The lanes of the contenders after each round; the last one says who is best."""
    sentences = race.sentences()
    if race.decided:
        sentences[-1] += f" {race.verdict(brief=True)}"
    return MovingChart(
        title=race.question,
        subtitle=f"{race.metric}, k = {race.terms.k}, until {until_words(race.terms)}",
        make=partial(selection_figures, race.frame()),
        sentences=sentences,
    )


def last_round_figure(race: ContenderRace) -> go.Figure:
    """The lanes after the last round, with each contender's state alone: a column is narrow."""
    frame = race.frame()
    brief = frame.assign(says=frame["state"])
    return selection_figures(brief)[-1]


def until_words(terms: Terms) -> str:
    """What ends a selection with these terms."""
    if terms.expected_loss is not None:
        loss = percent_text(terms.expected_loss, "g")
        return f"the expected loss is at most {loss} of the score"
    if terms.budget is not None:
        return "the budget is spent"
    if terms.until == "winner":
        return "the winner is known"
    return "the whole order is known"
