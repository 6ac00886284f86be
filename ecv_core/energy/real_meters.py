"""Real meters (plugs, SLURM, a command, a plug-in) and GPUs, read once a second while a fold runs.

`ECV_METER` names them, one a line; `--meter` sets it. They belong to a machine, not to a run: so no
link, form or file from somebody else can name a command.
"""

from __future__ import annotations

import atexit
import json
import logging
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import cache
from http.client import HTTPConnection
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from typing import Any, Protocol

from ecv_core.energy.integral import Sample, integral
from ecv_core.energy.load import own_pids
from ecv_core.energy.meter import (
    SOURCES,
    CodeCarbonMeter,
    EnergyMeter,
    NoMeter,
    WatchedMeter,
    country,
)
from ecv_core.energy.printed import printed_reading
from ecv_core.energy.savings import JOULES_PER_KWH
from ecv_core.records.errors import InputError
from ecv_core.records.plugins import Registry
from ecv_core.records.run import Energy, Reading
from ecv_core.records.spec import RunSpec

log = logging.getLogger(__name__)

METERS_VARIABLE = "ECV_METER"
TAPO_ACCOUNT = ("KASA_USERNAME", "KASA_PASSWORD")
SAMPLE_SECONDS = 1.0
"""How often a meter is read."""
ANSWER_SECONDS = 2.0
"""How long a meter may take to answer."""
CONNECT_SECONDS = 6.0
"""How long a plug may take to connect and answer that has to be connected to first."""
LAST_SAMPLE_SECONDS = 0.5
"""How long, after a fold, the last samples of all meters together are waited for."""
LARGEST_READING = 1e12
"""Watts or joules; what claims to be more is no reading."""


class Device(Protocol):
    """A meter that can be asked; entry points of the group `ecv_core.meters` make more."""

    source: str
    """As of `energy.meter.SOURCES`."""

    def read(self) -> tuple[float, str]:
        """What it says now: (47.3, 'W') is a power, (1200, 'J') the energy counted so far,
        and (12, 's') the time that GPUs have computed.

        Whatever it raises costs one sample. It may take its time: it has a thread of its own.
        """


def _checked_address(text: str, kind: str) -> str:
    """A host of the local network, perhaps with a port. Raises: InputError."""
    if not re.fullmatch(r"[\w.-]+(:\d{1,5})?|\[[\da-fA-F:.]+\](:\d{1,5})?", text):
        raise InputError(
            f"'{text}' is not the address of a {kind.title()} plug; give one like "
            f"{kind}:192.168.1.20"
        )
    return text


class Shelly:
    """A smart plug or meter by Shelly of any generation, without a password, over local HTTP.

    Source: shelly-api-docs.shelly.cloud: /status of the first generation, and of later ones the
    `GetStatus` of the components Switch, PM1 and EM1.
    """

    source = "plug"
    _KEYS_BY_PATH: Mapping[str, tuple[str | int, ...]] = {
        "/rpc/Switch.GetStatus?id=0": ("apower",),
        "/rpc/PM1.GetStatus?id=0": ("apower",),
        "/rpc/EM1.GetStatus?id=0": ("act_power",),
        "/status": ("meters", 0, "power"),
    }
    """A path of its HTTP server -> the keys, one in the other, below which the answer has watts."""

    def __init__(self, address: str) -> None:
        self._address = _checked_address(address, "shelly")
        self._paths = list(self._KEYS_BY_PATH)
        """The paths that may answer; only one, once it has."""

    def read(self) -> tuple[float, str]:
        status = ""
        for path in self._paths:
            with closing(HTTPConnection(self._address, timeout=ANSWER_SECONDS)) as connection:
                connection.request("GET", path)
                answer = connection.getresponse()
                status = f"{answer.status} {answer.reason}"
                if answer.status == 401:
                    raise OSError(
                        "it asks for a password, and e-fold has none: switch the password off "
                        "in the plug"
                    )
                if answer.status == 200:
                    value = json.loads(answer.read(1 << 16))
                    for key in self._KEYS_BY_PATH[path]:
                        value = value[key]
                    self._paths = [path]
                    return float(value), "W"
        raise OSError(f"it answers {status}")


