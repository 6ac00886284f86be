"""Runs and folds in a database (SQLAlchemy Core; SQLite by default)."""

from ecv_core.store.backup import back_up, restore
from ecv_core.store.going import Going, going_on
from ecv_core.store.holding import OUTSIDE
from ecv_core.store.imports import Origin, import_run, origins
from ecv_core.store.labels import Label, checked_label, label_runs
from ecv_core.store.listing import ListedRun, RunList
from ecv_core.store.ownership import GONE, active_owners, beat, interrupt, owner_of, take_over
from ecv_core.store.packing import START, give_back, pack_some
from ecv_core.store.people import introduce, people_names, starters, used_by
from ecv_core.store.quota import Quota, Used
from ecv_core.store.results import Results
from ecv_core.store.schema import database_url
from ecv_core.store.selections import (
    PlannedContender,
    SelectionRecord,
    forget_selection,
    keep_selection,
    selections_with,
    stored_selection,
    stored_selections,
    update_selection,
)
from ecv_core.store.store import Store, open_store
from ecv_core.store.studies import (
    Cell,
    StudyRecord,
    forget_study,
    keep_study,
    stored_studies,
    stored_study,
)

__all__ = [
    "GONE",
    "OUTSIDE",
    "START",
    "Cell",
    "Going",
    "Label",
    "ListedRun",
    "Origin",
    "PlannedContender",
    "Quota",
    "Results",
    "RunList",
    "SelectionRecord",
    "Store",
    "StudyRecord",
    "Used",
    "active_owners",
    "back_up",
    "beat",
    "checked_label",
    "database_url",
    "forget_selection",
    "forget_study",
    "give_back",
    "going_on",
    "import_run",
    "interrupt",
    "introduce",
    "keep_selection",
    "keep_study",
    "label_runs",
    "open_store",
    "origins",
    "owner_of",
    "pack_some",
    "people_names",
    "restore",
    "selections_with",
    "starters",
    "stored_selection",
    "stored_selections",
    "stored_studies",
    "stored_study",
    "take_over",
    "update_selection",
    "used_by",
]
