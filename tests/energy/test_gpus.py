"""GPU seconds by NVML: an emulated library, for no GPU is here."""

import os
import sys
import time
from types import SimpleNamespace

import pytest

from ecv_core.energy import real_meters as metering
from ecv_core.energy.meter import NoMeter
from ecv_core.energy.real_meters import GpuMeter, Gpus


class NotFound(Exception):
    """As NVML says that no process has computed."""


class Nvml:
    """As pynvml: two GPUs, whose processes compute for a percent of the time."""

    NVMLError_NotFound = NotFound

    def __init__(self, *percents):
        self.percents, self.asked = percents, 0

    def nvmlInit(self):
        pass

    def nvmlDeviceGetCount(self):
        return len(self.percents)

    def nvmlDeviceGetHandleByIndex(self, at):
        return at

    def nvmlDeviceGetProcessUtilization(self, at, seen):
        self.asked += 1
        if not self.percents[at]:
            raise NotFound
        now = time.time_ns() // 1000
        return [
            SimpleNamespace(pid=pid, timeStamp=now, smUtil=percent)
            for pid, percent in self.percents[at].items()
        ]


def spent(monkeypatch, *percents, seconds=0.5):
    """GPU seconds of a fold, and how long it took."""
    monkeypatch.setitem(sys.modules, "pynvml", Nvml(*percents))
    # However late a busy machine lets it be asked, its samples cover the time before.
    monkeypatch.setattr(metering, "_SAMPLE_MICROSECONDS", 3_600_000_000)
    meter = GpuMeter(NoMeter(), Gpus(), 0.1)
    meter.start()
    time.sleep(seconds)
    found = meter.stop().gpu_seconds
    begin, end = meter._sampler.span
    return found, end - begin


def test_gpu_seconds_are_those_of_ones_own_processes_over_all_gpus(monkeypatch):
    me, other = os.getpid(), 1
    found, took = spent(monkeypatch, {me: 50, other: 90}, {me: 30})
    assert found == pytest.approx(0.8 * took, rel=0.25)  # 50 % of one GPU and 30 % of the other


def test_where_nobody_or_only_others_compute_they_are_none(monkeypatch):
    assert spent(monkeypatch, {}, {1: 99}, seconds=0.1)[0] == 0


def test_a_cuda_whose_processes_nvml_calls_otherwise_is_not_known(monkeypatch):
    cuda = SimpleNamespace(is_initialized=lambda: True)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    assert spent(monkeypatch, {4711: 99}, seconds=0.1)[0] is None


def test_a_sample_counts_for_a_second_at_most(monkeypatch):
    """After a pause of an hour: NVML says what was in its own last second."""
    nvml = Nvml({os.getpid(): 100})
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    gpus = Gpus()
    before, _ = gpus.read()
    gpus._gpus_seen_until = [(0, time.time_ns() // 1000 - 3_600_000_000)]
    after, unit = gpus.read()
    assert (after - before, unit) == (pytest.approx(1.0), "s")


@pytest.mark.parametrize("nvml", [None, Nvml()], ids=["no library", "no GPU"])
def test_without_a_gpu_they_are_not_known(monkeypatch, nvml):
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    metering._gpus.cache_clear()
    assert metering._gpus() is None
    metering._gpus.cache_clear()
