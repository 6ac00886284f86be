"""A run outside the database: its document, imports, recorded runs, per-user scores."""

from ecv_core.callable_packages import make_callable

make_callable(__name__, "ecv_core.library.run")
