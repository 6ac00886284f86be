"""Texts and values that nobody expects, and what happens to files on their way."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

SIGNS = tuple(' ",;\t\r\n\0\ufeff\u202e\U0010ffff٣')
"""Single characters that separate, end, turn round, or cannot be seen; and a digit."""
NUMBERS = ("nan", "-inf", "1e308", "1e400", "-0", "1_000", "1,5", "0x1f", str(2**63), "9" * 400)
TIMES = ("0001-01-01", "2024-02-30", "9999-12-31T23:59:59", "1970-01-01T00:00:00+99:99")
ATTACKS = ("=cmd|' /C'!A0", "../../evil", "/etc/passwd", "<script>", "%s%n", "$(id)", "[" * 2000)
TEXTS = (*SIGNS, *NUMBERS, *TIMES, *ATTACKS, "", "null", "x" * 5000, "y" * 140_000)
"""What a cell, a name or an option may be instead of what is expected."""
LENGTHS = (0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63)
"""What a binary file may claim of what follows."""
ODD_COLUMNS = (
    (None, pa.null()),
    ([1], pa.list_(pa.int64())),
    (b"\xff\0", pa.binary()),
    (2**64 - 1, pa.uint64()),
    (-(2**62), pa.timestamp("ns")),
    ("a\0b", pa.string()),
    ("é", pa.dictionary(pa.int32(), pa.string())),
)
"""A value and its type, of which a column of Parquet may be."""


def _damaged_piece(piece: bytes, random: Random) -> bytes:
    damage = random.choice(("remove", "zero", "noise", "repeat", "insert", "number"))
    if damage == "zero":
        return bytes(len(piece))
    if damage == "noise":
        return random.randbytes(len(piece))
    if damage == "repeat":
        return piece[:5000] * random.choice((2, 300))
    if damage == "insert":
        return random.choice(TEXTS).encode() + piece
    if damage == "number":
        return random.choice(LENGTHS).to_bytes(8, "little")
    return b""


def damaged(content: bytes, random: Random) -> bytes:
    """The content with one to four pieces of it changed; a piece may be all that follows."""
    for _ in range(random.choice((1, 1, 2, 4))):
        start = random.randrange(len(content) + 1)
        length = random.choice((1, 1, 8, 100, 5000, len(content)))
        piece = content[start : start + length]
        content = content[:start] + _damaged_piece(piece, random) + content[start + length :]
    return content


def text_table(columns: list[str], rows: list[list[str]], random: Random) -> bytes:
    """A table as text, in which cells, the header, separators and the encoding may be odd."""
    lines = [list(columns)]
    for row in rows:
        lines.append(list(row))
    for _ in range(random.choice((0, 0, 1, 3))):
        line = random.choice(lines)
        line[random.randrange(len(line))] = random.choice(TEXTS)
    if random.random() < 0.2:
        random.choice(lines).append("one cell more")
    separator = random.choice((",", ",", ",", ",", ";", "\t", "|", "::"))
    line_end = random.choice(("\n", "\n", "\n", "\r\n", "\r"))
    encoding = random.choice(("utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "cp1252"))
    text = line_end.join(separator.join(line) for line in lines)
    return text.encode(encoding, errors="replace")


def _parquet_table(columns: list[str], rows: list[list[str]], random: Random) -> bytes:
    """A table as Parquet, of which a column may be of a type that nobody expects."""
    table = {}
    for position, name in enumerate(columns):
        table[name] = pa.array([row[position] for row in rows])
    if random.random() < 0.5:
        value, kind = random.choice(ODD_COLUMNS)
        table[random.choice(columns)] = pa.array([value] * len(rows), kind)
    buffer = io.BytesIO()
    pq.write_table(pa.table(table), buffer, compression=random.choice(("snappy", "zstd", "none")))
    return _perhaps_damaged(buffer.getvalue(), random)


def packed(content: bytes, name: str, random: Random) -> bytes:
    """A file as it is, or packed; perhaps damaged before, and after."""
    content = _perhaps_damaged(content, random)
    packing = random.choice(("none", "none", "none", "gzip", "zip"))
    if packing == "none":
        return content
    if packing == "gzip":
        return _perhaps_damaged(gzip.compress(content), random)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(random.choice((name, name, f"../../{name}")), content)
    return _perhaps_damaged(buffer.getvalue(), random)


def _perhaps_damaged(content: bytes, random: Random) -> bytes:
    if random.random() < 0.25:
        return damaged(content, random)
    return content


def odd_table(folder: Path, columns: list[str], rows: list[list[str]], random: Random) -> Path:
    """A file of these rows, Parquet or text, in which something may be odd."""
    name = random.choice(("a.parquet", "a.csv", "a.csv", "a.csv", "a.csv.gz"))
    if name == "a.parquet":
        content = _parquet_table(columns, rows, random)
    else:
        content = packed(text_table(columns, rows, random), "a.csv", random)
    path = folder / name
    path.write_bytes(content)
    return path