class Tapo:
    """A Tapo plug that measures (P110, P115, ...), by python-kasa, over local HTTP (KLAP).

    The account that the plug was set up with comes from the variables that python-kasa's own
    command reads, never from an argument: no link, log or list of processes has it.
    """

    source = "plug"

    def __init__(self, address: str) -> None:
        self._host, _, port = _checked_address(address, "tapo").partition(":")
        self._port: int | None = None
        if port:
            self._port = int(port)
        if find_spec("kasa") is None:
            raise InputError(
                "a Tapo plug needs python-kasa, which is not installed; install it with: "
                "pip install 'e-fold[plugs]'"
            )
        self._account = [os.environ.get(name, "") for name in TAPO_ACCOUNT]
        if not all(self._account):
            raise InputError(
                "a Tapo plug needs the account with which it was set up; set the environment "
                f"variables {TAPO_ACCOUNT[0]} and {TAPO_ACCOUNT[1]}"
            )
        import asyncio

        self._plug_lock = threading.Lock()
        self._runner = asyncio.Runner()
        self._plug: Any = None

    def read(self) -> tuple[float, str]:
        with self._plug_lock:  # A page may ask while a fold is measured.
            return self._runner.run(self._watts()), "W"

    async def _watts(self) -> float:
        import asyncio

        import kasa

        kind = kasa.DeviceConnectionParameters(
            kasa.DeviceFamily.SmartTapoPlug, kasa.DeviceEncryptionType.Klap, login_version=2
        )
        config = kasa.DeviceConfig(
            host=self._host,
            port_override=self._port,
            credentials=kasa.Credentials(*self._account),
            connection_type=kind,
        )
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                if self._plug is None:
                    self._plug = await kasa.Device.connect(config=config)
                    atexit.register(self.close)
                energy = self._plug.modules.get(kasa.Module.Energy)
                if energy is None:
                    raise OSError("this plug does not measure power; P110 and P115 do")
                return float((await energy.get_status()).power)
        except kasa.AuthenticationError:
            raise OSError(f"it refuses the account of {' and '.join(TAPO_ACCOUNT)}") from None
        except TimeoutError:
            raise OSError(f"it has not answered within {CONNECT_SECONDS:g} s") from None

    def close(self) -> None:
        """End its connection; without it the HTTP library complains at the end of the program."""
        if self._plug is not None and self._plug_lock.acquire(timeout=ANSWER_SECONDS):
            with suppress(Exception):
                self._runner.run(self._plug.disconnect())
            self._runner.close()


def slurm_joules() -> float | None:
    """What this node has used since it was started, by SLURM; None where it does not measure."""
    node = os.environ.get("SLURMD_NODENAME")
    if not node:
        return None
    try:
        description = subprocess.run(
            ["scontrol", "show", "node", node], capture_output=True, text=True, timeout=5
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r"ConsumedJoules=(\d+)", description)
    if match is None:
        return None
    # A node that does not measure says 0, which is no reading.
    return float(match[1]) or None


class Slurm:
    """The node's energy by SLURM's `acct_gather_energy`."""

    source = "slurm"

    def __init__(self, argument: str) -> None:
        if argument:
            raise InputError(f"the meter slurm takes no argument, but got '{argument}'")

    def read(self) -> tuple[float, str]:
        joules = slurm_joules()
        if joules is None:
            raise OSError(
                "SLURM does not measure energy here: this needs a job and the plug-in "
                "acct_gather_energy"
            )
        return joules, "J"


class Command:
    """A program that prints watts, or joules so far; `energy.printed` says how."""

    source = "command"

    def __init__(self, words: Sequence[str]) -> None:
        self._words = list(words)
        self._devices: int | None = None
        """How many values it has printed; None before the first reading."""

    def read(self) -> tuple[float, str]:
        printed = subprocess.run(
            self._words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=ANSWER_SECONDS,
            check=True,
        ).stdout
        reading = printed_reading(printed)
        if self._devices is None:
            self._devices = reading.devices
            if reading.devices > 1:
                log.warning(
                    "the meter '%s' prints %d values, one a line; they are added up",
                    self._words[0],
                    reading.devices,
                )
        if reading.devices != self._devices:
            raise ValueError(
                f"it prints {reading.devices} values, and not {self._devices} as before"
            )
        return reading.value, reading.unit


def _named_meter(maker: object, name: str) -> tuple[str, Callable[[str], Device]]:
    """What a package offers, as an entry of the registry."""
    if not callable(maker):
        raise TypeError("it must be a function: argument -> a meter with read()")
    return name, maker


