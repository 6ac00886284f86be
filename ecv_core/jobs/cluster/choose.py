"""Where folds are computed: what `--on` or ECV_CLUSTER says -> an executor."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

from ecv_core.jobs.cluster.executor import BACK_SECONDS, DaskExecutor, Site, read_site
from ecv_core.jobs.executors import Compute, Executor, Here, compute
from ecv_core.records.errors import InputError
from ecv_core.records.places import OWN
from ecv_core.store.engine import database_url

SITES = {
    "slurm": "SLURMCluster",
    "pbs": "PBSCluster",
    "lsf": "LSFCluster",
    "htcondor": "HTCondorCluster",
}
"""Schedulers of sites, by the class of dask-jobqueue that submits jobs to them."""
MAX_LOCAL = 64
ANSWER_SECONDS = 10.0
HERE = "here"
"""This very machine, also where ECV_CLUSTER says another place."""


def executor_on(
    on: str | None = None,
    *,
    otherwise: Callable[[], Executor] | None = None,
    nodes: int | None = None,
    site: str | None = None,
    compute: Compute = compute,
) -> Executor:
    """The executor for a place.

    Args:
        on: one of `places()`, 'local:3', 'tcp://host:8786', 'tls://host:8786' or one of SITES; by
            default what ECV_CLUSTER says.
        otherwise: makes the one for this machine; by default this very process.
        nodes: how many a site is asked for; by default what its file says.
        site: path of the site's TOML file; by default that of this name in `_folder()`.
        compute: what is done with a task.
    Raises: InputError for what cannot be, before anything starts.
    """
    place = on or place_asked()
    if place == HERE:
        if nodes is not None or site is not None:
            raise InputError("--nodes and --site belong to --on, such as --on slurm; give it too")
        return otherwise() if otherwise else Here(compute)
    told = read_site(Path(site) if site else _named().get(place))
    place = told.on or place
    if place in SITES:
        wanted = told.nodes if nodes is None else nodes
        if wanted < 1:
            raise InputError(f"at least one node is needed, but --nodes is {wanted}")
        _check_installed()
        return _of_site(place, told, wanted, compute)
    if nodes is not None:
        raise InputError(f"--nodes belongs to {', '.join(SITES)}; {place} says how many there are")
    if match := re.fullmatch(r"local:(\d+)", place):
        count = int(match[1])
        if not 1 <= count <= MAX_LOCAL:
            raise InputError(f"local:N takes from 1 to {MAX_LOCAL} workers, but N is {count}")
        _check_installed()
        return _local(count, compute)
    if re.fullmatch(r"(tcp|tls)://[^/\s]+:\d+", place):
        _check_installed()
        return _of_scheduler(place, told, compute)
    raise InputError(
        f"'{place}' is no place to compute on; give {HERE}, local:3, tcp://host:8786, "
        f"{', '.join(SITES)}, or the name of a file in {_folder()} that says which with the key on"
    )


def place_asked() -> str:
    """Where everything is computed that says no place of its own."""
    return os.environ.get("ECV_CLUSTER") or HERE


def places() -> list[str]:
    """What there is to choose from by name, the usual one first; HERE alone without a cluster."""
    return list(dict.fromkeys([place_asked(), HERE, *_named()]))


def _folder() -> Path:
    return Path(os.environ.get("ECV_SITES") or OWN / "sites")


def _named() -> dict[str, Path]:
    """The sites' files in their folder, by name."""
    return {path.stem: path for path in sorted(_folder().glob("*.toml"))}


def _check_installed() -> None:
    if find_spec("distributed") is None or find_spec("dask_jobqueue") is None:
        raise InputError(
            "folds go to a cluster by Dask, which is not installed here; add it by "
            "pip install 'e-fold[cluster]'"
        )
    logging.getLogger("distributed").setLevel(logging.CRITICAL)


def _scope() -> str:
    """Names the database, not telling where it is."""
    return hashlib.sha256(database_url().encode()).hexdigest()[:16]


