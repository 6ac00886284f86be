"""How the states of a run look on all pages."""

from __future__ import annotations

from typing import Literal, NamedTuple

from ecv_core.records.run import RunState


class StateLook(NamedTuple):
    """How a state is seen; the word is always there too."""

    icon: str
    colour: Literal["gray", "blue", "green", "orange", "red"]


STATES = {
    RunState.QUEUED: StateLook(":material/hourglass_empty:", "gray"),
    RunState.RUNNING: StateLook(":material/play_arrow:", "blue"),
    RunState.FINISHED: StateLook(":material/check:", "green"),
    RunState.CANCELLED: StateLook(":material/block:", "orange"),
    RunState.FAILED: StateLook(":material/error:", "red"),
    RunState.INTERRUPTED: StateLook(":material/power_off:", "orange"),
}