METERS: Registry[Callable[[str], Device]] = Registry(
    {"shelly": Shelly, "tapo": cache(Tapo), "slurm": Slurm},
    group="ecv_core.meters",
    to_entry=_named_meter,
)
"""What can be named: `shelly:ADDRESS`, `tapo:ADDRESS`, `slurm`, and what packages offer."""


def device_from_text(text: str) -> Device:
    """The meter that is named; nothing is asked yet. Raises: InputError."""
    name, _, argument = text.strip().partition(":")
    if name in METERS:
        return METERS[name](argument)
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(f"the meter {text!r} is no command: {error}") from None
    if not words or shutil.which(words[0]) is None:
        raise InputError(
            f"'{text}' is not a meter; give one of {', '.join(METERS)}, as in "
            "shelly:192.168.1.20, or a command that prints watts"
        )
    return _command(tuple(words))


_command = cache(Command)
"""One for each command, so that what it says of its output is said once."""


def reading_now(meter: Device) -> tuple[float, str]:
    """What a meter says now. Raises: InputError for no answer, or for what is no reading."""
    try:
        value, unit = meter.read()
        if not (math.isfinite(value) and 0 <= value <= LARGEST_READING and unit in ("W", "J", "s")):
            raise ValueError(f"it says {value} {unit}")
    except Exception as error:  # noqa: BLE001  a stranger's code raises anything
        sentence = f"{type(error).__name__}: {error}"
        if isinstance(error, OSError | subprocess.SubprocessError) and str(error):
            sentence = str(error)
        raise InputError(sentence) from None
    return float(value), unit


def check_meter(text: str) -> None:
    """Refuse the name of a meter that does not answer. Raises: InputError."""
    meter = device_from_text(text)
    try:
        reading_now(meter)
    except InputError as error:
        raise InputError(f"the meter '{text}' cannot be read: {error}") from None


def meter_names() -> list[str]:
    """The meters of this machine, as they are named."""
    lines = os.environ.get(METERS_VARIABLE, "").splitlines()
    return [line.strip() for line in lines if line.strip()]


class Sampler:
    """Reads one meter in a thread while a fold runs; a meter that hangs holds up nothing."""

    def __init__(self, name: str, device: Device, sampling_seconds: float = SAMPLE_SECONDS) -> None:
        self.name = name
        self._device = device
        self._sampling_seconds = sampling_seconds
        self.source = "plugin"
        if device.source in SOURCES:
            self.source = device.source
        self._thread: threading.Thread | None = None
        self._samples: list[Sample] = []
        self._fold_is_over = threading.Event()
        """Set once the fold is over."""
        self.span = (0.0, 0.0)
        """Begin and end of the fold, in seconds of `time.perf_counter`."""
        self._has_complained = False

    def start(self) -> None:
        """Begin; the first sample is taken at once."""
        self._samples = []
        self._fold_is_over = threading.Event()
        self.span = (time.perf_counter(), math.inf)
        # A thread that is still alive has hung in the meter since an earlier fold. Then this fold
        # gets no sample.
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(
                target=self._sample, args=(self._samples, self._fold_is_over), daemon=True
            )
            self._thread.start()

    def end(self) -> None:
        """The fold is over; a last sample is taken."""
        self.span = (self.span[0], time.perf_counter())
        self._fold_is_over.set()

    @property
    def has_no_sample(self) -> bool:
        """Whether it has said nothing since the fold began."""
        return not self._samples

    def reading(self, until: float) -> Reading:
        """What it says of the fold; waits for the last sample, but not longer than until then."""
        if self._thread is not None:
            self._thread.join(max(until - time.perf_counter(), 0.0))
        samples = list(self._samples)  # The thread may add more meanwhile.
        # Watts and joules cannot be mixed: a meter that changes its unit is read by its first.
        samples = [sample for sample in samples if sample.unit == samples[0].unit]
        begin, end = self.span
        energy = integral(samples, begin, end, self._sampling_seconds)
        return Reading(
            meter=self.name,
            source=self.source,
            joules=energy.joules,
            low_joules=energy.low,
            high_joules=energy.high,
            gap_seconds=energy.gap_seconds,
        )

    def _sample(self, samples: list[Sample], fold_is_over: threading.Event) -> None:
        """In the thread: take samples until the fold ends, and one more then.

        Args:
            samples: The samples of this fold, which get the new ones.
            fold_is_over: Set once it is.
        """
        due_at = time.perf_counter()
        while True:
            is_last = fold_is_over.is_set()
            asked_at = time.perf_counter()
            try:
                value, unit = reading_now(self._device)
            except InputError as error:
                if not self._has_complained:
                    self._has_complained = True
                    log.warning("the meter '%s' cannot be read: %s", self.name, error)
            else:
                samples.append(Sample((asked_at + time.perf_counter()) / 2, value, unit))
            if is_last:
                return
            due_at = max(due_at + self._sampling_seconds, time.perf_counter())
            fold_is_over.wait(due_at - time.perf_counter())


