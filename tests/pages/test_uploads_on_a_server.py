"""Uploads to a real server: strangers take nobody's file away, and who hangs up fills no log."""

from __future__ import annotations

import http.client
import socket
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.browser.dashboard import Dashboard
from tests.browser.stranger import FORM, Stranger

CONTENT = b"user,item\nu1,i1\n" * 100_000
ABORTED = 50


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    folder = tmp_path_factory.mktemp("server")
    dashboard = Dashboard(folder, folder / "data")
    dashboard.start()
    yield dashboard
    dashboard.stop()


@pytest.fixture
def cookies(server: Dashboard) -> dict[str, str]:
    """Those of a browser that has the page: its name, and Streamlit's token."""
    cookies = {}
    for path in ("/", "/_stcore/health"):
        request = urllib.request.Request(server.url + path, headers={"Accept": "text/html"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            for header in answer.headers.get_all("set-cookie", []):
                name, _, value = header.partition(";")[0].partition("=")
                cookies[name] = value
    return cookies


def held(server: Dashboard) -> int:
    """Bytes of the files that Streamlit holds, as the books have it."""
    with urllib.request.urlopen(f"{server.url}/metrics", timeout=30) as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith("ecv_upload_bytes "):
                return int(float(line.split(" ")[1]))
    raise AssertionError("/metrics says nothing of uploads")


def cookie_header(cookies: dict[str, str]) -> str:
    return "; ".join(f"{name}={value}" for name, value in cookies.items())


def form_headers(cookies: dict[str, str]) -> dict[str, str]:
    return {
        "Cookie": cookie_header(cookies),
        "X-Xsrftoken": cookies["_streamlit_xsrf"],
        "Content-Type": f"multipart/form-data; boundary={FORM}",
    }


def status_of(server: Dashboard, method: str, path: str, body: bytes, **headers: str) -> int:
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)) as connection:
        connection.request(method, path, body=body, headers=headers)
        return connection.getresponse().status


def form(content: bytes) -> bytes:
    head = f'--{FORM}\r\nContent-Disposition: form-data; name="f"; filename="f.csv"\r\n\r\n'
    return head.encode() + content + f"\r\n--{FORM}--\r\n".encode()


def abort(server: Dashboard, path: str, headers: dict[str, str]) -> None:
    """Begin to send a file, and hang up in the middle."""
    with socket.create_connection(("127.0.0.1", server.port), 30) as plain:
        head = [f"PUT {path} HTTP/1.1", f"Host: 127.0.0.1:{server.port}"]
        for name, value in headers.items():
            head.append(f"{name}: {value}")
        body = form(CONTENT)
        head.append(f"Content-Length: {len(body)}")
        plain.sendall("\r\n".join([*head, "", ""]).encode() + body[: len(body) // 2])


def test_requests_of_strangers_take_no_file_away(
    server: Dashboard, cookies: dict[str, str]
) -> None:
    with Stranger(server.port, cookie=cookie_header(cookies)) as editor:
        path = f"/_stcore/upload_file/{editor.session}/file"
        assert status_of(server, "PUT", path, form(CONTENT), **form_headers(cookies)) == 204
        kept = held(server)
        assert kept >= len(CONTENT)
        too_long = {"Content-Length": str(201 << 20)}
        assert status_of(server, "PUT", "/_stcore/upload_file/-/zz0", b"", **too_long) >= 400
        assert status_of(server, "PUT", path, form(b"x")) == 403
        assert status_of(server, "DELETE", path, b"") == 403
        only_named = {"Cookie": f"ecv_browser={cookies['ecv_browser']}"}
        assert status_of(server, "PUT", path, form(b"x"), **only_named) == 403
        assert held(server) == kept


def test_fifty_uploads_that_are_broken_off_leave_no_traceback_and_no_bytes(
    server: Dashboard, cookies: dict[str, str]
) -> None:
    server.complaints()
    with Stranger(server.port, cookie=cookie_header(cookies)) as editor:
        before = held(server)
        for number in range(ABORTED):
            path = f"/_stcore/upload_file/{editor.session}/{number}"
            abort(server, path, form_headers(cookies))
        deadline = time.monotonic() + 30
        while held(server) != before and time.monotonic() < deadline:
            time.sleep(0.05)
        assert held(server) == before
    log = Path(server.log).read_text(encoding="utf-8")
    assert "Exception" not in log
    assert server.complaints() == []
