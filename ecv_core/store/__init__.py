"""Runs and folds in a database (SQLAlchemy Core; SQLite by default)."""

from ecv_core.store.backup import back_up, restore
from ecv_core.store.engine import database_url
from ecv_core.store.going import Going, going_on
from ecv_core.store.holding import OUTSIDE
from ecv_core.store.imports import Origin, import_run, origins
from ecv_core.store.labels import Label, checked_label, label_runs
from ecv_core.store.listing import ListedRun, RunList
from ecv_core.store.ownership import GONE, active_owners, beat, interrupt, owner_of, take_over
from ecv_core.store.packing import START, give_back, pack_some
from ecv_core.store.people import introduce, people_names, starters, used_by
from ecv_core.store.plans import (
    SELECTION,
    STUDY,
    PlannedRun,
    PlanRecord,
    forget_plan,
    keep_plan,
    plan_behind,
    stored_plan,
    stored_plans,
)
from ecv_core.store.quota import Quota, Used
from ecv_core.store.results import Results
from ecv_core.store.store import Store, open_store

__all__ = [
    "GONE",
    "OUTSIDE",
    "SELECTION",
    "START",
    "STUDY",
    "Going",
    "Label",
    "ListedRun",
    "Origin",
    "PlanRecord",
    "PlannedRun",
    "Quota",
    "Results",
    "RunList",
    "Store",
    "Used",
    "active_owners",
    "back_up",
    "beat",
    "checked_label",
    "database_url",
    "forget_plan",
    "give_back",
    "going_on",
    "import_run",
    "interrupt",
    "introduce",
    "keep_plan",
    "label_runs",
    "open_store",
    "origins",
    "owner_of",
    "pack_some",
    "people_names",
    "plan_behind",
    "restore",
    "starters",
    "stored_plan",
    "stored_plans",
    "take_over",
    "used_by",
]
