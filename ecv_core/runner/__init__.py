"""Runs in the background: the only package that knows about threads, processes and executors."""

from ecv_core.runner.aids import adjusted_rule, aid_runs
from ecv_core.runner.drive import execute, next_fold, run_aids, save_fold
from ecv_core.runner.giving_up import GivesUp
from ecv_core.runner.manager import RunManager
from ecv_core.runner.owner import beating, recover, this_process
from ecv_core.runner.queue import Queue
from ecv_core.runner.together import SharedJob, execute_shared
from ecv_core.runner.worker import InProcess, machine_alone, work, work_shared

__all__ = [
    "GivesUp",
    "InProcess",
    "Queue",
    "RunManager",
    "SharedJob",
    "adjusted_rule",
    "aid_runs",
    "beating",
    "execute",
    "execute_shared",
    "machine_alone",
    "next_fold",
    "recover",
    "run_aids",
    "save_fold",
    "this_process",
    "work",
    "work_shared",
]
