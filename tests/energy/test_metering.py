"""Meters that are asked: emulated plugs over real HTTP, commands, and what goes wrong with them."""

import json
import math
import os
import socket
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from ecv_core.cli import main
from ecv_core.energy import real_meters as metering
from ecv_core.energy.meter import country
from ecv_core.energy.real_meters import (
    Command,
    SampledMeter,
    Sampler,
    Shelly,
    check_meter,
    device_from_text,
    meter_names,
)
from ecv_core.energy.savings import energy_facts
from ecv_core.figures.words import readings_words
from ecv_core.records.errors import InputError
from ecv_core.records.run import HOW_KNOWN, Energy, Reading
from tests.fake_folds import FakeMeter, fold_result

EVERY = 0.1
ESTIMATE = Energy(
    joules=4.0, cpu_joules=1.0, gpu_joules=0.0, ram_joules=3.0, grams_co2e=1.0, source="cpu-load"
)


class Plug:
    """A Shelly plug whose power rises from 100 W by 1 W a second; its counter is in Wh.

    So slowly, that an answer which is a second late is still within one percent.
    """

    def __init__(self, generation=2):
        self.generation, self.begun = generation, time.perf_counter()
        self.drops, self.asked, self.hangs = (), 0, threading.Event()
        self.hangs.set()

    def watts(self):
        return 100 + (time.perf_counter() - self.begun)

    def joules(self, begin, end):
        """The integral of the ramp."""
        middle = (begin + end) / 2 - self.begun
        return (end - begin) * (100 + middle)

    def answer(self, path):
        """Status and content, as the devices give them."""
        self.hangs.wait()
        self.asked += 1
        if self.asked % 10 in self.drops:
            return 503, {}
        second = {"id": 0, "output": True, "apower": self.watts(), "aenergy": {"total": 0.001}}
        first = {"power": self.watts(), "is_valid": True, "total": 3, "counters": [0, 0, 0]}
        if self.generation == 2 and path == "/rpc/Switch.GetStatus?id=0":
            return 200, second
        if self.generation == 1 and path == "/status":
            return 200, {"wifi_sta": {}, "meters": [first]}
        return (401, {}) if self.generation == 0 else (404, {})


@contextmanager
def serving(plug):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            status, content = plug.answer(self.path)
            text = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *said):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        plug.hangs.set()
        server.shutdown()
        server.server_close()


def fold(meter, seconds=1.0, readings=None):
    """One fold of a meter: its begin and end, and what it gave.

    Args:
        readings: Gives how often the meter was read. The fold goes on until that is most of what
            its time has room for: a busy machine may keep the meter waiting.
    """
    meter.start()
    begin = time.perf_counter()
    time.sleep(seconds)
    while readings and readings() * EVERY < 0.75 * (time.perf_counter() - begin):
        time.sleep(EVERY)
    end = time.perf_counter()
    return begin, end, meter.stop()


def meter_of(*samplers, estimates=(ESTIMATE,)):
    return SampledMeter(samplers, FakeMeter(list(estimates)), "DEU")


@pytest.mark.parametrize("generation", [1, 2])
def test_the_integral_of_a_plug_is_within_one_percent_and_is_what_counts(generation):
    plug = Plug(generation)
    with serving(plug) as address:
        sampler = Sampler("shelly", Shelly(address), EVERY)
        earliest = time.perf_counter()
        begin, end, found = fold(meter_of(sampler), readings=lambda: plug.asked)
        latest = time.perf_counter()
    assert found.joules == pytest.approx(plug.joules(*sampler.span), rel=0.01)
    assert earliest <= sampler.span[0] <= begin
    assert end <= sampler.span[1] <= latest
    assert (found.source, found.measured) == ("plug", True)
    assert found.grams_co2e == pytest.approx(
        found.joules / 3.6e6 * country("DEU").grams_co2e_per_kwh
    )
    assert [(one.meter, one.source) for one in found.readings] == [
        ("shelly", "plug"),
        ("CodeCarbon", "cpu-load"),
    ]
    assert found.readings[1].joules == 4.0


@pytest.mark.slow
def test_three_of_ten_answers_missing_are_flagged_and_the_truth_is_in_the_range():
    plug = Plug()
    plug.drops = (2, 5, 8)
    with serving(plug) as address:
        sampler = Sampler("shelly", Shelly(address), EVERY)
        begin, end, found = fold(meter_of(sampler), 3.0)
    truth = plug.joules(*sampler.span)
    # Where a busy machine keeps the plug waiting as well, it may not be the meter that counts.
    (of_plug,) = (reading for reading in found.readings if reading.meter == "shelly")
    assert of_plug.joules == pytest.approx(truth, rel=0.01)
    assert of_plug.gap_seconds > 0.2 * (end - begin)
    assert of_plug.low_joules < truth < of_plug.high_joules


