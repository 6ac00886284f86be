"""The settings of a run as options of a command."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from functools import partial
from typing import Any

from ecv_core.errors import InputError
from ecv_core.records import SETTINGS, Setting


def add_settings(parser: argparse.ArgumentParser, names: Iterable[str]) -> None:
    """Add the options of these settings, of those that have one."""
    groups: dict[str, Any] = {"": parser}
    for known in (SETTINGS[name] for name in names if SETTINGS[name].option):
        if known.rivals not in groups:
            groups[known.rivals] = parser.add_mutually_exclusive_group()
        add_setting(groups[known.rivals], known.name)


def add_setting(parser: argparse._ActionsContainer, name: str, **changed: Any) -> None:  # noqa: ANN401
    """Add the option of one setting.

    Args:
        parser: of the command.
        name: of the setting.
        changed: what is otherwise in this command, as for `add_argument`.
    """
    known = SETTINGS[name]
    about: dict[str, Any] = {"dest": name, "help": _help(known).replace("%", "%%")}
    if known.kind is bool:
        about["action"] = "store_true"
    else:
        about["default"] = None if known.unless_asked else known.default
        about["metavar"] = known.metavar or str(known.default or known.name.upper())
        about["type"] = partial(_several, known) if known.kind is tuple else known.kind
    parser.add_argument(str(known.option), **about | changed)


def asked_settings(options: argparse.Namespace) -> dict[str, Any]:
    """What the options say of the settings, the dataset and the algorithm, for `make_spec`."""
    return {name: value for name, value in vars(options).items() if name in SETTINGS}


def _help(known: Setting) -> str:
    words = known.help
    if known.choices:
        words += f" One of: {', '.join(known.choices)}."
    if known.unless_asked:
        words += f" Default: {known.unless_asked}."
    elif known.default not in (None, False, ()):
        words += f" Default: {known.default}."
    return words.strip()


def _several(known: Setting, text: str) -> tuple[int | str, ...]:
    try:
        return tuple(known.each(part.strip()) for part in text.split(",") if part.strip())
    except ValueError:
        raise InputError(f"{known.option} takes numbers like 0,1 but got '{text}'") from None
