"""A recorded race on the front page."""

from __future__ import annotations

from ecv_core.figures.words import run_title
from ecv_core.store.recorded import recorded_run
from pages.replay.race import play_race, story_of

_RUN = "ml-1m--neu-mf"
"""A usual one: it stops after three of ten folds, as most of the recorded runs do."""


def shown_words() -> str:
    """Which run races, and when it stopped."""
    run = recorded_run(_RUN)
    if run is None:  # this installation has no recorded runs
        return ""
    return (
        f"Here **{run_title(run)}**, stopped after **{run.stopped_at} of {run.k} folds**, races "
        "against all of them, as recorded."
    )


def shown_race() -> None:
    """The race as two lanes; what they say at the end is what stopping saved."""
    if run := recorded_run(_RUN):
        play_race(story_of(run), autoplay=True)
