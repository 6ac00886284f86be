"""The lowest versions that pyproject.toml allows, as constraints for pip: `numpy==2.1`."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
_RANGE = re.compile(r"(?P<name>[\w.-]+)(?:\[.*\])?>=(?P<lowest>[\d.]+)")


def main() -> None:
    """Print a line for each dependency that has a lowest version, of the core and of extras."""
    project = tomllib.loads(PROJECT.read_text("utf-8"))["project"]
    dependencies = list(project["dependencies"])
    for extra in project["optional-dependencies"].values():
        dependencies += extra
    constraints = set()
    for dependency in dependencies:
        match = _RANGE.match(dependency)
        if match:
            constraints.add(f"{match['name']}=={match['lowest']}")
    print(*sorted(constraints), sep="\n")


if __name__ == "__main__":
    main()
