"""CodeCarbon on a machine that has a power counter or a GPU, both faked where it reads them."""

import time
from types import SimpleNamespace

import pytest

from ecv_core.energy.meter import CodeCarbonMeter
from ecv_core.energy.real_meters import _meter, meter_for
from ecv_core.fold.spec import make_spec
from ecv_core.records.errors import InputError

RAPL = "/sys/class/powercap/intel-rapl/subsystem"


@pytest.fixture(autouse=True)
def hardware_not_remembered():
    """CodeCarbon keeps what it found for the whole process."""
    from codecarbon.core import hardware_cache

    hardware_cache.clear_cache()
    _meter.cache_clear()
    yield
    hardware_cache.clear_cache()
    _meter.cache_clear()


@pytest.fixture
def counter(tmp_path, monkeypatch):
    """A package counter as Linux shows it, in microjoules, in a folder of our own."""
    from codecarbon.core import cpu

    domain = tmp_path / "subsystem" / "intel-rapl" / "intel-rapl:0"
    domain.mkdir(parents=True)
    (domain / "name").write_text("package-0")
    (domain / "energy_uj").write_text("1000000")
    (domain / "max_energy_range_uj").write_text("262143328850")
    found = [str(tmp_path / "subsystem")]
    monkeypatch.setattr(cpu, "_get_candidate_bases", lambda rapl_dir: found)
    real = cpu.os.path.exists
    monkeypatch.setattr(cpu.os.path, "exists", lambda path: path == RAPL or real(path))
    return domain / "energy_uj"


def joules_of(meter, during=lambda: None, seconds=0.2):
    meter.start()
    during()
    time.sleep(seconds)
    return meter.stop()


def test_a_readable_counter_is_read_and_nothing_is_assumed_of_the_processor(counter):
    meter = CodeCarbonMeter("DEU")
    found = joules_of(meter, lambda: counter.write_text("8000000"))
    assert found.source == "rapl"
    assert found.cpu_joules == pytest.approx(7, abs=0.01)  # from 1 J to 8 J


def test_a_given_wattage_does_not_replace_the_counter(counter):
    meter = CodeCarbonMeter("DEU", processor_watts=500)
    found = joules_of(meter, lambda: counter.write_text("8000000"))
    assert (found.source, found.cpu_joules) == ("rapl", pytest.approx(7, abs=0.01))


def test_given_wattages_are_what_is_counted_without_a_counter():
    begin = time.perf_counter()
    found = joules_of(CodeCarbonMeter("DEU", processor_watts=1000, memory_watts=700), seconds=0.4)
    seconds = found.ram_joules / 700
    assert 0.3 < seconds <= time.perf_counter() - begin
    assert found.source == "cpu-load"
    # 1000 W x (0.1 + 0.9 x load^3), CodeCarbon's curve: from 100 W when idle to 1000 W
    assert 99 * seconds < found.cpu_joules < 1001 * seconds


def test_a_gpu_with_an_energy_counter_is_read(monkeypatch):
    from codecarbon.core import gpu, gpu_nvidia, resource_tracker

    nvml = SimpleNamespace(
        NVMLError=OSError,
        NVMLError_NotSupported=OSError,
        NVML_TEMPERATURE_GPU=0,
        nvmlInit=lambda: None,
        nvmlDeviceGetCount=lambda: 1,
        nvmlDeviceGetHandleByIndex=lambda at: at,
        nvmlDeviceGetName=lambda handle: "Fake GPU",
        nvmlDeviceGetUUID=lambda handle: "GPU-0",
        nvmlDeviceGetTotalEnergyConsumption=lambda handle: now["millijoules"],
        nvmlDeviceGetPowerUsage=lambda handle: 40_000,
        nvmlDeviceGetEnforcedPowerLimit=lambda handle: 300_000,
        nvmlDeviceGetMemoryInfo=lambda handle: SimpleNamespace(total=1, free=1, used=0),
        nvmlDeviceGetTemperature=lambda handle, which: 30,
        nvmlDeviceGetUtilizationRates=lambda handle: SimpleNamespace(gpu=50),
        nvmlDeviceGetComputeMode=lambda handle: 0,
        nvmlDeviceGetComputeRunningProcesses=lambda handle: [],
        nvmlDeviceGetGraphicsRunningProcesses=lambda handle: [],
    )
    now = {"millijoules": 5_000}
    monkeypatch.setattr(gpu_nvidia, "pynvml", nvml)
    monkeypatch.setattr(gpu, "PYNVML_AVAILABLE", True)
    monkeypatch.setattr(gpu, "is_nvidia_system", lambda: True)
    assert resource_tracker.gpu is gpu
    found = joules_of(CodeCarbonMeter("DEU"), lambda: now.update(millijoules=17_000))
    assert found.gpu_joules == pytest.approx(12, abs=0.01)  # from 5 J to 17 J


def test_a_run_takes_its_wattages_to_the_meter_and_equal_runs_share_one():
    spec = make_spec(
        dataset="synthetic", algorithm="popular", processor_watts=65.0, memory_watts=4.0
    )
    meter = meter_for(spec)
    found = joules_of(meter)
    seconds = found.ram_joules / 4
    assert 6.4 * seconds < found.cpu_joules < 66 * seconds  # a tenth of 65 W when idle, as above
    assert meter_for(spec) is meter


@pytest.mark.parametrize(
    ("watts", "said"),
    [
        ({"processor_watts": 0}, "processor watts must be between 0 and 10000, but is 0"),
        ({"memory_watts": -1}, "memory watts must be between 0 and 10000, but is -1"),
    ],
)
def test_a_wattage_that_cannot_be_is_refused(watts, said):
    with pytest.raises(InputError, match=said):
        make_spec(dataset="synthetic", algorithm="popular", **watts)
