"""Hostile sessions and bytes on the wire: the server answers on, and shows nobody a traceback.

python -m benchmarks.wire [--cases 1000] [--seed 1] [--mode public|team|private]

Each case is one connection, made from its number: bytes that are no request, odd methods, paths and
headers, uploads, messages of Streamlit's own that are damaged or of nobody's session, words on the
dashboard's own WebSocket, or a page opened with an odd address. After each the server has to answer
its health check within 10 s; it may grow by 1 GB; no page and no line of its log may show a
traceback of ours.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import tempfile
import time
import urllib.parse
from collections import Counter
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

SECONDS, MEGABYTES = 10.0, 1024.0
PAGES = (
    "",
    "run",
    "runs",
    "replay",
    "folds",
    "studies",
    "best",
    "splits",
    "baselines",
    "learn",
    "data",
)
NAMES = ("run", "runs", "find", "state", "view", "dataset", "alpha", "study", "selection", "rows")
PATHS = (
    *("/", "/_stcore/health", "/_stcore/host-config", "/_stcore/stream", "/events", "/plotly.js"),
    *("/media/x", "/component/x/y", "/static/../app.py", "/..%2f..%2fetc/passwd", "/%00", "//x"),
)


async def raw(at: Dashboard, random: Random) -> None:
    """Bytes, of which some make a request."""
    method = random.choice(("GET", "PUT", "POST", "DELETE", "HEAD", "OPTIONS", "BREW", "x" * 999))
    head = f"{method} {random.choice(PATHS)}?{random.choice(TEXTS)[:3000]} HTTP/1.1\r\nHost: x\r\n"
    odd = random.choice(("Content-Length: -1", "Content-Length: 9" * 9, "Range: bytes=9-1,-5,x"))
    more = random.choice(
        (odd, "Cookie: " + "a=b; " * 9000, "Transfer-Encoding: chunked", "X" * 90000)
    )
    content = f"{head}{more}\r\n\r\n{random.choice(TEXTS)}".encode(errors="surrogatepass")
    if random.random() < 0.5:
        content = damaged(content, random)
    reader, writer = await asyncio.open_connection("127.0.0.1", at.port)
    try:
        writer.write(content)
        await writer.drain()
        with suppress(TimeoutError):
            await asyncio.wait_for(reader.read(4000), 1.0)
    finally:
        writer.close()


async def upload(at: Dashboard, random: Random) -> None:
    """A file for a session that nobody has."""
    body = random.randbytes(random.choice((0, 10, 100_000)))
    where = f"/_stcore/upload_file/{random.choice(('x', '../..', 'a' * 300))}/{random.random()}"
    head = f"PUT {where} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", at.port)
    try:
        writer.write(head.encode() + body[: random.choice((None, 5))])
        with suppress(TimeoutError):
            await asyncio.wait_for(reader.read(4000), 1.0)
    finally:
        writer.close()


async def messages(at: Dashboard, random: Random) -> None:
    """Streamlit's messages, damaged."""
    address = f"ws://127.0.0.1:{at.port}/_stcore/stream"
    async with connect(
        address, subprotocols=[Subprotocol("streamlit")], open_timeout=SECONDS
    ) as to:
        for _ in range(random.choice((1, 3, 10))):
            message = BackMsg()
            state = message.rerun_script
            state.query_string = random.choice(TEXTS).encode(errors="replace").decode()[:9000]
            state.page_name = random.choice((*PAGES, "../x", "x" * 999))
            state.fragment_id = random.choice(("", "x", "\0"))
            widget = state.widget_states.widgets.add()
            widget.id = random.choice(("$$ID-x-find", "start", "x" * 999))
            widget.string_value = random.choice(("x", "1" * 99_999))
            content = message.SerializeToString()
            await to.send(damaged(content, random) if random.random() < 0.6 else content)
            if random.random() < 0.2:
                await to.send("text")


async def events(at: Dashboard, random: Random) -> None:
    """Words to the dashboard's own WebSocket."""
    async with connect(f"ws://127.0.0.1:{at.port}/events", open_timeout=SECONDS) as to:
        for _ in range(random.choice((1, 5, 50))):
            word = random.choice((*TEXTS, "runs\n" * 9999, "run:x", "all"))
            given = word.encode(errors="replace")
            await to.send(given if random.random() < 0.3 else given.decode())
        with suppress(TimeoutError):
            await asyncio.wait_for(to.recv(), 0.2)


