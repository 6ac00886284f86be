"""What a run was computed on."""

import sys
from importlib.machinery import ModuleSpec
from types import SimpleNamespace

import pytest

from ecv_core.figures.report.run_report import machine_words
from ecv_core.store import environment as module
from ecv_core.store.environment import environment


class NoDriver(Exception):
    pass


def fake(monkeypatch: pytest.MonkeyPatch, torch: str, *, found: bool) -> None:
    def start() -> None:
        if not found:
            raise NoDriver

    nvml = SimpleNamespace(
        __spec__=ModuleSpec("pynvml", None),
        NVMLError=NoDriver,
        nvmlInit=start,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetName=lambda handle: ["Big GPU"][handle],
    )
    versions = {"torch": torch}
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    monkeypatch.setattr(module, "version", lambda name: versions.get(name, "1"))


def test_the_gpu_is_named_where_torch_can_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch, "2.13.0+cu130", found=True)
    assert environment()["gpu"] == "Big GPU"
    assert machine_words(environment()).endswith(" GiB, Big GPU")


@pytest.mark.parametrize(("torch", "found"), [("2.13.0+cpu", True), ("2.13.0", False)])
def test_none_where_it_is_not_used(
    torch: str, found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(monkeypatch, torch, found=found)
    assert environment()["gpu"] is None
    assert machine_words(environment()).endswith(" GiB")
