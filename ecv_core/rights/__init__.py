"""Who may do what in a dashboard that several people use, and every change that its pages make.

Pages hide what somebody may not do; that it is refused is decided here.
"""

from ecv_core.rights.acting import Acting
from ecv_core.rights.actor import OWNER, Action, Actor, Role, check, refusal
from ecv_core.rights.handling import Handling
from ecv_core.rights.settings import Limits, Mode, Settings, member, settings, visitor

__all__ = [
    "OWNER",
    "Acting",
    "Action",
    "Actor",
    "Handling",
    "Limits",
    "Mode",
    "Role",
    "Settings",
    "check",
    "member",
    "refusal",
    "settings",
    "visitor",
]
