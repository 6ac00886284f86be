"""Hostile sessions and bytes on the wire: the server answers on, and shows nobody a traceback.

python -m benchmarks.wire [--cases 1000] [--seed 1]

Each case is one connection to a public dashboard, made from the seed and its number: bytes that are
no request, uploads for sessions that nobody has, damaged messages of Streamlit's own, words on the
dashboard's own WebSocket, or a page with an odd address. After each the server has to answer its
health check within 10 s; it may grow by 1 GB; no page and no line of its log may show a traceback
of ours. Exit code 1 where that does not hold.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import tempfile
import urllib.parse
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from random import Random

import psutil
from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidHandshake, WebSocketException
from websockets.typing import Subprotocol

from benchmarks.damage import TEXTS, damaged
from ecv_core import dataset as datasets
from tests.browser.dashboard import ROOT, Dashboard
from tests.browser.stranger import Stranger

MOST_SECONDS = 10.0
MOST_MEGABYTES = 1024.0
PAGES = ("", "run", "runs", "replay", "folds", "studies", "best", "splits", "learn", "data")
NAMES = ("run", "runs", "find", "state", "view", "dataset", "alpha", "study", "selection", "rows")
METHODS = ("GET", "PUT", "POST", "HEAD", "OPTIONS", "BREW", "x" * 999)
PATHS = (
    "/",
    "/_stcore/stream",
    "/events",
    "/media/x",
    "/static/../app.py",
    "/..%2f..%2fetc",
    "//x",
)
HEADERS = (
    "Content-Length: -1",
    "Range: bytes=9-1,-5,x",
    "Transfer-Encoding: chunked",
    "Cookie: " + "a=b; " * 9000,
    "X" * 90_000,
)
REFUSALS = (OSError, WebSocketException, InvalidHandshake, asyncio.IncompleteReadError)
"""What a server that is in order may answer with."""


async def _send_bytes(port: int, content: bytes) -> None:
    """Send bytes over a connection of their own, and read an answer for at most a second."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(content)
        await writer.drain()
        with suppress(TimeoutError):
            await asyncio.wait_for(reader.read(4000), 1.0)
    finally:
        writer.close()


async def send_request(port: int, random: Random) -> None:
    """Bytes, of which some make a request."""
    path = f"{random.choice(PATHS)}?{random.choice(TEXTS)[:3000]}"
    lines = [
        f"{random.choice(METHODS)} {path} HTTP/1.1",
        "Host: x",
        random.choice(HEADERS),
        "",
        random.choice(TEXTS),
    ]
    content = "\r\n".join(lines).encode()
    if random.random() < 0.5:
        content = damaged(content, random)
    await _send_bytes(port, content)


async def upload(port: int, random: Random) -> None:
    """A file, or the first bytes of it, for a session that nobody has."""
    body = random.randbytes(random.choice((0, 10, 100_000)))
    session = random.choice(("x", "../..", "a" * 300))
    head = (
        f"PUT /_stcore/upload_file/{session}/f HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}"
    )
    content = f"{head}\r\n\r\n".encode() + body
    await _send_bytes(port, content[: random.choice((len(content), len(head) + 9))])


async def send_messages(port: int, random: Random) -> None:
    """Streamlit's messages, some of them damaged."""
    address = f"ws://127.0.0.1:{port}/_stcore/stream"
    protocols = [Subprotocol("streamlit")]
    async with connect(address, subprotocols=protocols, open_timeout=MOST_SECONDS) as connection:
        for _ in range(random.choice((1, 3, 10))):
            message = BackMsg()
            message.rerun_script.query_string = random.choice(TEXTS)[:9000]
            message.rerun_script.page_name = random.choice((*PAGES, "../x", "x" * 999))
            widget = message.rerun_script.widget_states.widgets.add()
            widget.id = random.choice(("$$ID-x-find", "start", "x" * 999))
            widget.string_value = random.choice(("x", "1" * 99_999))
            content = message.SerializeToString()
            if random.random() < 0.6:
                content = damaged(content, random)
            await connection.send(content)
            if random.random() < 0.2:
                await connection.send("text")


