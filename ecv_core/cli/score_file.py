"""What `select --scores` and `orders` have in common: a file of scores, and which way is better."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ecv_core.analysis.score_files import ScoreFile

LOWER = "--lower-is-better"
HIGHER = "--higher-is-better"


def add_direction(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which way is better, whatever the file says."""
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument(
        LOWER,
        dest="higher_is_better",
        action="store_false",
        default=None,
        help="A lower score is better, whatever the file says.",
    )
    ways.add_argument(
        HIGHER,
        dest="higher_is_better",
        action="store_true",
        default=None,
        help="A higher score is better, whatever the file says.",
    )


def read_score_file(path: Path, options: argparse.Namespace) -> ScoreFile:
    """The scores of a file, of the metric and in the direction that the options ask for.

    Raises:
        InputError: For a file that cannot be used.
    """
    from ecv_core.analysis.score_files import read_contenders

    return read_contenders(path, options.metric).directed(options.higher_is_better)


def direction_words(scores: ScoreFile) -> str:
    """Which direction was taken, how to say otherwise, and what of the file was left out."""
    return f"{scores.direction.sentence(_otherwise(scores))} {scores.left_out}".strip()


def _otherwise(scores: ScoreFile) -> str:
    """The option that turns the direction round."""
    if scores.direction.higher_is_better:
        return LOWER
    return HIGHER


def file_facts(scores: ScoreFile) -> dict[str, Any]:
    """What a document says of the file that its numbers are of."""
    return {
        "metric": scores.metric or None,
        "higher_is_better": scores.direction.higher_is_better,
        "direction": scores.direction.sentence(_otherwise(scores)),
        "left_out": scores.left_out or None,
    }
