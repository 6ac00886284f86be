"""Runs and folds in a database (SQLAlchemy Core; SQLite by default)."""

from ecv_core.store.schema import database_url
from ecv_core.store.store import Store, open_store

__all__ = ["Store", "database_url", "open_store"]
