"""Where folds are computed: what `--on` or ECV_CLUSTER says -> an executor."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from ecv_core.jobs.executors import Compute, Executor, Here, compute, share_of_cores
from ecv_core.records.errors import InputError
from ecv_core.records.places import OWN
from ecv_core.untrusted.private import private_folder

if TYPE_CHECKING:
    from distributed import Client

    from ecv_core.jobs.cluster.executor import Site


@dataclass(frozen=True)
class Scheduler:
    """A job scheduler, such as SLURM, by which a site gives out its nodes."""

    name: str
    cluster: str
    """The class of dask-jobqueue that submits jobs to it."""
    command: str
    """The program that this class calls to submit a job."""


SLURM = Scheduler("slurm", "SLURMCluster", "sbatch")
SCHEDULERS = {
    "slurm": SLURM,
    "pbs": Scheduler("pbs", "PBSCluster", "qsub"),
    "lsf": Scheduler("lsf", "LSFCluster", "bsub"),
    "htcondor": Scheduler("htcondor", "HTCondorCluster", "condor_submit"),
}
MAX_LOCAL = 64
"""Workers on this machine, at most."""
ANSWER_SECONDS = 10.0
"""How long a Dask scheduler may take to answer."""
HERE = "here"
"""This very machine, also where ECV_CLUSTER says another place."""


def executor_on(
    on: str | None = None,
    *,
    make_local: Callable[[], Executor] | None = None,
    nodes: int | None = None,
    site: str | None = None,
    compute: Compute = compute,
) -> Executor:
    """The executor for a place.

    Args:
        on: One of `places()`, 'local:3', 'tcp://host:8786', 'tls://host:8786' or a key of
            SCHEDULERS; by default what ECV_CLUSTER says.
        make_local: Makes the executor for this machine; by default this very process.
        nodes: How many a site is asked for; by default what its file says.
        site: Path of the site's TOML file; by default that of this name in `_folder()`.
        compute: What is done with a task.

    Raises:
        InputError: For what cannot be, before anything starts.
    """
    place = on or place_asked()
    if place == HERE:
        if nodes is not None or site is not None:
            raise InputError("--nodes and --site need --on, such as --on slurm; add it")
        if make_local is not None:
            return make_local()
        return Here(compute)
    site_path = _site_files().get(place)
    if site is not None:
        site_path = Path(site)
    return _executor_beyond_this_process(place, site_path, nodes, compute)


def _executor_beyond_this_process(
    place: str, site_path: Path | None, nodes: int | None, compute: Compute
) -> Executor:
    """The executor for a place other than this very machine.

    Args:
        place: As of `executor_on`, or the name of the site's file, which says what it is.
        site_path: The site path of that file, if there is one.
        nodes: How many a site is asked for; by default what its file says.
        compute: What is done with a task.

    Raises:
        InputError: For what cannot be.
    """
    from ecv_core.jobs.cluster.executor import read_site

    site = read_site(site_path)
    # A place may be the name of a site, such as 'our-cluster'. Its file then says the place itself.
    if site.on:
        place = site.on
    # Of a job scheduler, such as SLURM, e-fold asks for nodes.
    job_scheduler = SCHEDULERS.get(place)
    if job_scheduler is not None:
        if nodes is not None:
            site = replace(site, nodes=nodes)
        return _executor_on_scheduled_nodes(job_scheduler, site, compute)
    # At any other place, the workers are not asked for.
    if nodes is not None:
        raise InputError(
            f"--nodes works only with {', '.join(SCHEDULERS)}; leave it out with --on {place}"
        )
    local_workers = re.fullmatch(r"local:(\d+)", place)
    if local_workers:
        return _executor_on_this_machine(int(local_workers[1]), compute)
    # At an address, somebody has started a scheduler of Dask, with its workers.
    if re.fullmatch(r"(tcp|tls)://[^/\s]+:\d+", place):
        return _executor_on_dask_scheduler(place, site, compute)
    raise InputError(
        f"'{place}' is not a place to compute on; give {HERE}, local:3, tcp://host:8786, "
        f"{', '.join(SCHEDULERS)}, or the name of a file in {_folder()} whose key 'on' names one "
        "of these"
    )


def place_asked() -> str:
    """Where everything is computed that says no place of its own."""
    return os.environ.get("ECV_CLUSTER") or HERE


def places() -> list[str]:
    """What there is to choose from by name, the usual one first; HERE alone without a cluster."""
    return list(dict.fromkeys([place_asked(), HERE, *_site_files()]))


def _folder() -> Path:
    return Path(os.environ.get("ECV_SITES") or OWN / "sites")


def _site_files() -> dict[str, Path]:
    """The sites' files in their folder, by name."""
    return {path.stem: path for path in sorted(_folder().glob("*.toml"))}


