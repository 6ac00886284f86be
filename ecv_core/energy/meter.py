"""What a fold costs the machine: CodeCarbon behind a two-method protocol."""

from __future__ import annotations

import json
import logging
import platform
import re
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.metadata import version
from operator import itemgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol
from uuid import uuid4

import psutil

from ecv_core.energy.load import Load, watts_and_basis_of_memory
from ecv_core.energy.savings import JOULES_PER_KWH
from ecv_core.records.errors import InputError, what_to_install
from ecv_core.records.places import SHIPPED
from ecv_core.records.run import Energy
from ecv_core.untrusted.files import replacing
from ecv_core.untrusted.private import private_folder, private_text

log = logging.getLogger(__name__)

_FOLDER = SHIPPED / "energy"

SOURCES: dict[str, str] = {
    "rapl": "measured by the processor's power counter (RAPL); memory estimated from its size",
    "cpu-load": "estimated from the processor's load and a constant power for memory, not measured",
    "constant": "estimated from a constant processor power, not measured",
    "plug": "measured at the socket by a smart plug, for the whole machine",
    "slurm": "measured by SLURM's accounting, for the whole node",
    "command": "reported by the command that you set as the meter",
    "plugin": "reported by the plug-in that you set as the meter",
    "mixed": "from several sources, not all of them measurements: the table of folds names them",
    "told": "reported by the program that computed the folds",
    "none": "no energy meter ran",
}
"""What each Energy.source means, as pages say it."""


class EnergyMeter(Protocol):
    """Measures one fold at a time. Neither method ever raises: a broken meter costs no fold."""

    def start(self) -> None:
        """Begin measuring."""

    def stop(self) -> Energy:
        """End measuring; `Energy.none()` where nothing could be measured."""


class NoMeter:
    """Measures nothing."""

    def start(self) -> None:
        """Do nothing."""

    def stop(self) -> Energy:
        return Energy.none()


@dataclass(frozen=True)
class Country:
    """A country whose electricity CodeCarbon knows."""

    code: str
    name: str
    grams_co2e_per_kwh: float
    year: int


@cache
def countries() -> dict[str, Country]:
    """Countries by ISO 3166-1 alpha-3 code, sorted by name, as CodeCarbon counts them.

    It is a table of our own, for those who have no CodeCarbon (Our World in Data, CC BY 4.0).
    """
    table = (_FOLDER / "countries.json").read_text(encoding="utf-8")
    rows = json.loads(table)["countries"]
    by_code = {}
    # The rows are tuples that begin with the country's name, by which they are sorted.
    for code, (name, grams, year) in sorted(rows.items(), key=itemgetter(1)):
        by_code[code] = Country(code, name, float(grams), int(year))
    return by_code


def country(code: str) -> Country:
    """The country with this code.

    Raises:
        InputError: If it is not known. CodeCarbon would silently take the world's average.
    """
    try:
        return countries()[code.upper()]
    except KeyError:
        raise InputError(
            f"'{code}' is not the code of a country; give an ISO 3166-1 alpha-3 code such as "
            "DEU, FRA or USA"
        ) from None


@dataclass(frozen=True, kw_only=True)
class CarbonSource:
    """Who counted the grams of CO2e per kWh of each country."""

    source: str
    url: str
    note: str


@cache
def carbon_source() -> CarbonSource:
    """The one that data/energy/carbon_intensity.toml names."""
    return CarbonSource(**tomllib.loads((_FOLDER / "carbon_intensity.toml").read_text("utf-8")))


_WITH_ARTICLE = re.compile(
    r"(United .*|.* (Islands|Republic)|Bahamas|Comoros|Democratic Republic of Congo|Gambia|"
    r"Maldives|Netherlands|Philippines|Seychelles)"
)


def country_in_words(code: str) -> str:
    """'Germany' of DEU, 'the Netherlands' of NLD; a code that is not known stays as it is."""
    country = countries().get(code.upper())
    if country is None:
        return code
    if _WITH_ARTICLE.fullmatch(country.name):
        return f"the {country.name}"
    return country.name


def with_emissions(energy: Energy, code: str) -> Energy:
    """The same energy, with the emissions that it has with a country's electricity.

    Args:
        energy: The energy of a fold, wherever and for whichever country it was metered.
        code: ISO 3166-1 alpha-3.

    Raises:
        InputError: For an unknown country.
    """
    kilowatt_hours = energy.joules / JOULES_PER_KWH
    return replace(energy, grams_co2e=kilowatt_hours * country(code).grams_co2e_per_kwh)


