"""Valid files of every kind that people give, and ways to damage them, from a random source."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

RECORDED = Path(__file__).resolve().parents[1] / "data" / "recorded"

TOKENS = (
    *("", " ", '"', "'", ",", ";", "\t", "\n", "\r", "\r\n", "\0", "\ufeff", "|", "::", "\x1f"),
    *("nan", "inf", "-inf", "1e308", "-1e308", "1e400", "1e-400", "-1", "0", "-0", "1_000", "٣"),
    *("9" * 400, "0x1f", "1,5", "1.7976931348623157e308", "9223372036854775808", "-32769"),
    *("=cmd|' /C calc'!A0", "../../evil", "/etc/passwd", "null", "true", "[]", "{}", "[" * 2000),
    *("0001-01-01", "9999-12-31T23:59:59", "2024-02-30", "1970-01-01T00:00:00+99:99", "Z"),
    *("x" * 5000, "y" * 140_000, "\u202e", "\U0010ffff", "é", "<script>", "%s%n", "{0}", "$(id)"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63) - 1, 10**300, 1e308, -1e308, 5e-324),
    *("", "x", "x" * 2000, "nan", "a\nb", "\0", [], {}, [[]], {"a": 1}, [1] * 50, [None]),
)


def damaged(content: bytes, random: Random) -> bytes:
    """The content with one to four things done to it."""
    data = bytearray(content)
    for _ in range(random.choice((1, 1, 2, 4))):
        at = random.randrange(len(data) + 1)
        to = min(len(data), at + random.choice((1, 1, 2, 8, 100, 5000)))
        piece = data[at:to]
        way = random.randrange(9)
        if way == 0 and at < len(data):
            data[at] ^= 1 << random.randrange(8)
        elif way == 1:
            data[at:to] = random.randbytes(to - at)
        elif way == 2:
            del data[at:to]
        elif way == 3:
            data[at:at] = piece * random.choice((1, 2, 300))
        elif way == 4:
            data[at:at] = random.choice(TOKENS).encode(random.choice(("utf-8", "utf-16-le")))
        elif way == 5:
            del data[at:]
        elif way == 6:
            data[at:to] = bytes(to - at)
        elif way == 7:
            data[at:to] = b"\xff" * (to - at)
        else:
            number = random.choice((0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63))
            data[at : at + 8] = number.to_bytes(8, random.choice(("little", "big")))
    return bytes(data)


def table_text(columns: list[str], rows: list[list[str]], random: Random) -> bytes:
    """A table as text, in which cells, the header, separators and line ends may be odd."""
    cells = [list(columns), *(list(row) for row in rows)]
    for _ in range(random.choice((0, 0, 1, 1, 3))):
        row = random.choice(cells)
        row[random.randrange(len(row))] = random.choice(TOKENS)
    if random.random() < 0.2:
        random.choice(cells).append("more")
    sign = random.choice((",",) * 6 + (";", "\t", "|", "::", " "))
    end = random.choice(("\n",) * 6 + ("\r\n", "\r"))
    text = end.join(sign.join(row) for row in cells)
    encoding = random.choice(("utf-8",) * 8 + ("utf-8-sig", "utf-16", "cp1252"))
    return text.encode(encoding, errors="replace")


def zipped(members: dict[str, bytes], random: Random) -> bytes:
    """A ZIP archive, now and then with odd names, packed in a rare way, or a member twice."""
    buffer = io.BytesIO()
    way = random.choice((zipfile.ZIP_DEFLATED,) * 6 + (zipfile.ZIP_STORED, zipfile.ZIP_LZMA))
    with zipfile.ZipFile(buffer, "w", way) as archive:
        for name, content in members.items():
            odd = random.choice(("../" * 6 + name, "/" + name, "x" * 300 + name, "a/" + name))
            info = zipfile.ZipInfo(odd if random.random() < 0.15 else name)
            archive.writestr(info, content, way)
    return buffer.getvalue()


def packed(content: bytes, name: str, random: Random) -> bytes:
    """As it is, packed, or packed twice; damaged before or after."""
    if random.random() < 0.4:
        content = damaged(content, random)
    way = random.randrange(8)
    if way == 0:
        content = gzip.compress(content)
    elif way == 1:
        content = zipped({name: content}, random)
    elif way == 2:
        content = gzip.compress(gzip.compress(content))
    return damaged(content, random) if way < 4 and random.random() < 0.5 else content


def parquet(columns: dict[str, list[Any]], random: Random) -> bytes:
    """A Parquet file, of which a column may be of a type that nobody expects."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = {name: pa.array(values) for name, values in columns.items()}
    count = len(next(iter(table.values())))
    if random.random() < 0.5:
        table[random.choice(list(table))] = random.choice(_odd_columns())(count)
    if random.random() < 0.05:
        table = {name: values[:0] for name, values in table.items()}
    buffer = io.BytesIO()
    way = random.choice(("snappy", "zstd", "none", "gzip"))
    pq.write_table(pa.table(table), buffer, compression=way, use_dictionary=random.random() < 0.7)
    content = buffer.getvalue()
    if random.random() < 0.6:
        for _ in range(random.choice((1, 3, 20))):
            at = random.randrange(len(content))
            byte = bytes([content[at] ^ random.randrange(1, 256)])
            content = content[:at] + byte + content[at + 1 :]
    return content


def _odd_columns() -> list[Callable[[int], Any]]:
    import pyarrow as pa

    def of(value: object, kind: Any = None) -> Callable[[int], Any]:  # noqa: ANN401  Arrow's
        return lambda count: pa.array([value] * count, kind)

    return [
        *(of(None), of([1]), of({"a": 1}), of(b"\xff\0"), of(Decimal("1.5")), of(True)),
        *(of(date.max), of(datetime.max, pa.timestamp("us")), of(timedelta(days=1))),
        *(of(2**64 - 1, pa.uint64()), of(float("nan")), of(1e308), of("x" * 2000), of("a\0b")),
        of(-(2**62), pa.timestamp("ns")),
        of(2**40, pa.timestamp("s")),
        of(1, pa.time32("s")),
        lambda count: pa.array(["é"] * count).dictionary_encode(),
        lambda count: pa.array([str(at) for at in range(count)], pa.large_string()),
    ]


def document(random: Random) -> bytes:
    """The JSON of a run with some values replaced, left out, or added."""
    found = json.loads(_recorded())
    for _ in range(random.choice((0, 1, 1, 2, 5))):
        place = found
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                break
            key = random.choice(keys)
            if isinstance(place[key], dict | list) and place[key] and random.random() < 0.75:
                place = place[key]
                continue
            way = random.randrange(5)
            if way == 0:
                del place[key]
            elif way == 1 and isinstance(place, dict):
                place[random.choice(TOKENS)] = random.choice(VALUES)
            else:
                place[key] = random.choice((*VALUES, *TOKENS))
            break
    text = json.dumps(found)
    if random.random() < 0.1:
        text = text.replace("0.", random.choice(("NaN", "1e999", "-0.", "00.")), 1)
    content = text.encode()
    return damaged(content, random) if random.random() < 0.2 else content


@cache
def _recorded() -> str:
    return next(iter(sorted(RECORDED.glob("ml-100k--popular*.json")))).read_text("utf-8")
