"""What deploy/ has for a server: a real nginx before a dashboard as the service starts it."""

from __future__ import annotations

import base64
import http.client
import os
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.ports import unused_port

ROOT = Path(__file__).resolve().parents[2]
NGINX, OPENSSL = shutil.which("nginx"), shutil.which("openssl")
NAME = "e-fold.example.org"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (NGINX and OPENSSL), reason="nginx and openssl are not on this machine"),
]


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        assert process.poll() is None, "it ended before it listened"
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    pytest.fail(f"nothing listens on port {port}")


def service_command() -> list[str]:
    """What the unit starts, with this Python's Streamlit."""
    unit = (ROOT / "deploy" / "e-fold.service").read_text("utf-8")
    command = re.search(r"^ExecStart=(.+)$", unit, re.MULTILINE)
    assert command
    program, *arguments = shlex.split(command[1])
    assert program == "/opt/e-fold/.venv/bin/streamlit"
    return [sys.executable, "-m", "streamlit", *arguments]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port with TLS of an nginx that asks for a password, before a dashboard."""
    with served("nginx.conf", tmp_path_factory.mktemp("site")) as port:
        yield port


@contextmanager
def served(
    configuration: str, folder: Path, *, other: Mapping[str, str] | None = None, **settings: str
) -> Iterator[int]:
    """The port with TLS of an nginx, before a dashboard with these settings.

    Args:
        configuration: of deploy/.
        folder: for all files of both.
        other: what of the configuration is replaced by what.
        settings: of the dashboard's environment.
    """
    folder.chmod(0o755)
    ports = {"listen 443 ssl": unused_port(), "listen 80": unused_port()}
    behind = unused_port()
    certificate, key = folder / "e-fold.pem", folder / "e-fold.key"
    subprocess.run(
        shlex.split(
            f"{OPENSSL} req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN={NAME} "
            f"-addext subjectAltName=DNS:{NAME} -keyout '{key}' -out '{certificate}'"
        ),
        check=True,
        capture_output=True,
    )
    passwords = folder / "passwords"
    secret = subprocess.run(
        [str(OPENSSL), "passwd", "-apr1", "s3cret"], check=True, capture_output=True, text=True
    ).stdout
    passwords.write_text(f"ada:{secret}", "utf-8")
    text = (ROOT / "deploy" / configuration).read_text("utf-8")
    changes = {
        "127.0.0.1:8501": f"127.0.0.1:{behind}",
        "listen 443 ssl": f"listen 127.0.0.1:{ports['listen 443 ssl']} ssl",
        "listen 80": f"listen 127.0.0.1:{ports['listen 80']}",
        "/etc/ssl/certs/e-fold.pem": str(certificate),
        "/etc/ssl/private/e-fold.key": str(key),
    }
    if configuration == "nginx.conf":
        changes["/etc/nginx/e-fold.htpasswd"] = str(passwords)
    for old, new in (changes | dict(other or {})).items():
        assert old in text
        text = text.replace(old, new)
    (folder / "site.conf").write_text(text, "utf-8")
    for name in ("body", "proxy", "fastcgi", "uwsgi", "scgi"):
        (folder / name).mkdir()
    paths = "".join(
        f"{kind}_temp_path {folder}/{name};"
        for kind, name in [
            ("client_body", "body"),
            *((one, one) for one in ("proxy", "fastcgi", "uwsgi", "scgi")),
        ]
    )
    (folder / "nginx.conf").write_text(
        f"user root; daemon off; pid {folder}/pid; error_log {folder}/error.log; events {{}}\n"
        f"http {{ access_log off; {paths} include {folder}/site.conf; }}\n",
        "utf-8",
    )
    proxy = subprocess.Popen([str(NGINX), "-c", str(folder / "nginx.conf"), "-p", str(folder)])
    dashboard = subprocess.Popen(
        [*service_command(), "--server.port", str(behind)],
        cwd=ROOT,
        env=os.environ | settings,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(ports["listen 443 ssl"], proxy)
        wait_for(behind, dashboard)
        yield ports["listen 443 ssl"]
    finally:
        for process in (proxy, dashboard):
            process.terminate()
            process.wait(240)


def trusting() -> ssl.SSLContext:
    """For a certificate that is of today."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


@dataclass(frozen=True)
class Answer:
    status: int
    secure: str | None
    """The header that keeps a browser to https."""
    body: bytes = b""


