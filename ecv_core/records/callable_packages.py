"""Packages that can be called: `ecv_core.datasets` is one, and `ecv.datasets()` lists datasets.

Python keeps a package as an attribute of the package above it, under the same name that the library
has for a function. So the package itself passes a call on to that function.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


def make_callable(package: str, home: str) -> None:
    """Let a package be called.

    Args:
        package: its full name; it is being imported or has been.
        home: the module with the function of the package's own name that answers the call; it
            loads at the first call.
    """

    class CallablePackage(ModuleType):
        def __call__(self, *given: Any, **named: Any) -> Any:  # noqa: ANN401
            function = getattr(import_module(home), package.rpartition(".")[2])
            return function(*given, **named)

    sys.modules[package].__class__ = CallablePackage
