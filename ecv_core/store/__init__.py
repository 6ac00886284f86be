"""Runs and folds in a database (SQLAlchemy Core; SQLite by default)."""
