"""How much of what people give is read: every limit, in one place.

They hold before anything is kept, drawn or computed. A row beyond a limit is counted by its reason
where rows are counted; else what is beyond one is refused in a sentence.
"""

from __future__ import annotations

import os

from ecv_core.records.errors import InputError

MEGABYTE = 1 << 20

# -- any file ---------------------------------------------------------------------------------

READ_HERE_BYTES = MEGABYTE // 2
"""Text that unpacks to more than this, and all of Parquet, is read in a process of its own."""
READ_MB = 700
"""Megabytes that reading a file may take, beside `READ_TIMES` its size. So a small file that is
made to be large takes less than 1 GB with what a child holds besides."""
READ_TIMES = 10
MOST_READ_MB = 1800
"""Megabytes that no reading takes more of, so less than 2 GB with what the asking process holds."""
USUAL_READ_SECONDS = 120

# -- datasets of one's own --------------------------------------------------------------------

USUAL_UPLOAD_MB = 200
TIMES_UNPACKED = 5
"""A file may unpack to this many times the size that may be uploaded."""
MAX_ROWS = 30_000_000
MAX_COLUMNS = 500
MAX_ARCHIVE_TABLE = 4 * MEGABYTE
"""Bytes of a ZIP's table of contents: about 40,000 files."""
LONGEST_LINE = 4 * MEGABYTE
"""Bytes of a line, or of a row with line breaks in quotation marks."""
LONGEST_ID = 256
"""Characters of an id."""
MAX_ID_BYTES = 1 << 30
"""Ids are stored at the width of the longest one, times four bytes, times how many there are."""
LARGEST_RATING = 1e6
"""In size; a rating beyond is a mistake."""
EARLIEST = -8_520_336_000
"""Unix seconds: the beginning of 1700; every figure of time can draw what follows."""
LATEST = 7_258_118_400
"""Unix seconds: the end of 2199."""

# -- folds ------------------------------------------------------------------------------------

MAX_FOLDS_BYTES = 1 << 30
"""Of a fold file or a member of a split archive, as it is and unpacked."""
MAX_FOLDS_TABLE = 2**28
"""Folds of a split archive, times the interactions of its dataset: a byte for each."""

# -- scores -----------------------------------------------------------------------------------

MAX_SYSTEMS = 500
"""Systems in a table of fold scores, or contenders in a file of scores."""
MAX_SCORE_FOLDS = 200
MAX_SCORE_ROWS = 50_000_000
MAX_SCORES = 2**26
"""Contenders times folds times users: eight bytes for each."""

# -- runs -------------------------------------------------------------------------------------

MAX_RUN_BYTES = 10_000_000
"""A run of ten folds takes 20 kB; nothing that people make comes near this."""
MAX_RUN_FOLDS = 1000
MAX_RUN_METRICS = 200
"""Of a fold."""
MAX_CURVE = 10_000
"""Points of a curve of training."""
MAX_TEXT = 1000
"""Characters of a text of a run."""


def max_upload_mb() -> int:
    """Megabytes (2**20 bytes) of a file as it is given: ECV_MAX_UPLOAD_MB, or 200.

    Raises:
        InputError: If the variable is no whole number from 1 to 100,000.
    """
    return whole_number("ECV_MAX_UPLOAD_MB", USUAL_UPLOAD_MB, "megabytes", 1, 100_000)


def max_upload_bytes() -> int:
    """As `max_upload_mb`, in bytes."""
    return max_upload_mb() * MEGABYTE


def max_unpacked_bytes() -> int:
    """How large a file may be once it is unpacked."""
    return TIMES_UNPACKED * max_upload_bytes()


def max_read_mb(size: int = 0) -> int:
    """Megabytes of memory that reading a file of so many bytes may take: ECV_MAX_READ_MB, or usual.

    Raises:
        InputError: If the variable is no whole number from 64 to 1,000,000.
    """
    usual = min(READ_MB + READ_TIMES * size // MEGABYTE, MOST_READ_MB)
    return whole_number("ECV_MAX_READ_MB", usual, "megabytes", 64, 1_000_000)


def max_read_seconds() -> int:
    """Seconds that reading a file may take: ECV_MAX_READ_SECONDS, or 120.

    Raises:
        InputError: If the variable is no whole number from 1 to 100,000.
    """
    return whole_number("ECV_MAX_READ_SECONDS", USUAL_READ_SECONDS, "seconds", 1, 100_000)


def whole_number(name: str, usual: int, unit: str, low: int, high: int) -> int:
    """What a variable of the environment says, or what is usual.

    Raises:
        InputError: For what is no whole number from low to high.
    """
    text = os.environ.get(name, "").strip()
    if not text:
        return usual
    # Python refuses to read a number of thousands of digits, so the length is looked at first.
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(high))
    if not (is_number and low <= int(text) <= high):
        raise InputError(
            f"{name} must be a whole number of {unit} from {low} to {high}, but is "
            f"'{text[:40]}'; without it, it is {usual}"
        )
    return int(text)