def intensity_words(code: str) -> str:
    """'the electricity of Germany in 2023, 381 g CO2e per kWh (...)'; the code alone if unknown."""
    country = countries().get(code.upper())
    if country is None:
        return f"the electricity of {code}"
    return (
        f"the electricity of {country_in_words(code)} in {country.year}, "
        f"{country.grams_co2e_per_kwh:.0f} g CO2e per kWh ({carbon_source().source})"
    )


# What was found out about this machine, remembered until it is started again.


def recalled(name: str) -> Any:  # noqa: ANN401  JSON values
    """What `remember` was told under this name since the machine was started; None for nothing."""
    return _facts_of_machine().get(name)


def remember(name: str, value: object) -> None:
    """Keep plain JSON values; where that cannot be done, they are found out again."""
    with suppress(OSError), replacing(_machine_file()) as part:
        facts = _facts_of_machine() | {name: value}
        part.write_text(json.dumps({"boot": _boot(), "found": facts}))


def _machine_file() -> Path:
    """Raises: OSError where this user has no folder alone."""
    return private_folder() / "machine.json"


def _boot() -> str:
    """When the machine was started, in Unix seconds."""
    return f"{psutil.boot_time():.0f}"


def _facts_of_machine() -> dict[str, Any]:
    """All that was remembered, by name; nothing where the machine was started again since."""
    with suppress(OSError, ValueError, TypeError, AttributeError):
        file_content = json.loads(private_text(_machine_file()))
        if file_content.get("boot") == _boot():
            return dict(file_content["found"])
    return {}


class CodeCarbonMeter:
    """The whole machine's energy by CodeCarbon, offline, one task per fold.

    Machine mode, so two folds at once would both count everything: run one fold at a time. The
    first start probes the hardware (about a second, once per process), before it measures.

    CodeCarbon reads settings from `CODECARBON_*` and `.codecarbon.config` too; none of them changes
    a figure, for whatever scales one is given here.

    Args:
        country_code: ISO 3166-1 alpha-3.
        processor_watts: What the processor draws at full load; used where it has no readable
            counter. None leaves CodeCarbon's assumption.
        memory_watts: What memory draws, whatever happens; None is 5 W for each module that the
            firmware lists, or where it cannot be read, for each that CodeCarbon supposes.

    Raises:
        InputError: For an unknown country.
    """

    def __init__(
        self,
        country_code: str,
        *,
        processor_watts: float | None = None,
        memory_watts: float | None = None,
    ) -> None:
        self._grams_per_kwh = country(country_code).grams_co2e_per_kwh
        self._processor_watts = processor_watts
        self._memory_watts, self._memory_basis = watts_and_basis_of_memory(memory_watts)
        self._tracker: Any = None
        """CodeCarbon's tracker, once it has probed the hardware."""
        self._source = ""
        self._task = ""
        """CodeCarbon's name of the fold that is measured now; empty where none is."""
        self._has_warned_of_missing_package = False
        """Whether the log has said that CodeCarbon is not installed."""

    def start(self) -> None:
        """Begin a task; a failure is logged and the fold goes on unmetered."""
        try:
            if self._tracker is None:
                self._probe_hardware()
            # CodeCarbon would add up two folds of one name.
            self._task = uuid4().hex
            self._tracker.start_task(self._task)
        except ModuleNotFoundError as error:
            if not self._has_warned_of_missing_package:
                log.warning("folds go unmetered: %s", what_to_install(error) or error)
            self._has_warned_of_missing_package = True
            self._task = ""
        except Exception:
            # A meter that fails never fails a fold.
            log.warning("the energy meter did not start; this fold goes unmetered", exc_info=True)
            self._task = ""

    def stop(self) -> Energy:
        task = self._task
        self._task = ""
        if not task:
            return Energy.none()
        try:
            data = self._tracker.stop_task(task)
            return Energy(
                joules=data.energy_consumed * JOULES_PER_KWH,
                cpu_joules=data.cpu_energy * JOULES_PER_KWH,
                gpu_joules=data.gpu_energy * JOULES_PER_KWH,
                ram_joules=data.ram_energy * JOULES_PER_KWH,
                grams_co2e=data.energy_consumed * self._grams_per_kwh,
                source=self._source,
                memory_basis=self._memory_basis,
            )
        except Exception:
            # A meter that fails never fails a fold.
            log.warning("the energy meter did not stop; this fold goes unmetered", exc_info=True)
            self._tracker = None
            return Energy.none()

    def _probe_hardware(self) -> None:
        """Set the tracker, and the source of the energy that it will tell."""
        # The project's own logger must be quiet before the import logs, and after it sets a level.
        logging.getLogger("codecarbon").setLevel(logging.ERROR)
        from codecarbon import OfflineEmissionsTracker

        logging.getLogger("codecarbon").setLevel(logging.ERROR)
        settings = codecarbon_settings(self._grams_per_kwh, self._memory_watts)
        if _reads_a_counter():
            # A counter is used even where a wattage was given.
            self._source = "rapl"
        else:
            self._source = "cpu-load"
            settings["force_cpu_power"] = self._processor_watts
            _have_processor_looked_up_once()
        self._tracker = OfflineEmissionsTracker(**settings)
        self._tracker.get_detected_hardware()


