"""What is assumed of a machine: the modules of its memory, what it draws when idle, electricity."""

from __future__ import annotations

import json
import struct
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from ecv_core.energy import load as memory
from ecv_core.energy.load import Load
from ecv_core.energy.meter import (
    WatchedMeter,
    intensity_words,
    measure_idle_power,
    remembered_idle_power,
)
from ecv_core.records.run import Energy
from tests.energy.test_load import energy, fold
from tests.fake_folds import FakeMeter


def structure(kind: int, size: int | None = None, texts: tuple[str, ...] = ()) -> bytes:
    """As SMBIOS has it: kind, length, handle, fields, then texts."""
    fields = b"\0" * 8 + (b"" if size is None else struct.pack("<H", size)) + b"\0" * 10
    head = struct.pack("<BBH", kind, 4 + len(fields), 1)
    ends = b"".join(text.encode() + b"\0" for text in texts) or b"\0"
    return head + fields + ends + b"\0"


@pytest.mark.parametrize(
    ("table", "modules"),
    [
        (structure(16) + structure(17, 8192) + structure(17, 0) + structure(17, 16384), 2),
        (structure(17, 8192, ("DIMM 0", "Maker")) + structure(127) + structure(17, 8192), 1),
        (structure(17, 0x7FFF, ("a",)) + structure(127), 1),  # its size is elsewhere: it is there
        (b"", 0),
        (b"\x11", 0),
        (b"\x11\x00\x00\x00", 0),
        (b"\x11\xff\x00\x00", 0),
    ],
)
def test_modules_that_the_firmware_lists_are_counted(table, modules, tmp_path, monkeypatch):
    (tmp_path / "DMI").write_bytes(table)
    monkeypatch.setattr(memory, "TABLE", tmp_path / "DMI")
    assert memory.memory_modules() == modules
    assert memory.watts_and_basis_of_memory(None) == (
        (5.0 * modules, "modules") if modules else (None, "size")
    )
    assert memory.watts_and_basis_of_memory(3.0) == (3.0, "given")


def test_it_is_said_how_memorys_wattage_was_got():
    assert memory.memory_words([fold()]) == ""  # of before it was written
    # 70 J in 2 s
    assert memory.memory_words([fold(memory_basis="given")]) == (
        "Memory is assumed to draw about 35 W all the time: as set."
    )
    assert "for each module that its size suggests" in memory.memory_words(
        [fold(memory_basis="size")]
    )


def test_electricity_has_its_year_and_its_source():
    assert intensity_words("DEU") == (
        "the electricity of Germany in 2023, 381 g CO2e per kWh (Our World in Data, carbon "
        "intensity of electricity, as shipped with CodeCarbon)"
    )
    assert intensity_words("XXX") == "the electricity of XXX"


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """Its clocks go on as it sleeps, and it is as busy as `busy` says; nothing is remembered."""
    state = {"now": 0.0, "machine": 0.0, "busy": 0.0, "slept": 0}

    def sleep(seconds):
        state["slept"] += 1
        state["now"] += seconds
        state["machine"] += seconds * state["busy"]

    def now():
        return Load(
            clock_seconds=state["now"],
            machine_seconds=state["machine"],
            own_seconds=0.0,
        )

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(psutil, "cpu_count", lambda: 2)
    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr("ecv_core.energy.load.Load.now", now)
    return state


def test_the_idle_machine_is_measured_once_and_remembered_until_it_is_rebooted(
    machine, tmp_path, monkeypatch
):
    meter = FakeMeter([energy(joules=14.0), energy(joules=18.0)])
    assert measure_idle_power(meter, "usual") == (7.0, "cpu-load")  # in 2 s
    assert remembered_idle_power("usual") == (7.0, "cpu-load")
    assert remembered_idle_power("other watts") is None
    assert measure_idle_power(meter, "other watts") == (9.0, "cpu-load")
    (path,) = tmp_path.glob("ecv-*/machine.json")
    assert json.loads(path.read_text())["found"] == {
        "idle usual": [7.0, "cpu-load"],
        "idle other watts": [9.0, "cpu-load"],
    }
    monkeypatch.setattr(psutil, "boot_time", lambda: 1.0)
    assert remembered_idle_power("usual") is None


@pytest.mark.parametrize(
    ("busy", "found"), [(0.3, energy()), (0.0, Energy.none())], ids=["busy", "no meter"]
)
def test_where_the_machine_is_busy_or_has_no_meter_nothing_is_remembered(
    machine, tmp_path, busy, found
):
    machine["busy"] = busy
    assert measure_idle_power(FakeMeter([found]), "usual") is None
    assert not list(tmp_path.glob("*/*"))


def test_a_damaged_memory_is_measured_anew(machine, tmp_path):
    assert measure_idle_power(FakeMeter([energy(joules=14.0)]), "usual") == (7.0, "cpu-load")
    (path,) = tmp_path.glob("ecv-*/machine.json")
    Path(path).write_text('{"boot": ')
    assert remembered_idle_power("usual") is None
    assert measure_idle_power(FakeMeter([energy(joules=16.0)]), "usual") == (8.0, "cpu-load")


def test_nobody_waits_for_the_idle_machine_before_folds_have_taken_ten_seconds(machine):
    folds = [energy(joules=60.0), energy(joules=50.0)]
    idle_machine = energy(joules=14.0)  # in 2 s
    meter = WatchedMeter(
        FakeMeter([*folds, idle_machine, energy(joules=40.0)]), settings_key="usual"
    )
    for seconds, idle_joules in ((6.0, None), (4.0, None), (3.0, 21.0)):
        meter.start()
        machine["now"] += seconds
        assert meter.stop().idle_joules == idle_joules
    assert machine["slept"] == 2  # a look, and the measurement
    again = WatchedMeter(FakeMeter([energy(joules=40.0)]), settings_key="usual")
    again.start()
    machine["now"] += 1
    assert again.stop().idle_joules == 7.0  # it is remembered