def test_a_plug_that_hangs_delays_no_fold_and_the_estimate_counts(monkeypatch):
    monkeypatch.setattr(metering, "ANSWER_SECONDS", 30.0)
    plug = Plug()
    plug.hangs.clear()
    with serving(plug) as address:
        sampler = Sampler("shelly", Shelly(address), EVERY)
        meter = meter_of(sampler, estimates=[ESTIMATE, ESTIMATE])
        threads = []
        for _ in range(2):  # in the second fold the thread of the first hangs still
            _, end, found = fold(meter, 0.05)
            assert time.perf_counter() - end < 10  # the plug answers after 30
            assert replace(found, readings=()) == ESTIMATE
            assert found.measured is False
            silent = found.readings[1]
            assert (silent.meter, silent.joules, silent.gap_seconds > 0.04) == ("shelly", 0, True)
            threads.append(sampler._thread)
        assert threads[1] is threads[0]
    threads[0].join(60)  # what it says now is for no other test


def test_a_plug_that_is_gone_costs_one_warning_and_no_fold(caplog):
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # who does not listen refuses, and has the port alone
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        meter = meter_of(Sampler("gone", Shelly(address), EVERY), estimates=[ESTIMATE, ESTIMATE])
        for _ in range(2):
            _, _, found = fold(meter, 0.1)
            assert found.source == "cpu-load"
    # By its name: a plug of another test that has hung may be missed only now.
    assert len([line for line in caplog.messages if "'gone' cannot be read" in line]) == 1


def test_the_second_meter_counts_where_the_first_says_nothing():
    class Silent:
        source = "plug"

        def read(self):
            raise ValueError("nothing")

    # Where a program starts slowly, its answers are further apart than EVERY, which are gaps.
    command = Sampler("command", Command([sys.executable, "-S", "-c", "print('50 W')"]))
    meter = meter_of(Sampler("plug", Silent(), EVERY), command)
    _, _, found = fold(meter, 1.0, readings=lambda: 0 if command.has_no_sample else math.inf)
    begin, end = command.span
    assert (found.source, found.measured) == ("command", False)
    assert found.joules == pytest.approx(50 * (end - begin))
    assert [one.meter for one in found.readings] == ["command", "plug", "CodeCarbon"]