async def page(at: Dashboard, random: Random) -> None:
    """A page whose address says odd things."""
    said = [(random.choice(NAMES), random.choice(TEXTS)[:2000]) for _ in range(3)]
    query = urllib.parse.urlencode(said, errors="replace")
    await asyncio.to_thread(look, at, random.choice(PAGES), query)


def look(at: Dashboard, name: str, query: str) -> None:
    """Have a page drawn. Raises: AssertionError where it shows an error."""
    with Stranger(at.port, page=name, query=query, timeout=SECONDS) as tab:
        assert not tab.errors, tab.errors


KINDS: dict[str, tuple[int, Callable[[Dashboard, Random], Awaitable[None]]]] = {
    "raw": (30, raw),
    "upload": (15, upload),
    "messages": (25, messages),
    "events": (20, events),
    "page": (10, page),
}
"""Kind -> (how often, out of all; what a case of it does)."""
_REFUSED = (OSError, WebSocketException, InvalidHandshake, asyncio.IncompleteReadError)
"""What a server that is in order may answer with."""


async def _healthy(at: Dashboard) -> float:
    """Seconds until it has said that it is well. Raises: TimeoutError."""
    begin = time.monotonic()
    async with asyncio.timeout(SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", at.port)
        writer.write(b"GET /_stcore/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        answer = await reader.read()
        writer.close()
    assert answer.endswith(b"ok"), answer[:200]
    return time.monotonic() - begin


async def _all(at: Dashboard, cases: int, seed: int) -> tuple[Counter[str], int, float, float]:
    assert at.process is not None
    server = psutil.Process(at.process.pid)
    with suppress(TimeoutError):
        await asyncio.to_thread(look, at, "", "")  # a first page loads what all need
    before, most, slowest, failed = server.memory_info().rss, 0, 0.0, 0
    counts: Counter[str] = Counter()
    for number in range(cases):
        random = Random(f"{seed}-{number}")
        kind = random.choices(list(KINDS), [weight for weight, _ in KINDS.values()])[0]
        counts[kind] += 1
        try:
            with suppress(*_REFUSED):
                await KINDS[kind][1](at, random)
            slowest = max(slowest, await _healthy(at))
        except Exception as error:  # noqa: BLE001  is what is looked for
            failed += 1
            print(f"case {number} ({kind}): {type(error).__name__}: {error}", flush=True)
        most = max(most, server.memory_info().rss - before)
    return counts, failed, slowest, most / (1 << 20)


def _ours(trace: str) -> bool:
    """Whether code of e-fold has a part in it that is more than to pass on what a library fails of.

    Streamlit logs what it cannot read by itself, and its server an answer that nobody takes.
    """
    lines = trace.splitlines()
    own = [
        code
        for line, code in pairwise(lines)
        if line.startswith('  File "') and "site-packages" not in line and str(ROOT) in line
    ]
    return bool(own) and not re.match(r"\s*await (self\._)?app\(", own[-1])


def main() -> None:
    """Attack, and print the counts; exit code 1 where a promise is not kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mode", default="public", choices=["public", "team", "private"])
    asked = parser.parse_args()
    mode = {"ECV_MODE": "" if asked.mode == "private" else asked.mode, "ECV_EDITORS": ""}
    if asked.mode == "team":
        mode["ECV_EDITORS"] = "ada@example.org"
    with tempfile.TemporaryDirectory(prefix="ecv-wire-") as folder:
        at = Dashboard(Path(folder), datasets.data_dir().absolute(), **mode)
        at.start()
        try:
            counts, failed, slowest, grown = asyncio.run(_all(at, asked.cases, asked.seed))
        finally:
            at.stop()
        log = at.log.read_text(errors="replace")
    traces = log.split("Traceback (most recent call last)")[1:]
    ours = [trace[:4000] for trace in traces if _ours(trace)]
    print(*ours, sep="\n", end="")
    kinds = ", ".join(f"{kind} {count}" for kind, count in counts.most_common())
    print(
        f"{counts.total()} cases ({kinds}), {failed} failed; {len(ours)} tracebacks of "
        f"ours in the log and {len(traces) - len(ours)} of Streamlit alone; the server answered "
        f"within {slowest:.1f} s and grew by {grown:.0f} MB"
    )
    sys.exit(failed > 0 or len(ours) > 0 or grown > MEGABYTES)


if __name__ == "__main__":
    main()
