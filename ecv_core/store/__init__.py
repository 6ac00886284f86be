"""Runs and folds in a database (SQLAlchemy Core; SQLite by default)."""

from ecv_core.store.imports import Origin, import_run, origins
from ecv_core.store.schema import database_url
from ecv_core.store.store import Store, open_store
from ecv_core.store.studies import (
    PlannedCell,
    StudyRecord,
    forget_study,
    keep_study,
    stored_studies,
    stored_study,
)

__all__ = [
    "Origin",
    "PlannedCell",
    "Store",
    "StudyRecord",
    "database_url",
    "forget_study",
    "import_run",
    "keep_study",
    "open_store",
    "origins",
    "stored_studies",
    "stored_study",
]
