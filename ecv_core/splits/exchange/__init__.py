"""Folds as files: CSV, archives, and the copies that imported ones leave here."""