def test_a_counter_that_begins_anew_is_a_gap_and_no_negative_energy():
    class Counter:
        source = "plugin"
        begun, last = time.perf_counter(), 0

        def read(self):
            """200 W, from 1,000 J, and after the 5th reading from nothing."""
            joules = 200 * (time.perf_counter() - self.begun)
            self.last += 1
            return (1000 + joules if self.last < 5 else joules), "J"

    counter = Counter()
    sampler = Sampler("counter", counter, EVERY)
    _, _, found = fold(meter_of(sampler), 1.0, readings=lambda: counter.last)
    begin, end = sampler.span
    assert found.joules == pytest.approx(200 * (end - begin), rel=0.01)
    assert 0 < found.readings[0].gap_seconds < (end - begin) / 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("shely:10.0.0.5", "'shely:10.0.0.5' is not a meter; give one of shelly, tapo, slurm"),
        ("shelly:", "'' is not the address of a Shelly plug"),
        ("shelly:http://10.0.0.5/x?y", "is not the address of a Shelly plug"),
        ("slurm:n7", "the meter slurm takes no argument"),
        ("slurm", "SLURM does not measure energy here"),
        ("", "'' is not a meter"),
        ("'", "is no command"),
        (f"{sys.executable} -c 'print()'", "it prints '', not watts or joules such as 47.3 W"),
        (f"{sys.executable} -c 'print(\"warm\")'", "it prints 'warm', not watts"),
        (f"{sys.executable} -c 'print(-5)'", "it says -5.0 W"),
        (f"{sys.executable} -c 'exit(3)'", "returned non-zero exit status 3"),
    ],
)
def test_a_meter_that_cannot_be_is_one_sentence_and_exit_code_2(text, said, capsys):
    assert main(["run", "no-such-dataset", "popular", "--meter", text]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert "dataset" not in line  # it is said before anything else is looked at


@pytest.mark.parametrize(("generation", "said"), [(0, "asks for a password"), (9, "answers 404")])
def test_a_plug_that_refuses_is_refused(generation, said):
    with serving(Plug(generation)) as address, pytest.raises(InputError, match=said):
        check_meter(f"shelly:{address}")


def test_an_answer_that_is_no_meters_is_refused():
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            connection, _ = server.accept()
            connection.recv(999)
            connection.sendall(b"220 mail.example.org ESMTP\r\n\r\n")
            connection.close()

        threading.Thread(target=answer, daemon=True).start()
        with pytest.raises(InputError, match="BadStatusLine: 220 mail"):
            check_meter(f"shelly:127.0.0.1:{server.getsockname()[1]}")


def test_a_command_says_watts_or_joules(tmp_path):
    for printed, read in [("47.3", (47.3, "W")), ("1e3 J", (1000, "J")), ("a\n5 W", (5, "W"))]:
        (path := tmp_path / "said it").write_text(printed)
        assert device_from_text(f"cat '{path}'").read() == read


def test_meters_are_named_in_the_environment_one_a_line(monkeypatch):
    monkeypatch.setenv("ECV_METER", "shelly:10.0.0.5\n\n nvidia-smi --x \n")
    assert meter_names() == ["shelly:10.0.0.5", "nvidia-smi --x"]


def test_a_run_of_the_command_line_is_measured_by_its_meter(tmp_path, monkeypatch):
    monkeypatch.setenv("ECV_METER", "")  # main sets it; given back after the test
    arguments = ["run", "synthetic", "popular", "-k", "2", "--json", str(tmp_path / "run.json")]
    meter = f"{sys.executable} -S -c 'print(60)'"
    assert main([*arguments, "--meter", meter]) == 0
    assert os.environ["ECV_METER"] == meter
    document = json.loads((tmp_path / "run.json").read_text())
    assert document["energy"]["source"] == "command"
    for one in document["folds"]:
        seconds = one["energy"]["joules"] / 60
        assert one["seconds"]["total"] * 0.9 < seconds < one["seconds"]["total"] + 2
        assert one["energy"]["readings"][0]["meter"] == os.path.basename(sys.executable)


def test_a_meter_is_for_this_machine_and_not_for_a_cluster(capsys, monkeypatch):
    meter = f"{sys.executable} -S -c 'print(60)'"
    assert main(["run", "synthetic", "popular", "--on", "local:2", "--meter", meter]) == 2
    assert "--meter measures this machine" in capsys.readouterr().err


@pytest.mark.slow
def test_a_meter_is_asked_once_a_second_and_no_more_when_a_fold_has_ended():
    class Counting:
        source, asked = "plug", 0

        def read(self):
            self.asked += 1
            return 50.0, "W"

    plug = Counting()
    began, ended, _ = fold(meter_of(Sampler("a plug", plug)), 1.5)
    asked, seconds = plug.asked, ended - began
    assert 2 <= asked <= seconds + 3  # at its begin, once a second, at its end
    time.sleep(1.2)
    assert plug.asked == asked


def test_each_meter_of_a_fold_is_told_with_how_it_is_known_and_how_far_it_is_off():
    # 3600 J is 1 Wh; 1800 J is half of it; a meter that said nothing has no number
    readings = [
        Reading(meter=name, source=source, joules=joules, low_joules=0, high_joules=joules)
        for name, source, joules in (
            ("shelly", "plug", 3600),
            ("lab", "plugin", 0),
            ("CodeCarbon", "cpu-load", 1800),
        )
    ]
    said = replace(ESTIMATE, source="plug", joules=3600, readings=tuple(readings))
    result = replace(fold_result(0, 0.3), energy=said)
    words = "shelly 1 Wh (measured), lab -, CodeCarbon 0.5 Wh (estimated, 50 % less)"
    assert readings_words([result]) == words
    assert readings_words([result, result]).startswith(
        "shelly 2 Wh (measured), lab -, CodeCarbon 1"
    )
    assert readings_words([fold_result(0, 0.3)]) == ""
    assert said.joules_range == (0, 3600)


@pytest.mark.parametrize(
    ("joules", "words"),
    [
        ((3600, 3600), "shelly 1 Wh (measured), CodeCarbon 1 Wh (estimated, 0 % more)"),
        ((0, 3600), "shelly 0 Wh (measured), CodeCarbon 1 Wh (estimated)"),
    ],
)
def test_meters_that_agree_differ_by_0_percent_and_nothing_is_a_percentage_of_no_energy(
    joules, words
):
    readings = []
    for name, source, amount in zip(
        ("shelly", "CodeCarbon"), ("plug", "cpu-load"), joules, strict=True
    ):
        reading = Reading(meter=name, source=source, joules=amount, low_joules=0, high_joules=3600)
        readings.append(reading)
    measured = replace(ESTIMATE, source="plug", joules=joules[0], readings=tuple(readings))
    assert readings_words([replace(fold_result(0, 0.3), energy=measured)]) == words


def test_folds_of_several_meters_are_not_called_measured():
    one = replace(fold_result(0, 0.3), energy=replace(ESTIMATE, source="plug"))
    other = replace(fold_result(1, 0.3), energy=ESTIMATE)
    assert energy_facts([one, one], 2, None).source == "plug"
    assert energy_facts([one, other], 2, None).source == "mixed"
    assert HOW_KNOWN["mixed"] not in ("measured", "estimated")
