"""What a database complains of, as words for whoever reads the sentence."""

from __future__ import annotations

import re


def without_password(text: str) -> str:
    """An address that may be shown."""
    return re.sub(r"(://[^:/@\s]*):[^@/\s]*@", r"\1:***@", text)


def first_line(error: BaseException) -> str:
    """What the database itself said."""
    return str(getattr(error, "orig", None) or error).splitlines()[0]


def way_out(error: BaseException) -> str:
    """What to do about it."""
    text = str(error).lower()
    if "not a database" in text or "malformed" in text:
        return "move the damaged file away, or set ECV_DATABASE_URL to another"
    if "full" in text:
        return "free some disk space"
    if "readonly" in text or "read-only" in text or "unable to open" in text:
        return "make it writable, or set ECV_DATABASE_URL to a place you can write to"
    if "locked" in text:
        return "another program holds it; try again"
    return "set ECV_DATABASE_URL to a database that works"
