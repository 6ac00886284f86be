"""Code from outside: registries that installed packages add to."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextvars import ContextVar
from hashlib import sha256
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import CodeType
from typing import TypeVar

from ecv_core.records.errors import InputError, Terminated

T = TypeVar("T")
log = logging.getLogger(__name__)
_loading: ContextVar[bool] = ContextVar("loading", default=False)
"""Whether this thread loads plug-ins right now."""
_failed: set[str] = set()
"""Modules of `_VARIABLES` that failed on import in this process: each is tried and named once."""
_VARIABLES = ("ECV_PLUGINS", "ECV_RULES")


class Registry(MutableMapping[str, T]):
    """What comes with the project, by id, and after it what installed packages offer.

    Packages are asked at the first look, not when this is made: so a plug-in may itself import the
    module that has the registry. One that cannot be loaded is left out, with a sentence in the log.
    Then the modules that ECV_PLUGINS and ECV_RULES name are imported; they register what they have.
    """

    def __init__(
        self,
        project_entries: Mapping[str, T],
        *,
        group: str,
        to_entry: Callable[[object, str], tuple[str, T]],
    ) -> None:
        """Nothing of any package loads yet.

        Args:
            project_entries: What comes with the project, in the order in which pages list it.
            group: The group of the entry points: 'ecv_core.models'.
            to_entry: What an entry point gave, and its name -> id and entry. Raises: ValueError,
                TypeError or InputError with what is wrong with it.
        """
        self._entries = dict(project_entries)
        self._group = group
        self._to_entry = to_entry
        self._is_loaded = False
        self.added: dict[str, str] = {}
        """Id of each entry that a package added -> the name of that package."""

    def __getitem__(self, name: str) -> T:
        if name in self._entries:
            return self._entries[name]
        return self._load_once()[name]

    def __setitem__(self, name: str, entry: T) -> None:
        self._load_once()[name] = entry

    def __delitem__(self, name: str) -> None:
        del self._load_once()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._load_once()))

    def __len__(self) -> int:
        return len(self._load_once())

    def _load_once(self) -> dict[str, T]:
        # A plug-in that looks here while it is loaded finds what is there so far.
        if self._is_loaded or _loading.get():
            return self._entries
        loading_before = _loading.set(True)
        try:
            offered: dict[str, T] = {}
            for point in entry_points(group=self._group):
                offered |= self._load(point)
            # All entries are set at once, so that another thread never sees only a part of them.
            self._entries = self._entries | offered
            import_environment_plugins()
            self._is_loaded = True
        finally:
            _loading.reset(loading_before)
        return self._entries

    def _load(self, point: EntryPoint) -> dict[str, T]:
        """The entry of a package, by its id; empty where it cannot be loaded."""
        package = "a package"
        if point.dist:
            package = point.dist.name
        try:
            name, entry = self._to_entry(point.load(), point.name)
            if name in self._entries or name in self.added:
                raise ValueError(f"'{name}' exists already")
        except (KeyboardInterrupt, Terminated):
            raise
        except BaseException as error:  # noqa: BLE001  a stranger's code raises anything
            log.warning(
                "the plug-in '%s' (%s) of %s cannot be loaded and is left out: %s",
                point.name,
                self._group,
                package,
                _cause(error),
            )
            return {}
        self.added[name] = package
        return {name: entry}


def import_environment_plugins() -> None:
    """Import the modules that ECV_PLUGINS and ECV_RULES name, with commas between them.

    One that fails on import is left out, with a sentence in the log; the others are imported.

    Raises:
        InputError: For a module that there is not, after the others were imported.
    """
    missing = None
    for variable in _VARIABLES:
        for name in os.environ.get(variable, "").replace(",", " ").split():
            error = _import_or_explain(variable, name)
            if error is not None:
                missing = error
    if missing is not None:
        # The error is raised only now, so that the other modules are imported all the same.
        raise missing


def _import_or_explain(variable: str, name: str) -> InputError | None:
    """Import a module that a variable names; what is wrong if there is none of this name."""
    if name in _failed:
        return None
    try:
        import_module(name)
    except (KeyboardInterrupt, Terminated):
        raise
    except BaseException as error:  # noqa: BLE001  a stranger's code raises anything
        if isinstance(error, ModuleNotFoundError) and _is_part_of(error.name, name):
            return InputError(
                f"{variable} names '{name}', which cannot be imported ({error}); "
                "put its folder into PYTHONPATH, or leave it out"
            )
        _failed.add(name)
        log.warning(
            "%s names '%s', which fails on import and is left out: %s",
            variable,
            name,
            _cause(error),
        )
    return None


def _is_part_of(package: str | None, module: str) -> bool:
    """Whether a module is this package or in it, as a.b.c is in a.b."""
    return f"{module}.".startswith(f"{package}.")


def _cause(error: BaseException) -> str:
    """The kind and the words of an error on one line, which is not endless."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


def check_id(name: object, what: str) -> str:
    """An id that addresses, options and files can hold. Raises: InputError."""
    if not isinstance(name, str) or not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,39}", name):
        raise InputError(
            f"{what}'s id is made of small letters, digits and hyphens, but is '{name}'"
        )
    return name


def id_of(name: str) -> str:
    """An id made of a name in code: 'HalfWidth' and 'half_width' -> 'half-width'."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name)
    return words.replace("_", "-").strip("-").lower()


def code_of(function: object) -> str:
    """Names what a function does by 16 hexadecimal digits: other code, other digits.

    Of its own code alone, as this version of Python compiles it; of an object, of its class's name.
    """
    code = getattr(function, "__code__", None)
    if isinstance(code, CodeType):
        return _digits_of_code(code)
    return _digits(f"{type(function).__module__}.{type(function).__qualname__}")


def _digits_of_code(code: CodeType) -> str:
    constants: list[object] = []
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            constants.append(_digits_of_code(constant))
        elif isinstance(constant, frozenset):
            # A set has another order in each process, so it is sorted.
            constants.append(sorted(map(repr, constant)))
        else:
            constants.append(constant)
    return _digits(repr((code.co_code.hex(), code.co_names, constants)))


def _digits(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]
