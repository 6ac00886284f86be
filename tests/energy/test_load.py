"""How busy the machine is, whose work it is, and what that says of a fold's energy."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

import ecv_core as ecv
from ecv_core.energy.load import Load, own_processor_seconds, own_processor_seconds_since
from ecv_core.energy.meter import IdlePower, WatchedMeter
from ecv_core.fold.spec import make_spec
from ecv_core.records.errors import InputError
from ecv_core.records.run import Energy, FoldResult, other_work_words
from tests.fake_folds import FakeMeter

BURN = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass"


def energy(**more) -> Energy:
    known = {"joules": 100, "cpu_joules": 30, "gpu_joules": 0, "ram_joules": 70, "grams_co2e": 1}
    return Energy(**known | {"source": "cpu-load"} | more)


def fold(**more) -> FoldResult:
    plain = {"score": 0.5, "metrics": {}, "users": 1, "fit_seconds": 1.0, "evaluate_seconds": 1.0}
    return FoldResult(fold=0, total_seconds=2.0, energy=energy(**more), **plain)


def reading(seconds: float, machine: float, own: float, program: float = 0.0) -> Load:
    return Load(
        clock_seconds=seconds,
        machine_seconds=machine,
        own_seconds=own + program,
    )


def test_the_share_of_others_is_what_is_left_of_the_machine(monkeypatch):
    monkeypatch.setattr(psutil, "cpu_count", lambda: 4)
    before = reading(100, 5000, 20, 3)
    # In 10 s of 4 processors 25 s were used: 8 by this process, 1 by its program, 16 by others.
    after = reading(110, 5025, 28, 4)
    assert after.share_of_others_since(before) == pytest.approx((16 - 0.02) / 40)
    # What a tick or two of the system's clocks may make of nothing is nothing.
    assert reading(110, 5009.01, 28, 4).share_of_others_since(before) == 0
    assert (
        reading(110, 5008.9, 28, 4).share_of_others_since(before) == 0
    )  # ours is known more exactly
    assert (
        reading(100.02, 5000.04, 20, 3).share_of_others_since(before) is None
    )  # too short to tell


def test_children_are_ones_own_those_that_have_ended_too():
    before = own_processor_seconds()
    subprocess.run([sys.executable, "-c", BURN], check=True)
    ended = own_processor_seconds() - before
    assert ended >= 0.28  # of 0.3, counted in ticks at both ends
    with subprocess.Popen(
        [sys.executable, "-c", f"{BURN}\nprint('done', flush=True)\ninput()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout.readline() == "done\n"
        assert own_processor_seconds() - before - ended >= 0.28  # it is alive


def test_no_fold_costs_less_than_nothing_when_a_child_takes_its_seconds_along():
    burns = f"{BURN}\nimport os\nprint(os.getpid(), flush=True)\ntime.sleep(60)"
    between = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burns!r}])"
    with subprocess.Popen([sys.executable, "-c", between], stdout=subprocess.PIPE) as child:
        grandchild = int(child.stdout.readline())
        before = own_processor_seconds()
        child.kill()  # nobody here can wait for the grandchild any more
    assert own_processor_seconds() <= before - 0.2
    assert own_processor_seconds_since(before) == 0
    os.kill(grandchild, signal.SIGKILL)


@pytest.mark.parametrize(
    ("known", "own"),
    [
        ({}, True),
        ({"other_work": 0.05}, True),
        ({"other_work": 0.06}, False),
        ({"machine_shared": True}, False),
    ],
)
def test_energy_is_ones_own_up_to_a_twentieth_of_the_machine(known, own):
    assert energy(**known).of_fold_alone is own


def test_why_joules_are_not_a_runs_own_is_said_with_how_much():
    assert other_work_words([fold(), fold(other_work=0.01)]) == ""
    beside = [fold(other_work=0.4), fold(), fold(other_work=0.632)]
    assert (
        other_work_words(beside)
        == "other programs used 40 to 63 % of the machine during 2 of 3 folds"
    )
    shared = [fold(machine_shared=True, other_work=0.0)]
    assert (
        other_work_words(shared) == "1 of 1 folds shared the machine with folds of other programs"
    )


@pytest.mark.parametrize(
    ("known", "least_and_most"),
    [
        ({}, (30, 100)),  # all but the flat wattage of memory
        ({"idle_joules": 80.0}, (20, 100)),  # above the idle machine
        ({"idle_joules": 120.0}, (0, 100)),
        ({"source": "rapl"}, (100, 100)),
        ({"source": "told"}, (100, 100)),
    ],
)
def test_an_estimate_is_a_range_and_a_measurement_is_not(known, least_and_most):
    assert energy(**known).joules_range == least_and_most


def test_the_meter_says_what_others_did_and_what_the_idle_machine_would_have_drawn(monkeypatch):
    clock = iter([reading(0, 0, 0), reading(10, 10, 1), reading(20, 22, 5)])
    monkeypatch.setattr("ecv_core.energy.meter.Load.now", lambda: next(clock))
    monkeypatch.setattr(
        "ecv_core.energy.meter.remembered_idle_power", lambda name: IdlePower(7.0, "cpu-load")
    )
    monkeypatch.setattr(psutil, "cpu_count", lambda: 2)
    meter = WatchedMeter(FakeMeter([energy()]), settings_key="any")
    meter.start()
    found = meter.stop()
    assert found.other_work == pytest.approx((12 - 4 - 0.02) / 20)
    assert (found.idle_joules, found.above_idle_joules) == (70, 30)
    assert found.machine_shared is False


def test_a_short_fold_is_looked_at_with_what_comes_right_before_it(monkeypatch):
    clock = iter([reading(0, 0, 0), reading(1, 2, 0), reading(1.01, 2.02, 0.01)])
    monkeypatch.setattr("ecv_core.energy.meter.Load.now", lambda: next(clock))
    monkeypatch.setattr(psutil, "cpu_count", lambda: 2)
    meter = WatchedMeter(FakeMeter([energy()]))
    meter.start()
    assert meter.stop().other_work == pytest.approx((2.01 - 0.02) / 2.02)


def test_who_shares_a_machine_cannot_wait_until_it_is_quiet():
    with pytest.raises(InputError, match="a machine that is shared is not waited for"):
        make_spec(dataset="synthetic", algorithm="popular", share_machine=True, wait_for_quiet=True)


@pytest.fixture
def four_busy_programs() -> Iterator[None]:
    """Of somebody else: children would be one's own. They give way, so that the fold gets on."""
    busy = f"nice -n 19 {sys.executable} -c 'while True: pass' >/dev/null & echo $!"
    pids = [int(subprocess.check_output(["sh", "-c", busy])) for _ in range(4)]
    yield
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.usefixtures("four_busy_programs")
def test_four_busy_programs_are_seen_in_every_fold():
    run = ecv.evaluate("synthetic", "bpr-mf", k=2, rule="never", anew=True, params={"epochs": 2})
    for fold in run.record.folds:
        assert fold.energy.other_work > 0.2
        assert not fold.energy.of_fold_alone
        assert fold.processor_seconds > 0


@pytest.mark.parametrize(
    ("set_by_user", "turns"),
    [
        ({}, "1000"),
        ({"GOMP_SPINCOUNT": "77"}, "77"),
        ({"OMP_WAIT_POLICY": "PASSIVE"}, "0"),
        ({"OMP_WAIT_POLICY": "ACTIVE"}, "30000000000"),
    ],
)
def test_threads_that_wait_give_up_their_core_soon_unless_the_user_says_otherwise(
    set_by_user, turns
):
    torch = Path(find_spec("torch").origin).parent
    openmp = next(torch.glob("lib/libgomp*"), None)
    if openmp is None:
        pytest.skip("the OpenMP of this torch is not GCC's")
    names = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
    known = {name: value for name, value in os.environ.items() if name not in names}
    loads = f"import ecv_core, ctypes; ctypes.CDLL({str(openmp)!r})"
    said = subprocess.run(  # OpenMP itself says what it goes by
        [sys.executable, "-c", loads],
        env=known | {"OMP_DISPLAY_ENV": "VERBOSE"} | set_by_user,
        capture_output=True,
        text=True,
        check=True,
    ).stderr
    assert f"GOMP_SPINCOUNT = '{turns}'" in said
