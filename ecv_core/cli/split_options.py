"""The options that `run` and `folds` share: which split, how many folds, which seed."""

from __future__ import annotations

import argparse
from typing import Any

from ecv_core.cli.setting_options import add_setting
from ecv_core.splits import SPLITS

OF_SPLITS = ("split", "k", "seed")
"""Settings that every split has."""


def add_split_options(parser: argparse.ArgumentParser, **of_seed: Any) -> None:  # noqa: ANN401
    """Add them to a command's parser.

    Args:
        parser: of the command.
        of_seed: what is otherwise with the seed in this command, as for `add_argument`.
    """
    add_setting(parser, "split", help=f"one of {', '.join(SPLITS)}")
    parser.add_argument(
        "--split-param", action="append", default=[], metavar="NAME=VALUE", help="of the split"
    )
    add_setting(parser, "k")
    add_setting(parser, "seed", **of_seed)
