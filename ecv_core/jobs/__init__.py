"""Plans have their folds computed here: the only package that knows of threads and processes."""

from ecv_core.jobs.book import Book, GivesUp, Says, refuse
from ecv_core.jobs.computing import compute, machine_alone
from ecv_core.jobs.driver import drive
from ecv_core.jobs.executors import Executor, Here, Worker
from ecv_core.jobs.manager import RunManager
from ecv_core.jobs.owner import beating, recover, this_process
from ecv_core.jobs.plan import Plan, Task, next_fold
from ecv_core.jobs.plans.run import RunPlan
from ecv_core.jobs.queue import Queue

__all__ = [
    "Book",
    "Executor",
    "GivesUp",
    "Here",
    "Plan",
    "Queue",
    "RunManager",
    "RunPlan",
    "Says",
    "Task",
    "Worker",
    "beating",
    "compute",
    "drive",
    "machine_alone",
    "next_fold",
    "recover",
    "refuse",
    "this_process",
]
