"""Runs in the background: the only package that knows about threads, processes and executors."""

from ecv_core.runner.aids import aid_runs
from ecv_core.runner.drive import GivesUp, execute
from ecv_core.runner.manager import RunManager
from ecv_core.runner.owner import recover, this_process
from ecv_core.runner.queue import Queue
from ecv_core.runner.together import SharedJob, execute_shared
from ecv_core.runner.worker import InProcess, work, work_shared

__all__ = [
    "GivesUp",
    "InProcess",
    "Queue",
    "RunManager",
    "SharedJob",
    "aid_runs",
    "execute",
    "execute_shared",
    "recover",
    "this_process",
    "work",
    "work_shared",
]
