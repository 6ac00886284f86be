"""e-fold cross-validation for recommender systems: stop folding once the score is trusted.

    import ecv_core as ecv

    run = ecv.evaluate("ml-100k", "ease", rule=ecv.EFold(alpha=1e-4))

Everything that a notebook needs is here and loads when it is first used; `__init__.pyi` says where
each name is from, and docs/library.md what it does.
"""

import os
from typing import Any

import lazy_loader

from ecv_core.records import __version__
from ecv_core.records import errors as errors

if "OMP_WAIT_POLICY" not in os.environ:  # read when OpenMP is loaded, here and by workers
    # Threads of GCC's OpenMP that wait give up their core after so many turns, not 300,000: beside
    # other programs a fold then costs the processor seconds of an idle machine (docs/method.md).
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")

_load_name, _, _lazy_names = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["__version__", *_lazy_names]


def __getattr__(name: str) -> Any:  # noqa: ANN401  of any public name
    """A public name, as it is first used. Raises: NotInstalled for one that needs an extra."""
    with errors.explain_missing_extras():
        return _load_name(name)


def __dir__() -> list[str]:
    return __all__
