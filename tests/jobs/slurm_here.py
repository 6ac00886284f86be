"""A real SLURM on this machine: a controller and some nodes, for tests of logic, never of speed."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import psutil

from tests.ports import unused_port

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "munged")
PACKAGES = ("slurmctld", "slurmd", "slurm-client", "munge")
"""Of Debian."""


def why_not() -> str | None:
    """Why there can be none here; None where there can, its programs installed if they may be."""
    if os.name != "posix" or os.geteuid() != 0:
        return "SLURM is set up by root only"
    if all(map(shutil.which, PROGRAMS)):
        return None
    if shutil.which("apt-get") is None:
        return f"not installed: {', '.join(PROGRAMS)}"
    env = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *PACKAGES]
    for command in (["apt-get", "update", "-qq"], install):
        if subprocess.run(command, env=env, capture_output=True).returncode:
            return "SLURM cannot be installed here"
    return None


class Slurm:
    """A controller with nodes n1, n2, ... in the partition 'folds', each given out whole."""

    def __init__(self, folder: Path, nodes: int = 3) -> None:
        self._folder, self._nodes = folder, nodes
        for name in ("state", "log", "spool", "munge"):
            (folder / name).mkdir(parents=True)
        (folder / "munge").chmod(0o700)
        key = folder / "munge" / "key"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o600)
        self.surroundings = os.environ | {"SLURM_CONF": str(folder / "slurm.conf")}
        port = unused_port(in_a_row=1 + nodes)
        (folder / "slurm.conf").write_text(self._configuration(port))
        self._call(
            "munged",
            "--force",
            f"--key-file={key}",
            f"--socket={folder}/munge/socket",
            f"--pid-file={folder}/munged.pid",
            f"--log-file={folder}/log/munged",
            f"--seed-file={folder}/munge/seed",
        )
        self._call("slurmctld")
        for number in range(1, nodes + 1):
            self.start_node(f"n{number}")
        self.wait_until_idle()

    def start_node(self, name: str) -> None:
        """A slurmd."""
        self._call("slurmd", "-N", name)

    def wait_until_idle(self) -> None:
        """Until every node is there and has nothing to do."""
        while self._said("sinfo", "-h", "-t", "idle", "-o", "%D") != str(self._nodes):
            time.sleep(0.1)

    def jobs(self, states: str = "pending,running,completing") -> list[str]:
        """What runs or waits."""
        return self._said("squeue", "-h", "-o", "%i", "-t", states).split()

    def cancel_all(self) -> None:
        """Every job."""
        self._said("scancel", "--user=root")

    def end(self) -> None:
        """Everything that was started here, a worker of a node that was killed too."""
        self.cancel_all()
        for process in psutil.process_iter(["cmdline"]):
            with suppress(psutil.Error):
                ours = process.environ().get("SLURM_CONF") == self.surroundings["SLURM_CONF"]
                if ours and "distributed.cli.dask_worker" in (process.info["cmdline"] or ()):
                    process.kill()
        for pid in self._folder.glob("*.pid"):
            try:
                os.kill(int(pid.read_text()), signal.SIGTERM)
            except (OSError, ValueError):
                continue

    def _call(self, *command: str) -> None:
        subprocess.run(command, env=self.surroundings, check=True, capture_output=True)

    def _said(self, *command: str) -> str:
        said = subprocess.run(command, env=self.surroundings, capture_output=True, text=True)
        return said.stdout.strip()

    def _configuration(self, port: int) -> str:
        host, folder = socket.gethostname().split(".")[0], self._folder
        lines = f"""
            ClusterName=here
            SlurmctldHost={host}(127.0.0.1)
            SlurmUser=root
            SlurmdUser=root
            AuthType=auth/munge
            AuthInfo=socket={folder}/munge/socket
            SlurmctldPort={port}
            StateSaveLocation={folder}/state
            SlurmdSpoolDir={folder}/spool/%n
            SlurmctldPidFile={folder}/slurmctld.pid
            SlurmdPidFile={folder}/slurmd-%n.pid
            SlurmctldLogFile={folder}/log/slurmctld
            SlurmdLogFile={folder}/log/slurmd-%n
            ProctrackType=proctrack/linuxproc
            TaskPlugin=task/none
            JobAcctGatherType=jobacct_gather/linux
            AccountingStorageType=accounting_storage/none
            SelectType=select/cons_tres
            SelectTypeParameters=CR_Core
            ReturnToService=2
            MpiDefault=none
            SlurmdTimeout=10
            InactiveLimit=0
            SchedulerParameters=batch_sched_delay=0
            KillWait=2
            PartitionName=folds Nodes=ALL Default=YES State=UP OverSubscribe=EXCLUSIVE
        """
        text = "\n".join(line.strip() for line in lines.strip().splitlines())
        nodes = [
            f"NodeName=n{number} NodeHostname={host} NodeAddr=127.0.0.1 Port={port + number} "
            f"CPUs={os.cpu_count()} RealMemory=2000 State=UNKNOWN"
            for number in range(1, self._nodes + 1)
        ]
        return "\n".join([*text.splitlines()[:-1], *nodes, text.splitlines()[-1]]) + "\n"
