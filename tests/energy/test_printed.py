"""What commands print: powers and energies, of one device or of several."""

import logging
import sys

import pytest

from ecv_core.energy.printed import printed_reading
from ecv_core.energy.real_meters import Command, check_meter
from ecv_core.records.errors import InputError


@pytest.mark.parametrize(
    ("text", "value", "unit", "devices"),
    [
        ("47.3", 47.3, "W", 1),
        ("47.3 W", 47.3, "W", 1),
        ("47.3W\n\n", 47.3, "W", 1),
        ("47.3 Watts", 47.3, "W", 1),
        ("47300 mW", 47.3, "W", 1),
        ("1.2 kW", 1200, "W", 1),
        ("1200 J", 1200, "J", 1),
        ("2 Wh", 7200, "J", 1),
        ("0.5 kWh", 1.8e6, "J", 1),
        ("120.50 W\n80.25 W\n", 200.75, "W", 2),  # nvidia-smi, two GPUs
        ("120.50\n80.25", 200.75, "W", 2),  # with nounits
        ("power.draw [W]\n120.50 W\n80.25 W", 200.75, "W", 2),  # with a header
        ("power.draw [mW]\n120500\n80250", 200.75, "W", 2),
        ("index, power.draw [W]\n0, 120.50\n1, 80.25", 200.75, "W", 2),
        ("0, NVIDIA A100, 120.50 W\n1, NVIDIA A100, 80.25 W", 200.75, "W", 2),
        ("0, A100, [N/A], 120.50 W", 120.5, "W", 1),  # of another column
        ("1 W\n\n500 mW", 1.5, "W", 2),
        ("100 J\n20 J\n3 J", 123, "J", 3),
        ("warming up\n5 W", 5, "W", 1),
        ("mW\n12500", 12.5, "W", 1),
        ("power_mw\n12500\n2500", 15, "W", 2),
        ("kWh\n0.5", 1.8e6, "J", 1),
        ("joules\n12.5", 12.5, "J", 1),
        ("s,W\n0.123,47.3", 47.3, "W", 1),  # two values, the first with three decimals
        ("s,W\n12.345,47.3", 47.3, "W", 1),
        ("s,W\n0.123,47", 47, "W", 1),
        ("device,Average Graphics Package Power (W)\ncard0,35.0\ncard1,40.0", 75, "W", 2),
    ],
)
def test_a_power_or_an_energy_is_read(text: str, value: float, unit: str, devices: int) -> None:
    reading = printed_reading(text)
    assert reading.value == pytest.approx(value)
    assert (reading.unit, reading.devices) == (unit, devices)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "warm",
        "47.3 V",
        "120.50 W\n[N/A]",
        "[N/A]\n80.25 W",
        "[Not Supported]\n80.25 W",
        "120.50 W\n300 J",
        "120.50 W, 300.00 W",  # its draw and its limit
        "0, 120.50",
        "47,3 W",
        "12.047.123,35 W",
        "1.047,3 W",  # a point for thousands, a comma for decimals
        "GPU 0: 120.50 W\n80.25 W",
        "120.50 W\ndone",
        "-5 W\n80 W",
        "nan",
        "1e400",
        "0, 120 W\n1, 80 W\nTotal, 200 W",  # twice the same
        "total_energy_mj\n5000",  # milli or mega
        "milliwatts\n12500",
        "uW\n5",
    ],
)
def test_what_cannot_be_told_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(ValueError, match=r"it prints|it says") as caught:
        printed_reading(text)
    assert "\n" not in str(caught.value)


def test_that_values_are_added_up_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    command = Command([sys.executable, "-S", "-c", "print('120.50 W'); print('80.25 W')"])
    with caplog.at_level(logging.WARNING):
        assert command.read() == (200.75, "W")
        assert command.read() == (200.75, "W")
    (message,) = caplog.messages
    assert "2 values" in message


def test_a_device_that_falls_silent_is_no_smaller_sum(tmp_path) -> None:
    path = tmp_path / "printed"
    path.write_text("120.50 W\n80.25 W")
    command = Command(["cat", str(path)])
    assert command.read() == (200.75, "W")
    path.write_text("120.50 W")
    with pytest.raises(ValueError, match="1 values, and not 2"):
        command.read()


def test_a_meter_whose_values_are_not_alike_is_refused_before_a_run(tmp_path) -> None:
    path = tmp_path / "printed"
    path.write_text("120.50 W\n300 J")
    with pytest.raises(InputError, match="watts and joules"):
        check_meter(f"cat {path}")
