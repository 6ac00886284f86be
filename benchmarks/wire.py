"""Hostile sessions and bytes on the wire: the server answers on, and shows nobody a traceback.

python -m benchmarks.wire [--cases 1000] [--seed 1]

Each case is one connection to a public dashboard, made from the seed and its number: bytes that are
no request, or a page with an odd address, whose session then sends damaged messages. After each the
server has to answer its health check within 10 s; it may grow by 1 GB; no page and no line of its
log may show a traceback of ours. Exit code 1 where that does not hold.
"""

from __future__ import annotations

import argparse
import re
import socket
import sys
import tempfile
import urllib.parse
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from random import Random

import psutil
from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.exceptions import WebSocketException

from benchmarks.damage import TEXTS, damaged
from ecv_core import dataset as datasets
from tests.browser.dashboard import ROOT, Dashboard
from tests.browser.stranger import Stranger

MOST_SECONDS = 10.0
MOST_MEGABYTES = 1024.0
PAGES = ("", "run", "runs", "replay", "folds", "studies", "best", "splits", "learn", "data")
NAMES = ("run", "runs", "find", "state", "view", "dataset", "alpha", "study", "selection", "rows")
METHODS = ("GET", "PUT", "POST", "HEAD", "OPTIONS", "BREW", "x" * 999)
PATHS = ("/", "/_stcore/stream", "/_stcore/upload_file/x/f", "/events", "/media/x", "/..%2fetc")
HEADERS = (
    "Content-Length: -1",
    "Content-Length: 100000",
    "Range: bytes=9-1,-5,x",
    "Transfer-Encoding: chunked",
    "Cookie: " + "a=b; " * 9000,
    "X" * 90_000,
)
REFUSALS = (OSError, WebSocketException)
"""What a server that is in order may answer with."""


def send_request(port: int, random: Random) -> None:
    """Bytes, of which some make a request, and an answer for at most a second."""
    path = f"{random.choice(PATHS)}?{random.choice(TEXTS)[:3000]}"
    head = f"{random.choice(METHODS)} {path} HTTP/1.1"
    lines = [head, "Host: x", random.choice(HEADERS), "", random.choice(TEXTS)]
    content = "\r\n".join(lines).encode()
    if random.random() < 0.5:
        content = damaged(content, random)
    with socket.create_connection(("127.0.0.1", port), timeout=1.0) as connection:
        connection.sendall(content)
        connection.recv(4000)


def open_page(port: int, random: Random) -> None:
    """A page whose address says odd things, and messages of its session, some of them damaged.

    Raises: AssertionError where it shows an error.
    """
    values = []
    for _ in range(3):
        values.append((random.choice(NAMES), random.choice(TEXTS)[:2000]))
    query = urllib.parse.urlencode(values)
    page = random.choice(PAGES)
    with Stranger(port, page=page, query=query, timeout=MOST_SECONDS) as tab:
        assert not tab.errors, tab.errors
        for _ in range(random.choice((0, 1, 3, 10))):
            message = BackMsg()
            message.rerun_script.query_string = random.choice(TEXTS)[:9000]
            message.rerun_script.page_name = random.choice((*PAGES, "../x", "x" * 999))
            widget = message.rerun_script.widget_states.widgets.add()
            widget.id = random.choice(("$$ID-x-find", "start", "x" * 999))
            widget.string_value = random.choice(("x", "1" * 99_999))
            content = message.SerializeToString()
            if random.random() < 0.6:
                content = damaged(content, random)
            tab.say(content)


KINDS: tuple[Callable[[int, Random], None], ...] = (send_request, open_page)


def check_health(port: int) -> None:
    """Ask the server whether it is well.

    Raises: OSError, AssertionError
    """
    address = f"http://127.0.0.1:{port}/_stcore/health"
    with urllib.request.urlopen(address, timeout=MOST_SECONDS) as answer:
        assert answer.read() == b"ok"


def count_failed_cases(port: int, cases: int, seed: int) -> int:
    """Make the connections, and print after which of them something was wrong."""
    failed = 0
    for case in range(cases):
        random = Random(f"{seed}-{case}")
        attack = random.choice(KINDS)
        try:
            with suppress(*REFUSALS):
                attack(port, random)
            check_health(port)
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
            with suppress(TimeoutError), Stranger(dashboard.port):
                pass  # a first page loads what all need
            bytes_before = server.memory_info().rss
            failed = count_failed_cases(dashboard.port, options.cases, options.seed)
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
