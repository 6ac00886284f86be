"""The unit of systemd: what it starts says that it is ready, and lives with the file's settings."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.deploy.test_nginx import ROOT, service_command
from tests.ports import unused_port

UNIT = (ROOT / "deploy" / "e-fold.service").read_text("utf-8")


def setting(name: str) -> str:
    found = re.search(rf"^{name}=(.*)$", UNIT, re.MULTILINE)
    assert found, f"the unit has no {name}"
    return found[1]


def test_the_unit_keeps_files_private_and_the_program_as_it_is() -> None:
    assert setting("UMask") == "0077"
    assert setting("NoNewPrivileges") == setting("ProtectHome") == setting("PrivateTmp") == "true"
    assert setting("ProtectSystem") == "strict"
    assert setting("StateDirectory") == "e-fold"
    assert setting("RestartPreventExitStatus") == "2"
    assert setting("KillSignal") == "SIGTERM"


def test_the_dashboard_listens_on_this_machine_alone() -> None:
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))
    assert config["server"]["address"] == "127.0.0.1"
    assert "streamlit run app.py\n" in (ROOT / "Makefile").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="systemd needs Unix sockets")
def test_what_the_unit_starts_says_that_it_is_ready_and_lives(tmp_path: Path) -> None:
    assert setting("Type") == "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(120)
        dashboard = subprocess.Popen(
            [*service_command(), "--server.port", str(unused_port())],
            cwd=ROOT,
            env=os.environ
            | {
                "NOTIFY_SOCKET": str(tmp_path / "notify"),
                "WATCHDOG_USEC": "1000000",
                "ECV_DATABASE_URL": f"sqlite:///{tmp_path / 'runs.sqlite'}",
            },
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            assert systemd.recv(100) == b"READY=1"
            assert systemd.recv(100) == systemd.recv(100) == b"WATCHDOG=1"
        finally:
            dashboard.terminate()
            assert dashboard.wait(240) is not None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value"), [("ECV_MODE", "pubic"), ("ECV_EDITORS", "ada@example.org")]
)
def test_a_setting_that_means_nothing_ends_the_start_in_a_sentence(name: str, value: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(unused_port())],
        cwd=ROOT,
        env=os.environ | {name: value},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 2
    assert name in ended.stderr
    assert "Traceback" not in ended.stderr
