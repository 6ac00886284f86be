"""What a file of one's own may be: every limit of reading it, in one place.

They hold before anything is kept. A row beyond a limit is counted by its reason, a file beyond one
is refused in a sentence.
"""

from __future__ import annotations

import os

from ecv_core.errors import InputError

MEGABYTE = 1 << 20
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
EARLIEST, LATEST = -8_520_336_000, 7_258_118_400
"""Unix seconds: from 1700 to the end of 2199, which every figure of time can draw."""


def max_upload_mb() -> int:
    """Megabytes (2**20 bytes) of a file as it is given: ECV_MAX_UPLOAD_MB, or 200.

    Raises: InputError if the variable is no whole number from 1 to 100,000.
    """
    asked = os.environ.get("ECV_MAX_UPLOAD_MB", "").strip()
    if not asked:
        return USUAL_UPLOAD_MB
    if not (asked.isascii() and asked.isdigit() and len(asked) <= 6 and 1 <= int(asked) <= 100_000):
        raise InputError(
            f"ECV_MAX_UPLOAD_MB must be a whole number of megabytes from 1 to 100000, but is "
            f"'{asked}'"
        )
    return int(asked)


def max_upload_bytes() -> int:
    """As `max_upload_mb`, in bytes."""
    return max_upload_mb() * MEGABYTE


def max_unpacked_bytes() -> int:
    """How large a file may be once it is unpacked."""
    return TIMES_UNPACKED * max_upload_bytes()


def id_bytes(count: int, longest: int) -> int:
    """Memory that ids take, in bytes: see `MAX_ID_BYTES`."""
    return 4 * count * longest