def _local(count: int, compute: Compute) -> Executor:
    import dask
    from distributed import Client, LocalCluster

    threads = max(1, (os.cpu_count() or 1) // count)
    alone = None if count == 1 else False
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    spawned = {name: os.environ.get(name, str(threads)) for name in names} if count > 1 else {}
    dask.config.set({"distributed.nanny.pre-spawn-environ": spawned})
    cluster = LocalCluster(
        n_workers=count,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        memory_limit=0,
        resources={"node": 1},
        local_directory=tempfile.gettempdir(),
        silence_logs=logging.CRITICAL,
    )
    client = Client(cluster, set_as_default=False)
    return DaskExecutor(client, cluster, alone=alone, scope=_scope(), compute=compute)


async def _answer(address: str) -> None:
    """Wait for the scheduler to answer. Raises: OSError, ValueError, TypeError."""
    from distributed import Security
    from distributed.comm import connect

    known = Security().get_connection_args("client")
    await (await connect(address, timeout=ANSWER_SECONDS, **known)).close()


def _of_scheduler(address: str, site: Site, compute: Compute) -> Executor:
    from distributed import Client

    try:
        # In a thread, since a notebook has a loop of its own. A client that fails to connect would
        # stay, and keep the next one from its loop when it is collected.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, _answer(address)).result()
        # So long it may be gone.
        client = Client(address, timeout=BACK_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError, TypeError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"no Dask scheduler answers at {address} ({why[:120]}); start one with dask scheduler, "
            "or correct the address"
        ) from error
    try:
        return DaskExecutor(client, site=site, scope=_scope(), compute=compute)
    except BaseException:
        client.close()
        raise


def _of_site(kind: str, site: Site, nodes: int, compute: Compute) -> Executor:
    import dask
    import dask_jobqueue
    from distributed import Client, Security

    submit = {"slurm": "sbatch", "pbs": "qsub", "lsf": "bsub", "htcondor": "condor_submit"}[kind]
    if shutil.which(submit) is None:
        raise InputError(
            f"{kind} is not on this machine: there is no command {submit}; run this on a node "
            "from which jobs are submitted"
        )
    job_name = f"ecv-{uuid4().hex[:8]}"
    own = ['export TMPDIR="$(mktemp -d)"'] if site.exclusive else []
    given: dict[str, Any] = {
        "cores": site.cores,
        "processes": 1,
        "memory": site.memory,
        "nanny": False,
        "walltime": site.walltime,
        "queue": site.partition or None,
        "account": site.account or None,
        "interface": site.interface or None,
        "python": site.python or sys.executable,
        "job_name": job_name,
        "job_extra_directives": [
            *(["--exclusive"] if site.exclusive and kind == "slurm" else []),
            *(["--output=/dev/null"] if not site.logs and kind == "slurm" else []),
            *site.lines,
        ],
        "job_script_prologue": [*site.environment, *own],
        "worker_extra_args": ["--resources", "node=1"],
        "log_directory": site.logs or None,
        "death_timeout": "60",
        "scheduler_options": {"dashboard_address": "127.0.0.1:0"},
        # By Dask's own settings, and encrypted where they name certificates.
        "security": Security() if dask.config.get("distributed.comm.tls.ca-file", None) else None,
    }
    cluster = getattr(dask_jobqueue, SITES[kind])(**given)
    cluster.ecv_job_name = job_name if kind == "slurm" else ""
    if kind == "slurm":
        asked = subprocess.run(
            ["sbatch", "--test-only"], input=cluster.job_script(), capture_output=True, text=True
        )
        if asked.returncode:
            cluster.close()
            why = [line for line in asked.stderr.splitlines() if "error" in line][-1:]
            raise InputError(f"SLURM refuses such a job: {' '.join(why) or asked.stderr.strip()}")
    client = Client(cluster, set_as_default=False)
    return DaskExecutor(
        client,
        cluster,
        nodes=nodes,
        site=site,
        alone=True if site.exclusive else None,
        scope=_scope(),
        compute=compute,
    )