class SampledMeter:
    """Real meters beside CodeCarbon: the first that says enough of a fold is the one that counts.

    A meter that says nothing of half of a fold or more does not count: the next one does, at last
    CodeCarbon. `Energy.readings` has them all.
    """

    def __init__(
        self, samplers: Sequence[Sampler], codecarbon: EnergyMeter, country_code: str
    ) -> None:
        self._samplers = samplers
        self._codecarbon = codecarbon
        self._grams_per_joule = country(country_code).grams_co2e_per_kwh / JOULES_PER_KWH
        self._began_at = 0.0

    def start(self) -> None:
        self._codecarbon.start()
        self._began_at = time.perf_counter()
        for sampler in self._samplers:
            sampler.start()

    def stop(self) -> Energy:
        for sampler in self._samplers:
            sampler.end()
        last_samples_until = time.perf_counter() + LAST_SAMPLE_SECONDS
        half_of_fold = (time.perf_counter() - self._began_at) / 2
        estimate = self._codecarbon.stop()
        readings_of_most = []  # Their meters tell of most of the fold.
        other_readings = []
        for sampler in self._samplers:
            reading = sampler.reading(last_samples_until)
            if reading.gap_seconds < half_of_fold:
                readings_of_most.append(reading)
            else:
                other_readings.append(reading)
        low_joules, high_joules = estimate.joules_range
        estimated = Reading(
            meter="CodeCarbon",
            source=estimate.source,
            joules=estimate.joules,
            low_joules=low_joules,
            high_joules=high_joules,
        )
        if not readings_of_most:
            return replace(estimate, readings=(estimated, *other_readings))
        readings = [*readings_of_most, *other_readings]
        if estimate.source != "none":
            readings.append(estimated)
        # The reading of the first meter counts. It does not tell how much the processor, the GPU
        # and the memory used.
        joules = readings[0].joules
        return Energy(
            joules=joules,
            cpu_joules=0.0,
            gpu_joules=0.0,
            ram_joules=0.0,
            grams_co2e=joules * self._grams_per_joule,
            source=readings[0].source,
            readings=tuple(readings),
        )