def _prepare_dask() -> None:
    """Have Dask log nothing but what ends it. Raises: InputError where it is not installed."""
    if find_spec("distributed") is None or find_spec("dask_jobqueue") is None:
        raise InputError(
            "to compute on a cluster, e-fold needs Dask, which is not installed here; install it "
            "with: pip install 'e-fold[cluster]'"
        )
    logging.getLogger("distributed").setLevel(logging.CRITICAL)


def _executor_on_this_machine(worker_count: int, compute: Compute) -> Executor:
    """So many workers on this machine, which share its cores. Raises: InputError."""
    if not 1 <= worker_count <= MAX_LOCAL:
        raise InputError(f"local:N starts 1 to {MAX_LOCAL} workers, but N is {worker_count}")
    _prepare_dask()
    import dask
    from distributed import Client, LocalCluster

    from ecv_core.jobs.cluster.executor import DaskExecutor
    from ecv_core.jobs.cluster.node import NodeUse

    variables: dict[str, str] = {}
    node_use = NodeUse.UNKNOWN
    if worker_count > 1:
        variables = share_of_cores(worker_count)
        node_use = NodeUse.SHARED
    dask.config.set({"distributed.nanny.pre-spawn-environ": variables})
    try:
        scratch = private_folder()
    except OSError as error:
        raise InputError(f"the workers cannot keep their files: {error.strerror}") from None
    cluster = LocalCluster(
        n_workers=worker_count,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        # There is no limit, as Dask would end a worker whose fold needs more than its share.
        memory_limit=0,
        # Each fold takes one "node", so that a worker computes one fold at a time.
        resources={"node": 1},
        local_directory=str(scratch),
        silence_logs=logging.CRITICAL,
    )
    client = Client(cluster, set_as_default=False)
    return DaskExecutor(client, cluster, node_use=node_use, compute=compute)


async def _wait_for_answer(address: str) -> None:
    """Wait for the Dask scheduler to answer. Raises: OSError, ValueError, TypeError."""
    from distributed import Security
    from distributed.comm import connect

    certificates = Security().get_connection_args("client")
    connection = await connect(address, timeout=ANSWER_SECONDS, **certificates)
    await connection.close()


def _executor_on_dask_scheduler(address: str, site: Site, compute: Compute) -> Executor:
    """The workers of a Dask scheduler that somebody has started."""
    _prepare_dask()
    from ecv_core.jobs.cluster.executor import DaskExecutor

    client = _client_of_dask_scheduler(address)
    try:
        return DaskExecutor(client, site=site, compute=compute)
    except BaseException:
        client.close()
        raise


