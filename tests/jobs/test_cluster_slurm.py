"""A real SLURM: nodes are asked for, compute, come back after they are lost, and are given back."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from ecv_core.energy.real_meters import slurm_joules
from ecv_core.jobs.cluster import choose
from ecv_core.jobs.driver import drive
from ecv_core.jobs.executors import Executor
from ecv_core.jobs.plan_runs import Callbacks, PlanRuns
from ecv_core.jobs.plans.run import RunPlan
from ecv_core.records.errors import InputError
from ecv_core.records.run import RunRecord, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.store.store import Store, open_store
from tests.fake_folds import SCORES
from tests.jobs.node_folds import killed_once, node_dies_once, quick_there, tells_and_sleeps
from tests.jobs.slurm_here import Slurm, why_not
from tests.jobs.test_cluster_dask import certificates

pytest.importorskip("distributed", reason="Dask is not installed")
import dask

pytestmark = pytest.mark.skipif(not find_spec("dask_jobqueue"), reason="Dask is not installed")
SPEC = RunSpec(dataset="synthetic", algorithm="popular", k=5, rule="never")


@pytest.fixture(scope="module")
def slurm() -> Iterator[Slurm]:
    if why := why_not():
        pytest.skip(why)
    folder = tempfile.mkdtemp(prefix="ecv-slurm-")  # short: a socket lies in it
    one = Slurm(Path(folder))
    yield one
    one.end()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def site(slurm: Slurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SLURM_CONF", slurm.surroundings["SLURM_CONF"])
    monkeypatch.setattr("ecv_core.jobs.cluster.executor.LOOK_SECONDS", 1.0)
    path = tmp_path / "site.toml"
    python_path = os.pathsep.join(filter(None, sys.path))
    path.write_text(
        'partition = "folds"\nwalltime = "00:30:00"\nmemory = "500MB"\n'
        f'environment = ["export PYTHONPATH={python_path}"]\nlogs = "{tmp_path}"\n'
    )
    return path


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(f"sqlite:///{tmp_path / 'runs.sqlite'}")


def run_on(store: Store, executor: Executor, callbacks: Callbacks | None = None) -> RunRecord:
    try:
        drive(RunPlan(SPEC), PlanRuns(store, callbacks=callbacks), executor)
    finally:
        executor.close()
    return store.runs()[0]


def given_back(slurm: Slurm) -> None:
    while slurm.jobs():
        time.sleep(0.2)


@pytest.mark.slow
def test_folds_on_nodes_that_are_given_back(slurm: Slurm, site: Path, store: Store) -> None:
    done = run_on(store, choose.executor_on("slurm", nodes=3, site=str(site), compute=quick_there))
    assert done.state is RunState.FINISHED
    assert [fold.score for fold in done.folds] == list(SCORES)
    assert {fold.node.host for fold in done.folds} <= {"n1", "n2", "n3"}
    given_back(slurm)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('partition = "nope"', "SLURM refuses this job: .*invalid partition specified: nope"),
        ('memory = "900GB"', "SLURM refuses this job: .*"),
    ],
)
def test_what_slurm_refuses_is_one_sentence_before_anything_starts(
    slurm: Slurm, site: Path, line: str, sentence: str
) -> None:
    key = line.split(" = ")[0]
    lines = [one for one in site.read_text().splitlines() if not one.startswith(key)]
    site.write_text("\n".join([*lines, line]))
    with pytest.raises(InputError, match=sentence):
        choose.executor_on("slurm", nodes=1, site=str(site))
    assert slurm.jobs() == []


def connection(address: str, certificates: dict[str, str]) -> str:
    """What a process of its own says that connects to a scheduler with these certificates.

    A client that could not connect closes itself when it is collected, and waits for ever where
    that happens while another one starts: so it is none of this process.
    """
    settings = {f"distributed.comm.tls.{name}": path for name, path in certificates.items()}
    program = (
        "import dask, distributed\n"
        f"dask.config.set({settings!r})\n"
        f"distributed.Client({address!r}, timeout=10, set_as_default=False)\n"
        "print('connected')\n"
    )
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, timeout=120).stdout


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl makes the certificates")
def test_with_certificates_the_nodes_talk_to_their_scheduler_by_tls_and_nobody_else_does(
    slurm: Slurm, site: Path, store: Store, tmp_path: Path
) -> None:
    files = certificates(tmp_path)
    parts = ("client", "scheduler", "worker")
    told = {"ca-file": files["ca"]}
    told |= {f"{part}.{name}": files[name] for part in parts for name in ("cert", "key")}
    tls = {f"distributed.comm.tls.{name}": path for name, path in told.items()}
    with dask.config.set(tls):
        executor = choose.executor_on("slurm", nodes=2, site=str(site), compute=quick_there)
        address = executor._cluster.scheduler_address
        assert address.startswith("tls://")
        assert "connected" in connection(address, told)
        for stranger in (address, address.replace("tls", "tcp")):
            assert "connected" not in connection(stranger, {})
        done = run_on(store, executor)
    assert (done.state, len(done.folds)) == (RunState.FINISHED, 5)
    given_back(slurm)


@pytest.mark.slow
def test_the_fold_of_a_job_that_dies_is_computed_by_another(
    slurm: Slurm, site: Path, store: Store
) -> None:
    import dask
    import distributed  # noqa: F401  else its settings are not there yet

    with dask.config.set({"distributed.deploy.lost-worker-timeout": "1s"}):
        executor = choose.executor_on("slurm", nodes=1, site=str(site), compute=killed_once)
        done = run_on(store, executor)
    assert (done.state, len(done.folds)) == (RunState.FINISHED, 5)
    assert done.joules == 50
    given_back(slurm)


@pytest.mark.slow
def test_the_fold_of_a_node_that_is_gone_is_computed_by_another(
    slurm: Slurm, site: Path, store: Store, tmp_path: Path
) -> None:
    done = run_on(
        store, choose.executor_on("slurm", nodes=1, site=str(site), compute=node_dies_once)
    )
    gone = (tmp_path / "died").read_text()
    assert (done.state, len(done.folds)) == (RunState.FINISHED, 5)
    assert done.joules == 50
    assert gone not in {fold.host for fold in done.folds[1:]}
    slurm.start_node(gone)
    given_back(slurm)


@pytest.mark.slow
def test_a_cancel_gives_the_nodes_back(slurm: Slurm, site: Path, store: Store) -> None:
    heard = threading.Event()

    def also(phase: str, step: int, steps: int, /, *, curve: Sequence[float] = ()) -> None:
        if phase == "asleep":
            heard.set()

    def cancel() -> None:
        heard.wait()
        store.request_cancel(store.runs()[0].run_id)

    threading.Thread(target=cancel, daemon=True).start()
    executor = choose.executor_on("slurm", nodes=2, site=str(site), compute=tells_and_sleeps)
    assert run_on(store, executor, Callbacks(progress=also)).state is RunState.CANCELLED
    given_back(slurm)


@pytest.mark.slow
def test_who_waits_for_a_node_says_so_and_a_cancel_takes_the_job_out_of_the_queue(
    slurm: Slurm, site: Path, store: Store
) -> None:
    # Each node has to be held: SLURM gives one that is left to a job that came later.
    slurm.wait_until_idle()
    hold = ["sbatch", "--exclusive", "-N3", "--output=/dev/null", "--wrap", "sleep 600"]
    subprocess.run(hold, env=slurm.surroundings, check=True, capture_output=True)
    while not slurm.jobs("running"):
        time.sleep(0.1)
    told: list[str] = []

    def heard(phase: str, step: int, steps: int, /, *, curve: Sequence[float] = ()) -> None:
        told.append(phase)

    def cancel_once_it_waits() -> None:
        while not any("in the queue" in phase for phase in told):
            time.sleep(0.1)
        store.request_cancel(store.runs()[0].run_id)

    threading.Thread(target=cancel_once_it_waits, daemon=True).start()
    executor = choose.executor_on("slurm", nodes=1, site=str(site))
    done = run_on(store, executor, Callbacks(progress=heard))
    assert done.state is RunState.CANCELLED
    assert any(phase.startswith("wait for a node since ") for phase in told)
    while len(slurm.jobs()) > 1:
        time.sleep(0.2)
    slurm.cancel_all()
    given_back(slurm)


def test_slurms_own_joules_are_read_where_it_measures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "scontrol"
    program.write_text('#!/bin/sh\necho "NodeName=$3 CurrentWatts=91 ConsumedJoules=${SAID}"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert slurm_joules() is None  # no job of SLURM runs here
    monkeypatch.setenv("SLURMD_NODENAME", "n7")
    monkeypatch.setenv("SAID", "4711")
    assert slurm_joules() == 4711
    monkeypatch.setenv("SAID", "n/s")
    assert slurm_joules() is None