def codecarbon_settings(grams_per_kwh: float, memory_watts: float | None) -> dict[str, Any]:
    """Every setting of a tracker that scales a figure or sends it somewhere.

    What is left to CodeCarbon's own configuration names things or says where files would be.

    Args:
        grams_per_kwh: CO2e of the electricity.
        memory_watts: The memory watts of the memory; None for what CodeCarbon supposes.
    """
    return {
        "tracking_mode": "machine",
        "pue": 1.0,
        "wue": 0.0,
        "force_cpu_power": None,
        "force_ram_power": memory_watts,
        "force_mode_cpu_load": False,
        "rapl_include_dram": False,
        "rapl_prefer_psys": False,
        "gpu_ids": None,
        "force_carbon_intensity_g_co2e_kwh": grams_per_kwh,
        "country_iso_code": None,
        "country_2letter_iso_code": None,
        "region": None,
        "cloud_provider": None,
        "cloud_region": None,
        "electricitymaps_api_token": None,
        "measure_power_secs": 15.0,
        "allow_multiple_runs": True,
        # A folder that is not there would end the tracker.
        "output_dir": tempfile.gettempdir(),
        "output_methods": [],
        "output_handlers": [],
        "emissions_endpoint": None,
        "log_level": "error",
    }


def _reads_a_counter() -> bool:
    """Whether CodeCarbon reads a power counter of the processor here; else it goes by its load.

    Asked in the order in which CodeCarbon does, for what it tells of a task does not say it.
    """
    from codecarbon.core import cpu, windows_emi

    if sys.platform == "linux":
        return bool(cpu.is_rapl_available())
    if sys.platform == "win32":
        return bool(windows_emi.is_emi_available() or cpu.is_powergadget_available())
    if sys.platform == "darwin" and platform.machine() == "x86_64":
        return bool(cpu.is_powergadget_available())
    return False


def _have_processor_looked_up_once() -> None:
    """Have CodeCarbon know the processor's name and wattage, which are looked up once a boot.

    Its table of processors takes most of a second in each process, and pandas.
    """
    from codecarbon.core import cpu, hardware_cache

    # The first call in a process makes `module.TDP()`, which reads the table, and keeps it for all
    # later ones. What an earlier process has read is therefore handed in as such a module.
    keep_processor_of: Callable[[Any], Any] = hardware_cache.get_cached_tdp
    name = f"processor, by CodeCarbon {version('codecarbon')}"
    facts = recalled(name)
    if isinstance(facts, dict) and set(facts) == {"model", "tdp"}:
        make_processor = partial(SimpleNamespace, **facts)
        keep_processor_of(SimpleNamespace(TDP=make_processor))
    else:
        processor = keep_processor_of(cpu)
        remember(name, {"model": processor.model, "tdp": processor.tdp})


LOOK_SECONDS = 0.25
"""How long the machine is watched to see whether it is idle."""
MEASURED_SECONDS = 2.0
"""How long the idle machine is measured."""


class IdlePower(NamedTuple):
    """The power of the idle machine."""

    watts: float
    source: str
    """How it is known, as `Energy.source`."""


