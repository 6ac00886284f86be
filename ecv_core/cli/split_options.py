"""The options that `run` and `folds` share: which split, how many folds, which seed."""

from __future__ import annotations

import argparse

from ecv_core.splits import SPLITS


def add_split_options(parser: argparse.ArgumentParser, *, seed: int | None = 42) -> None:
    """Add them to a command's parser, with this seed by default."""
    parser.add_argument(
        "--split", default="user-k-fold", metavar="NAME", help=f"one of {', '.join(SPLITS)}"
    )
    parser.add_argument(
        "--split-param", action="append", default=[], metavar="NAME=VALUE", help="of the split"
    )
    parser.add_argument("-k", type=int, help="number of folds (default: the split's, mostly 10)")
    parser.add_argument("--seed", type=int, default=seed, help="fixes every random choice")