def _client_of_dask_scheduler(address: str) -> Client:
    """A connection to it. Raises: InputError where none answers."""
    from distributed import Client

    from ecv_core.jobs.cluster.executor import BACK_SECONDS

    try:
        # A client that fails to connect stays, and disturbs the next one. So there is one only once
        # the scheduler has answered. It is asked in a thread, as a notebook has an event loop of
        # its own.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, _wait_for_answer(address)).result()
        # The timeout is also that of a scheduler that is gone for a while.
        return Client(address, timeout=BACK_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError, TypeError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(
            f"no Dask scheduler answers at {address} ({reason[:120]}); start one with dask "
            "scheduler, or correct the address"
        ) from error


def _executor_on_scheduled_nodes(scheduler: Scheduler, site: Site, compute: Compute) -> Executor:
    """The executor for nodes that a scheduler gives out, as the site's file describes them.

    Raises:
        InputError: Where no node is asked for, Dask or the scheduler is not installed, or it
            refuses such a job.
    """
    if site.nodes < 1:
        raise InputError(f"at least one node is needed, but --nodes is {site.nodes}")
    _prepare_dask()
    import dask_jobqueue
    from distributed import Client

    from ecv_core.jobs.cluster.executor import DaskExecutor
    from ecv_core.jobs.cluster.node import NodeUse

    if shutil.which(scheduler.command) is None:
        raise InputError(
            f"{scheduler.name} is not on this machine: there is no command {scheduler.command}; "
            "run this on a login node, from which jobs can be submitted"
        )
    job_name = f"ecv-{uuid4().hex[:8]}"
    settings = _job_settings(site) | {"job_name": job_name}
    if scheduler is SLURM:
        settings["job_extra_directives"] = [*_slurm_directives(site), *site.lines]
    make_cluster = getattr(dask_jobqueue, scheduler.cluster)
    cluster = make_cluster(**settings)
    if scheduler is SLURM:
        # The executor finds the job in SLURM's queue by this name.
        cluster.ecv_job_name = job_name
        _check_slurm_takes(cluster)
    node_use = NodeUse.UNKNOWN
    if site.exclusive:
        node_use = NodeUse.ALONE
    return DaskExecutor(
        Client(cluster, set_as_default=False),
        cluster,
        nodes=site.nodes,
        site=site,
        node_use=node_use,
        compute=compute,
    )


_SETTINGS_OF_EVERY_SITE: dict[str, Any] = {
    "processes": 1,
    "nanny": False,
    "worker_extra_args": ["--resources", "node=1"],
    "death_timeout": "60",
    "scheduler_options": {"dashboard_address": "127.0.0.1:0"},
}


def _job_settings(site: Site) -> dict[str, Any]:
    """The arguments by which dask-jobqueue asks for a node of a site."""
    import dask
    from distributed import Security

    prologue = list(site.environment)
    # Dask keeps a worker's files where everybody may write; mktemp's folder is of its owner alone.
    prologue.append('export DASK_TEMPORARY_DIRECTORY="$(mktemp -d)"')
    if site.exclusive:
        prologue.append('export TMPDIR="$DASK_TEMPORARY_DIRECTORY"')
    security = None
    has_certificates = dask.config.get("distributed.comm.tls.ca-file", None)
    if has_certificates:
        security = Security()  # It reads Dask's own settings.
    return _SETTINGS_OF_EVERY_SITE | {
        "cores": site.cores,
        "memory": site.memory,
        "walltime": site.walltime,
        "queue": site.partition or None,
        "account": site.account or None,
        "interface": site.interface or None,
        "python": site.python or sys.executable,
        "job_extra_directives": list(site.lines),
        "job_script_prologue": prologue,
        "log_directory": site.logs or None,
        "security": security,
    }


def _slurm_directives(site: Site) -> list[str]:
    """The options of sbatch that a site's file asks for by keys of ours."""
    directives = []
    if site.exclusive:
        directives.append("--exclusive")
    if not site.logs:
        directives.append("--output=/dev/null")
    return directives


def _check_slurm_takes(cluster: Any) -> None:  # noqa: ANN401  Dask's clusters have no types
    """Refuse a job that SLURM would not take; the cluster is closed then. Raises: InputError."""
    test_run = subprocess.run(
        [SLURM.command, "--test-only"], input=cluster.job_script(), capture_output=True, text=True
    )
    if test_run.returncode:
        cluster.close()
        reason = test_run.stderr.strip()
        for line in reason.splitlines():
            if "error" in line:
                # The last line about an error is the reason; without one the whole text is.
                reason = line
        raise InputError(f"SLURM refuses this job: {reason}; correct the site's file")
