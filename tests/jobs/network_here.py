"""A network of this machine's own, whose cable can be pulled out: a namespace, a bridge, a veth."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from contextlib import suppress

# Each process has addresses of its own: the network of a test that was killed stays, and would get
# the packets of the next one.
_NUMBER = os.getpid() % 250
HERE = f"10.231.{_NUMBER}.1"
THERE = f"10.231.{_NUMBER}.2"


def why_not() -> str | None:
    """Why there can be none here; None where there can."""
    if os.name != "posix" or os.geteuid() != 0:
        return "a network is set up by root only"
    if shutil.which("ip") is None:
        return "not installed: ip, of iproute2"
    trial = f"ecv-trial-{os.getpid()}"
    if subprocess.run(["ip", "netns", "add", trial], capture_output=True).returncode:
        return "no network can be set up here"
    subprocess.run(["ip", "netns", "del", trial], check=True)
    return None


class Network:
    """Who is inside has the address THERE, everybody else HERE; nothing else is between them."""

    def __init__(self) -> None:
        self._name = f"ecv{os.getpid()}"
        self.inside = ("ip", "netns", "exec", self._name)
        """Begins a command that runs there."""
        name, end, bridge = self._name, f"{self._name}v", f"{self._name}b"
        for words in (
            f"netns add {name}",
            f"link add {bridge} type bridge",
            f"link add {end} type veth peer name cable netns {name}",
            f"link set {end} master {bridge}",
            f"address add {HERE}/30 dev {bridge}",
            f"-n {name} address add {THERE}/30 dev cable",
            f"link set {bridge} up",
            f"-n {name} link set lo up",
            f"-n {name} link set cable up",
        ):
            self._ip(words)
        self.mend()

    def cut(self, seconds: float | None = None) -> None:
        """Pull the cable out, for so long: no end is told, packets are simply lost."""
        self._ip(f"link set {self._name}v down")
        if seconds is not None:
            time.sleep(seconds)
            self.mend()

    def mend(self) -> None:
        """Put the cable in again."""
        self._ip(f"link set {self._name}v up")

    def end(self) -> None:
        """All of it."""
        for words in (
            f"link del {self._name}v",
            f"link del {self._name}b",
            f"netns del {self._name}",
        ):
            with suppress(subprocess.CalledProcessError):
                self._ip(words)

    def _ip(self, words: str) -> None:
        subprocess.run(["ip", *words.split()], check=True, capture_output=True)