def asked(port: int, path: str, *, password: str = "s3cret", **headers: str) -> Answer:
    """The answer to a request that comes by the site's name."""
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=30, context=trusting())
    token = base64.b64encode(f"ada:{password}".encode()).decode()
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    with closing(connection):
        connection.request(
            "GET", path, headers={"Host": NAME, "Authorization": f"Basic {token}"} | given
        )
        with closing(connection.getresponse()) as answer:
            return Answer(
                answer.status,
                answer.getheader("Strict-Transport-Security"),
                answer.read() if answer.status == 200 else b"",
            )


HANDSHAKE = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec_WebSocket_Version": "13",
    "Sec_WebSocket_Key": base64.b64encode(b"sixteen bytes...").decode(),
    "Sec_WebSocket_Protocol": "streamlit",
}


def shaken(port: int, origin: str, path: str = "/_stcore/stream") -> int:
    """The status of a websocket's handshake, asked for by a page of this origin."""
    return asked(port, path, Origin=origin, **HANDSHAKE).status


def test_the_page_and_its_websocket_come_through_with_the_password(site: int) -> None:
    page = asked(site, "/")
    assert page.status == 200
    assert b"<title>" in page.body
    assert page.secure == "max-age=31536000"
    assert asked(site, "/_stcore/health").body == b"ok"
    assert shaken(site, f"https://{NAME}") == 101
    assert shaken(site, f"https://{NAME}", "/events") == 101


def test_nothing_comes_through_without_it(site: int) -> None:
    assert asked(site, "/", password="guessed").status == 401
    assert asked(site, "/_stcore/stream", password="").status == 401
    assert asked(site, "/events", password="").status == 401


def test_numbers_stay_inside_and_no_other_page_frames_this(site: int) -> None:
    assert asked(site, "/_stcore/metrics").status == 403
    assert asked(site, "/healthz").body == b"ok"
    connection = http.client.HTTPSConnection("127.0.0.1", site, timeout=30, context=trusting())
    with closing(connection):
        connection.request("GET", "/", headers={"Host": NAME})
        answer = connection.getresponse()
        assert answer.getheader("X-Content-Type-Options") == "nosniff"
        assert answer.getheader("X-Frame-Options") == "SAMEORIGIN"
        assert answer.getheader("Referrer-Policy") == "same-origin"


def test_a_page_of_elsewhere_gets_no_websocket(site: int) -> None:
    assert shaken(site, "https://elsewhere.example.com") == 403


def test_the_public_gets_pages_and_a_few_tabs_and_uploads_nothing(tmp_path: Path) -> None:
    with served("nginx-public.conf", tmp_path, ECV_MODE="public") as port:
        assert b"<title>" in asked(port, "/", password="").body
        assert asked(port, "/_stcore/upload_file/any/any").status == 403
        assert asked(port, "/_stcore/metrics").status == 403
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in HANDSHAKE.items()]
        with ExitStack() as open_tabs:
            for path in ("/_stcore/stream", "/events"):
                head = [f"GET {path} HTTP/1.1", f"Host: {NAME}", f"Origin: https://{NAME}", *lines]
                statuses = []
                for _ in range(21):
                    plain = socket.create_connection(("127.0.0.1", port), 30)
                    tab = trusting().wrap_socket(plain, server_hostname=NAME)
                    open_tabs.enter_context(tab)
                    tab.sendall("\r\n".join([*head, "", ""]).encode())
                    statuses.append(tab.recv(64).split()[1])
                assert statuses == [b"101"] * 20 + [b"503"]


def slow_request(port: int, address: str) -> ssl.SSLSocket:
    """A connection from an address of this machine, with a body that has begun and does not end."""
    plain = socket.create_connection(("127.0.0.1", port), 30, source_address=(address, 0))
    secure = trusting().wrap_socket(plain)
    secure.sendall(f"POST / HTTP/1.1\r\nHost: {NAME}\r\nContent-Length: 60000\r\n\r\nx".encode())
    return secure


def status_of(connection: ssl.SSLSocket, seconds: float) -> int:
    """The status of the answer; 0 where none has come by then."""
    connection.settimeout(seconds)
    try:
        return int(connection.recv(100).split()[1])
    except TimeoutError:
        return 0


def test_one_address_does_not_hold_all_connections_by_slow_requests(tmp_path: Path) -> None:
    fewer = {"limit_conn e-fold-requests 100": "limit_conn e-fold-requests 5"}
    with (
        served("nginx-public.conf", tmp_path, other=fewer, ECV_MODE="public") as port,
        ExitStack() as connections,
    ):
        for _ in range(5):
            connections.enter_context(slow_request(port, "127.0.0.2"))
        assert status_of(connections.enter_context(slow_request(port, "127.0.0.2")), 30) == 503
        assert status_of(connections.enter_context(slow_request(port, "127.0.0.3")), 1) == 0
        assert asked(port, "/_stcore/health", password="").body == b"ok"
