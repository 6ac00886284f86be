"""Which of several is best: contenders are stopped as soon as they can no longer win."""

from ecv_core.analysis.selection.contenders import aligned, check_contenders
from ecv_core.analysis.selection.evidence import EverySubset, PairedScores
from ecv_core.analysis.selection.replay import OverOrders, Played, play, play_orders
from ecv_core.analysis.selection.rounds import Gap, Round, Selection, Terms, Verdict

__all__ = [
    "EverySubset",
    "Gap",
    "OverOrders",
    "PairedScores",
    "Played",
    "Round",
    "Selection",
    "Terms",
    "Verdict",
    "aligned",
    "check_contenders",
    "play",
    "play_orders",
]
