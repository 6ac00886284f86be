"""Which of several is best: contenders are stopped as soon as they can no longer win."""

from ecv_core.selection.contenders import Contender, check_contenders, contender_of
from ecv_core.selection.differences import EverySubset, PairedScores
from ecv_core.selection.replay import OverOrders, Played, play, play_orders
from ecv_core.selection.rounds import Gap, Round, Selection, Terms, Verdict

__all__ = [
    "Contender",
    "EverySubset",
    "Gap",
    "OverOrders",
    "PairedScores",
    "Played",
    "Round",
    "Selection",
    "Terms",
    "Verdict",
    "check_contenders",
    "contender_of",
    "play",
    "play_orders",
]
