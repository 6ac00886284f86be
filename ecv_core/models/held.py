"""Models in memory that this process computes folds of: known to a run by a parameter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from uuid import uuid4

from ecv_core.records.parameters import ParamValue
from ecv_core.records.spec import RunSpec

PARAMETER = "in_memory"
"""Its value names the object: a fold of one object is never taken for a fold of another."""
Build = Callable[[Mapping[str, ParamValue]], object]
"""Makes an unfitted model of a configuration."""

_builds: dict[str, Build] = {}


@contextmanager
def held(build: Build) -> Iterator[str]:
    """Have runs with the value that this gives for PARAMETER computed here, as long as it lasts."""
    name = f"object-{uuid4().hex[:8]}"
    _builds[name] = build
    try:
        yield name
    finally:
        del _builds[name]


def is_held(spec: RunSpec) -> bool:
    """Whether the model of a run is in memory."""
    return _name_of(spec) in _builds


def build_held(spec: RunSpec) -> object:
    """The model of a run that is held."""
    return _builds[_name_of(spec)](dict(spec.params))


def _name_of(spec: RunSpec) -> str:
    if not spec.tracked:
        return ""
    return str(dict(spec.params).get(PARAMETER, ""))
