"""A run outside the database: its document, imports, recorded runs, per-user scores."""