def remembered_idle_power(settings_key: str) -> IdlePower | None:
    """What `measure_idle_power` has given under these since the machine was started."""
    with suppress(TypeError, ValueError):
        # Nothing is remembered, or something that is no power and source.
        watts, source = recalled(f"idle {settings_key}")
        return IdlePower(float(watts), str(source))
    return None


def measure_idle_power(meter: EnergyMeter, settings_key: str) -> IdlePower | None:
    """The power of the idle machine, measured by this meter.

    Args:
        meter: The meter that measures it.
        settings_key: Names the settings of the meter; the answer is remembered under it.

    Returns:
        None where the machine is not idle now, or nothing can be measured.
    """
    load_before = Load.now()
    time.sleep(LOOK_SECONDS)
    if not Load.now().is_idle_since(load_before):
        return None
    meter.start()
    load_before = Load.now()
    time.sleep(MEASURED_SECONDS)
    seconds = Load.now().clock_seconds - load_before.clock_seconds
    energy = meter.stop()
    if energy.source == "none" or not Load.now().is_idle_since(load_before):
        return None
    power = IdlePower(energy.joules / seconds, energy.source)
    remember(f"idle {settings_key}", power)
    return power


class WatchedMeter:
    """A meter that sees, too, how much other programs use the machine meanwhile."""

    def __init__(
        self, meter: EnergyMeter, *, machine_shared: bool = False, settings_key: str = ""
    ) -> None:
        """Nothing is measured yet.

        Args:
            machine_shared: Whether folds of other programs may run meanwhile.
            settings_key: Names the settings of the meter; the power of the idle machine is
                remembered under it. Empty for not at all.
        """
        self._meter = meter
        self._machine_shared = machine_shared
        self._settings_key = settings_key
        self._load_at_start = Load.now()
        self._load_at_last_stop = self._load_at_start
        self._idle_power: IdlePower | None = None
        """The power of the idle machine; None while it is not known."""
        self._try_again_at = 0.0
        """The time, by `time.monotonic`, from which the idle machine may be measured once more."""
        self._seconds_of_all_folds = 0.0
        """The seconds that all folds have taken so far."""

    def start(self) -> None:
        """Begin measuring; before that the idle machine, where that is not known and pays."""
        if self._idle_power is None and self._settings_key:
            remembered = remembered_idle_power(self._settings_key)
            self._idle_power = remembered or self._try_to_measure_idle_power()
        self._meter.start()
        self._load_at_start = Load.now()

    def stop(self) -> Energy:
        """End measuring, with the share of other programs in `other_work`."""
        load = Load.now()
        energy = self._meter.stop()
        seconds = load.clock_seconds - self._load_at_start.clock_seconds
        load_before = self._load_at_start
        # What other programs do cannot be told from a short time. For a short fold, the time since
        # the fold before it ended counts as well.
        seconds_since_last_stop = load.clock_seconds - self._load_at_last_stop.clock_seconds
        if seconds < SHORT_SECONDS and seconds_since_last_stop < MOST_LOOKED_BACK_SECONDS:
            load_before = self._load_at_last_stop
        self._load_at_last_stop = load
        self._seconds_of_all_folds += seconds
        return replace(
            energy,
            other_work=load.share_of_others_since(load_before),
            machine_shared=self._machine_shared,
            idle_joules=self._idle_joules(energy.source, seconds),
        )

    def _idle_joules(self, source: str, seconds: float) -> float | None:
        """What the idle machine uses in this time; None where this source has not measured it."""
        if self._idle_power is None or self._idle_power.source != source:
            return None
        return self._idle_power.watts * seconds

    def _try_to_measure_idle_power(self) -> IdlePower | None:
        """As `measure_idle_power`; None where it was tried just now, or folds were too short."""
        if self._seconds_of_all_folds < LONG_SECONDS or time.monotonic() < self._try_again_at:
            return None
        self._try_again_at = time.monotonic() + IDLE_RETRY_SECONDS
        return measure_idle_power(self._meter, self._settings_key)


LONG_SECONDS = 10.0
"""The idle machine is measured once folds have taken so long, when two seconds matter little."""
IDLE_RETRY_SECONDS = 60.0
"""How long a meter waits before it tries again to find the machine idle."""
MOST_LOOKED_BACK_SECONDS = 2.0
"""How far before the end of a short fold other programs are looked at as well."""
SHORT_SECONDS = 0.5
"""A fold that took less is too short to tell other work from noise."""
