"""/healthz, /metrics, what systemd is told, and run ids in the log."""

import asyncio
import logging
import platform
import re
import socket
import threading
import time
from contextlib import suppress

import psutil
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from ecv_core.fold.spec import make_spec
from ecv_core.jobs.manager import RunManager
from ecv_core.records.errors import RunError, StoreError
from ecv_core.records.run import RunState
from ecv_core.store.activity import Totals
from pages.shared.live import health
from pages.shared.live.server import _log_with_run_ids, middleware, routes
from pages.shared.live.state import manager
from tests.fake_folds import fold_result

SPEC = make_spec(dataset="synthetic", algorithm="popular", k=5, rule="never")


@pytest.fixture
def client(store, monkeypatch):
    monkeypatch.setattr(health, "_totals", Totals())
    return TestClient(Starlette(routes=routes(), middleware=middleware()))


def numbers(text):
    """Name with labels -> value, as Prometheus reads the format."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r'[a-z_]+(\{[a-z]+="[a-z]+"\})? [0-9.e+]+', line) for line in lines)
    return {name: float(value) for name, value in (line.split(" ") for line in lines)}


def test_metrics_count_runs_folds_and_their_seconds(client, store):
    done, waits = store.create([SPEC], owner="test") + store.create([SPEC], owner="test")
    for fold in range(3):
        store.add_fold(done, fold_result(fold, 0.5), stopped_at=None)
    store.finish(done, RunState.FINISHED)
    found = numbers(client.get("/metrics").text)
    assert found['ecv_runs{state="finished"}'] == 1
    assert found['ecv_runs{state="queued"}'] == found["ecv_queue"] == 1
    assert found['ecv_runs{state="failed"}'] == 0
    assert found["ecv_folds_total"] == 3
    each = fold_result(0, 0.5).total_seconds
    assert found["ecv_fold_seconds_total"] == pytest.approx(3 * each)
    assert found['ecv_memory_bytes{process="dashboard"}'] > 10e6
    assert found["ecv_sessions"] == found["ecv_upload_bytes"] == 0
    store.finish(waits, RunState.FINISHED)
    store.delete(done)  # what was counted once stays so
    assert numbers(client.get("/metrics").text)["ecv_folds_total"] == 3


def test_metrics_are_told_to_this_machine_only_where_others_use_it(store, monkeypatch):
    app = Starlette(routes=routes())
    elsewhere = TestClient(app, client=("203.0.113.9", 5000))
    assert elsewhere.get("/metrics").status_code == 200
    monkeypatch.setenv("ECV_MODE", "public")
    assert elsewhere.get("/metrics").status_code == 403
    assert TestClient(app, client=("127.0.0.1", 5000)).get("/metrics").status_code == 200
    assert elsewhere.get("/healthz").status_code == 200


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP"])
def test_nobody_becomes_this_machine_by_a_header(store, monkeypatch, header):
    monkeypatch.setenv("ECV_MODE", "public")
    proxy_here = TestClient(Starlette(routes=routes()), client=("127.0.0.1", 5000))
    assert proxy_here.get("/metrics", headers={header: "127.0.0.1"}).status_code == 403


def test_healthz_says_what_is_wrong_and_names_nothing(client, store, monkeypatch):
    answer = client.get("/healthz")
    assert (answer.status_code, answer.text) == (200, "ok")
    manager().trouble = "the database /secret/place is full"
    answer = client.get("/healthz")
    assert answer.status_code == 503
    assert "secret" not in answer.text
    manager().trouble = None
    monkeypatch.setattr(type(manager()), "alive", False)
    assert client.get("/healthz").text.startswith("Nothing is computed any more")

    def away():
        raise StoreError("/secret/place is away")

    monkeypatch.setattr(health, "store", away)
    answer = client.get("/healthz")
    assert answer.status_code == 503
    assert "secret" not in answer.text


@pytest.mark.slow
def test_systemd_is_told_that_it_is_ready_and_alive_until_the_runner_ends(
    tmp_path, store, monkeypatch
):
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    monkeypatch.setenv("WATCHDOG_USEC", "200000")
    manager()

    async def tell_until(done):
        telling = asyncio.create_task(health.tell_systemd())
        while not done():
            await asyncio.sleep(0.01)
        telling.cancel()

    async def tell_for_a_while():
        with suppress(TimeoutError):
            await asyncio.wait_for(health.tell_systemd(), 1.0)

    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.setblocking(False)

        said = []

        def listen():
            with suppress(BlockingIOError):
                while True:
                    said.append(systemd.recv(100))

        def three_are_said():
            listen()
            return len(said) >= 3

        asyncio.run(tell_until(three_are_said))
        listen()
        assert said[0] == b"READY=1"
        assert set(said[1:]) == {b"WATCHDOG=1"}
        said.clear()
        monkeypatch.setattr(type(manager()), "alive", False)
        asyncio.run(tell_for_a_while())
        listen()
        assert said == [b"READY=1"]


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another libc gives it back itself")
def test_what_threads_have_freed_goes_back_to_the_system(monkeypatch):
    monkeypatch.setattr(health, "_GIVE_BACK_SECONDS", 0.01)
    some = []

    def work():
        pieces = [bytes(2000) for _ in range(50_000)]
        some.extend(pieces[::100])  # glibc alone gives back only what nothing lies above

    for _ in range(2):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    held = psutil.Process().memory_info().rss

    async def give_back():
        with suppress(TimeoutError):
            await asyncio.wait_for(health.give_back_memory(), 0.5)

    asyncio.run(give_back())
    assert held - psutil.Process().memory_info().rss > 40_000_000


@pytest.mark.slow
def test_lines_of_the_log_have_the_id_of_the_run_that_is_computed(store, capfd):
    loggers = [logging.getLogger(name) for name in ("ecv_core", "pages")]
    before = [(one.level, one.handlers, one.propagate) for one in loggers]
    runner = None
    try:
        _log_with_run_ids()
        run_id = store.create([SPEC], owner="test")[0]
        runner = RunManager(store, compute=_nothing)
        runner.start([SPEC])
        run_id = store.runs()[0].run_id
        said = ""
        while f"run {run_id}: failed, with 0 folds" not in said:
            said += capfd.readouterr().err
            time.sleep(0.05)
        assert f"INFO run {run_id}: computing begins" in said
        logging.getLogger("ecv_core.x").warning("of no run")
        assert capfd.readouterr().err.endswith("WARNING of no run\n")
    finally:
        if runner is not None:
            runner.close()
        for one, (level, handlers, propagate) in zip(loggers, before, strict=True):
            one.setLevel(level)
            one.handlers, one.propagate = handlers, propagate


def _nothing(specs, index, progress):
    raise RunError("no fold today")