async def send_words(port: int, random: Random) -> None:
    """Words, as text or as bytes, to the dashboard's own WebSocket."""
    address = f"ws://127.0.0.1:{port}/events"
    async with connect(address, open_timeout=MOST_SECONDS) as connection:
        for _ in range(random.choice((1, 5, 50))):
            word = random.choice((*TEXTS, "runs\n" * 9999, "run:x", "all"))
            if random.random() < 0.3:
                await connection.send(word.encode())
            else:
                await connection.send(word)
        with suppress(TimeoutError):
            await asyncio.wait_for(connection.recv(), 0.2)


async def open_page(port: int, random: Random) -> None:
    """A page whose address says odd things."""
    values = []
    for _ in range(3):
        values.append((random.choice(NAMES), random.choice(TEXTS)[:2000]))
    query = urllib.parse.urlencode(values)
    await asyncio.to_thread(draw_page, port, random.choice(PAGES), query)


def draw_page(port: int, page: str = "", query: str = "") -> None:
    """Have a page drawn.

    Raises: AssertionError where it shows an error.
    """
    with Stranger(port, page=page, query=query, timeout=MOST_SECONDS) as tab:
        assert not tab.errors, tab.errors


KINDS: tuple[Callable[[int, Random], Awaitable[None]], ...] = (
    send_request,
    upload,
    send_messages,
    send_words,
    open_page,
)


async def check_health(port: int) -> None:
    """Ask the server whether it is well.

    Raises: TimeoutError, AssertionError
    """
    async with asyncio.timeout(MOST_SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /_stcore/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        answer = await reader.read()
        writer.close()
    assert answer.endswith(b"ok"), answer[:200]


async def count_failed_cases(port: int, cases: int, seed: int) -> int:
    """Make the connections, and print after which of them something was wrong."""
    failed = 0
    for case in range(cases):
        random = Random(f"{seed}-{case}")
        attack = random.choice(KINDS)
        try:
            with suppress(*REFUSALS):
                await attack(port, random)
            await check_health(port)
        except Exception as error:  # noqa: BLE001  is what is looked for
            failed += 1
            print(f"case {case} ({attack.__name__}): {type(error).__name__}: {error}", flush=True)
    return failed


def is_ours(trace: str) -> bool:
    """Whether code of e-fold has a part in a traceback, more than to pass on what a library raises.

    Streamlit logs what it cannot read by itself, and its server an answer that nobody takes.
    """
    own_code = ""
    for line, code in pairwise(trace.splitlines()):
        if line.startswith('  File "') and "site-packages" not in line and str(ROOT) in line:
            own_code = code
    passes_on = re.match(r"\s*await (self\._)?app\(", own_code)
    return bool(own_code) and not passes_on


def main() -> None:
    """Attack, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ecv-wire-") as folder:
        data = datasets.data_dir().absolute()
        dashboard = Dashboard(Path(folder), data, ECV_MODE="public", ECV_EDITORS="")
        dashboard.start()
        try:
            assert dashboard.process is not None
            server = psutil.Process(dashboard.process.pid)
            with suppress(TimeoutError):
                draw_page(dashboard.port)  # a first page loads what all need
            bytes_before = server.memory_info().rss
            attacks = count_failed_cases(dashboard.port, options.cases, options.seed)
            failed = asyncio.run(attacks)
            megabytes = (server.memory_info().rss - bytes_before) / (1 << 20)
        finally:
            dashboard.stop()
        log = dashboard.log.read_text(errors="replace")
    traces = log.split("Traceback (most recent call last)")[1:]
    our_traces = [trace for trace in traces if is_ours(trace)]
    for trace in our_traces:
        print(trace[:4000])
    print(
        f"{options.cases} cases, {failed} failed; {len(our_traces)} tracebacks of ours in the log, "
        f"{len(traces) - len(our_traces)} of Streamlit alone; the server grew by {megabytes:.0f} MB"
    )
    sys.exit(failed > 0 or len(our_traces) > 0 or megabytes > MOST_MEGABYTES)


if __name__ == "__main__":
    main()