class Gpus:
    """How long GPUs have computed for this process and its children: a counter, by NVML.

    Source: NVML API reference, nvmlDeviceGetProcessUtilization: of each process the percent of the
    time since the last look in which its kernels ran; a sample covers a second at most.
    """

    source = "gpu"

    def __init__(self) -> None:
        import pynvml as nvml

        nvml.nvmlInit()
        self._nvml = nvml
        self._computed_seconds = 0.0
        """The seconds of this process and its children so far, on all GPUs."""
        self._gpus_seen_until: list[tuple[Any, int]] = []
        """Each GPU, and the time of its newest sample in microseconds."""
        for number in range(nvml.nvmlDeviceGetCount()):
            handle = nvml.nvmlDeviceGetHandleByIndex(number)
            self._gpus_seen_until.append((handle, time.time_ns() // 1000))
        if not self._gpus_seen_until:
            raise OSError("there is no GPU")
        # If NVML tells no processes apart, this raises now, and not while a fold runs.
        self.read()

    def read(self) -> tuple[float, str]:
        own_processes = own_pids()
        for number, (handle, seen_until) in enumerate(self._gpus_seen_until):
            try:
                samples = self._nvml.nvmlDeviceGetProcessUtilization(handle, seen_until)
            except self._nvml.NVMLError_NotFound:
                # No process has computed since the last reading.
                continue
            # By process id, when its sample before ended, in microseconds.
            end_before: dict[int, int] = {}
            for sample in sorted(samples, key=attrgetter("timeStamp")):
                end = sample.timeStamp
                begin = max(end_before.get(sample.pid, seen_until), end - _SAMPLE_MICROSECONDS)
                if sample.pid in own_processes and end > begin:
                    covered_seconds = (end - begin) / 1e6
                    self._computed_seconds += sample.smUtil / 100 * covered_seconds
                end_before[sample.pid] = end
            newest_end = max(seen_until, *end_before.values())
            self._gpus_seen_until[number] = (handle, newest_end)
        return self._computed_seconds, "s"


_SAMPLE_MICROSECONDS = 1_000_000
"""What a sample of NVML covers at most."""


@cache
def _gpus() -> Gpus | None:
    """Those of this machine; None where there is none that tells processes apart."""
    try:
        return Gpus()
    except Exception as error:  # noqa: BLE001  no library, no driver, no GPU, no permission
        log.debug("GPU seconds are not known: %s", error)
        return None


class GpuMeter:
    """A meter, and beside it for how long GPUs computed: `Energy.gpu_seconds`."""

    def __init__(
        self, meter: EnergyMeter, gpus: Gpus, sampling_seconds: float = SAMPLE_SECONDS
    ) -> None:
        self._meter = meter
        self._sampler = Sampler("GPU", gpus, sampling_seconds)

    def start(self) -> None:
        self._meter.start()
        self._sampler.start()

    def stop(self) -> Energy:
        """End measuring; `gpu_seconds` stays unknown where the GPUs do not tell of this process."""
        self._sampler.end()
        energy = self._meter.stop()
        reading = self._sampler.reading(time.perf_counter() + LAST_SAMPLE_SECONDS)
        # This sampler's device counts seconds, which the reading has where others have joules.
        gpu_seconds = reading.joules
        torch = sys.modules.get("torch")
        uses_gpu = torch is not None and torch.cuda.is_initialized()
        # In a container NVML may give processes other ids, so that this process seems to use none.
        is_hidden = uses_gpu and not gpu_seconds
        if is_hidden or self._sampler.has_no_sample:
            return energy
        return replace(energy, gpu_seconds=gpu_seconds)


@cache
def _meter(
    country_code: str,
    processor_watts: float | None,
    memory_watts: float | None,
    machine_shared: bool,
    meter_names: tuple[str, ...],
) -> WatchedMeter:
    """The meter of this process for runs with these settings; see `meter_for`.

    Each meter that is made below also asks the one before it, and adds what it measures itself.
    """
    meter: EnergyMeter = CodeCarbonMeter(
        country_code, processor_watts=processor_watts, memory_watts=memory_watts
    )
    samplers = _samplers(meter_names)
    if samplers:
        meter = SampledMeter(samplers, meter, country_code)
    gpus = _gpus()
    if gpus is not None:
        meter = GpuMeter(meter, gpus)
    # The power of the idle machine is remembered under this key. It is the same for any country,
    # which only decides the emissions of a joule, and for machines that are shared, because it is
    # measured only while nothing else runs.
    settings_key = " ".join(map(str, (processor_watts, memory_watts, *meter_names)))
    return WatchedMeter(meter, machine_shared=machine_shared, settings_key=settings_key)


def _samplers(meter_names: Sequence[str]) -> list[Sampler]:
    """A sampler of each meter that ECV_METER names, without those that cannot be used.

    Of 'shelly:192.168.1.20', 'shelly:192.168.1.21' and the command '/opt/bin/watts --total', the
    samplers are called 'shelly', 'shelly 2' and 'watts'.
    """
    samplers = []
    count_of_kind: Counter[str] = Counter()
    for meter_name in meter_names:
        # A colon or a space ends the kind of the meter, or the path of the command's program.
        kind_or_path = re.split(r"[:\s]", meter_name)[0]
        kind = Path(kind_or_path).name
        name = kind
        if count_of_kind[kind]:
            name = f"{kind} {count_of_kind[kind] + 1}"
        try:
            samplers.append(Sampler(name, device_from_text(meter_name)))
        except InputError as error:
            log.warning("a meter of %s is left out: %s", METERS_VARIABLE, error)
        else:
            count_of_kind[kind] += 1  # A meter that is left out takes no number.
    return samplers


def meter_for(spec: RunSpec) -> WatchedMeter:
    """This process's meter for a run, made once: probing the hardware takes a second."""
    if spec.no_energy:
        return WatchedMeter(NoMeter(), machine_shared=spec.share_machine)
    return _meter(
        spec.country,
        spec.processor_watts,
        spec.memory_watts,
        spec.share_machine,
        tuple(meter_names()),
    )
