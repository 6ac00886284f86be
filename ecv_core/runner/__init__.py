"""Runs in the background: the only package that knows about threads, processes and executors."""

from ecv_core.runner.drive import execute
from ecv_core.runner.manager import RunManager
from ecv_core.runner.owner import recover, this_process
from ecv_core.runner.worker import InProcess, work

__all__ = ["InProcess", "RunManager", "execute", "recover", "this_process", "work"]
