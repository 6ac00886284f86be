"""Locks: all that pyproject.toml asks for, in versions that it allows, with hashes."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
LOCKS = ["run", "light", "dev", "docs"]


def _locked(name: str) -> list[Requirement]:
    """The packages of locks/NAME.txt; one may be there twice, for older and newer Pythons."""
    return _pinned(ROOT / "locks" / f"{name}.txt")


def _pinned(path: Path) -> list[Requirement]:
    text = path.read_text("utf-8")
    requirements = []
    for line in re.findall(r"^[a-z0-9].*==.*$", text, re.MULTILINE):
        requirements.append(Requirement(line.removesuffix("\\")))
    return requirements


def _versions(name: str) -> dict[str, str]:
    """Package -> its version on this machine; torch is beside the locks."""
    versions = {}
    for requirement in [*_locked(name), *_pinned(ROOT / "requirements.txt")]:
        if requirement.marker is None or requirement.marker.evaluate():
            (specifier,) = requirement.specifier
            versions[canonicalize_name(requirement.name)] = specifier.version
    return versions


def _with_extras(texts: list[str]) -> list[Requirement]:
    """Requirements of pyproject.toml, with those of e-fold[...] in their place."""
    requirements = []
    for text in texts:
        requirement = Requirement(text)
        if requirement.name == "e-fold":
            for extra in requirement.extras:
                requirements += _with_extras(EXTRAS[extra])
        else:
            requirements.append(requirement)
    return requirements


def _not_allowed(requirements: list[Requirement], versions: dict[str, str]) -> list[str]:
    """Requirements that the versions lack or do not meet; those for other systems do not count."""
    faults = []
    for requirement in requirements:
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        version = versions.get(canonicalize_name(requirement.name))
        if version is None or not requirement.specifier.contains(version, prereleases=True):
            faults.append(f"{requirement}: {version}")
    return faults


def _of_user(extra: str) -> list[str]:
    return [*PROJECT["project"]["dependencies"], *EXTRAS[extra]]


def _of_contributor() -> list[str]:
    texts = [*PROJECT["project"]["dependencies"], *PROJECT["dependency-groups"]["dev"]]
    for extra in EXTRAS.values():
        texts += extra
    return texts


@pytest.mark.parametrize(
    ("lock", "texts"),
    [
        ("run", _of_user("dashboard")),
        ("light", _of_user("light")),
        ("dev", _of_contributor()),
        ("docs", PROJECT["dependency-groups"]["docs"]),
    ],
)
def test_a_lock_has_what_pyproject_asks_for_in_versions_that_it_allows(
    lock: str, texts: list[str]
) -> None:
    assert _not_allowed(_with_extras(texts), _versions(lock)) == [], "run: make lock"


@pytest.mark.parametrize("lock", ["run", "light", "dev"])
def test_a_lock_has_what_its_packages_need_as_pip_looks_for_no_others(lock: str) -> None:
    versions = _versions(lock)
    faults = []
    for package in versions:
        if package == "torch":
            continue  # what it needs, pip looks for
        try:
            texts = distribution(package).requires or []
        except PackageNotFoundError:
            continue  # one of dev alone, where only the dashboard is installed
        faults += _not_allowed([Requirement(text) for text in texts], versions)
    assert faults == [], "run: make lock"


def test_contributors_have_the_versions_of_users() -> None:
    assert _versions("light").items() <= _versions("run").items() <= _versions("dev").items()


@pytest.mark.parametrize("lock", LOCKS)
def test_every_package_has_hashes_and_no_index_is_named(lock: str) -> None:
    text = (ROOT / "locks" / f"{lock}.txt").read_text("utf-8")
    packages = re.findall(r"^[a-z0-9].*==.* \\\n    --hash=sha256:[0-9a-f]{64}", text, re.MULTILINE)
    assert len(packages) == len(_locked(lock)) > 0
    assert "//" not in text
    assert "index" not in text
