"""Begin a release: what changed under its version, the version in one place, and a commit.

    python scripts/release.py 0.3.0

`make release` builds and tries that commit, and gives it a tag where all went well.

Each change that a user notices is a file of its own in changes/, such as changes/gate.md, with one
or more lines that begin with '- ': nobody edits the same line of CHANGELOG.md. Here they become the
section of the version. What only a person can do comes after: see CONTRIBUTING.md, A release.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
CHANGES = ROOT / "changes"
CHANGELOG = ROOT / "CHANGELOG.md"
VERSION = ROOT / "ecv_core" / "records" / "__init__.py"
CITATION = ROOT / "CITATION.cff"
_FORM = re.compile(r"\d+\.\d+\.\d+")
_VERSION_LINE = re.compile(r'^__version__ = ".*"$', re.MULTILINE)


def section(version: str, day: str, fragments: list[str], unreleased: str) -> str:
    """The section of a version, with the lines of the fragments after those that are there.

    Args:
        version: such as '0.3.0'.
        day: on which it is released.
        fragments: texts of the files in changes/.
        unreleased: what CHANGELOG.md has under Unreleased.
    """
    lines = [text.strip() for text in (unreleased, *fragments) if text.strip()]
    return f"## {version} ({day})\n\n" + "\n".join(lines) + "\n"


def with_section(changelog: str, version: str, day: str, fragments: list[str]) -> str:
    """CHANGELOG.md with the section of a version above all older ones, and nothing unreleased.

    Raises: ValueError where it has no section called Unreleased, or one of this version already.
    """
    if f"\n## {version} " in changelog:
        raise ValueError(
            f"CHANGELOG.md has a section '## {version}' already; choose a later version"
        )
    head, mark, below = changelog.partition("## Unreleased\n")
    if not mark:
        raise ValueError("CHANGELOG.md has no section '## Unreleased'")
    start = re.search(r"^## ", below, re.MULTILINE)
    end = len(below)
    if start is not None:
        end = start.start()
    new = section(version, day, fragments, below[:end])
    return f"{head}{mark}\n{new}\n{below[end:]}".rstrip() + "\n"


def main() -> int:
    """Write and commit; 2 for a version that is none or was there, or a tree that is not clean."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("version", help="such as 0.3.0")
    version = parser.parse_args().version
    if not _FORM.fullmatch(version):
        print(f"'{version}' is no version; write it as 0.3.0", file=sys.stderr)
        return 2
    if _git("status", "--porcelain"):
        print("there are changes that are not committed; commit them first", file=sys.stderr)
        return 2
    day = f"{datetime.now(UTC):%Y-%m-%d}"
    files = sorted(path for path in CHANGES.glob("*.md") if path.name != "README.md")
    fragments = [path.read_text("utf-8") for path in files]
    try:
        changelog = with_section(CHANGELOG.read_text("utf-8"), version, day, fragments)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    CHANGELOG.write_text(changelog, "utf-8")
    _replace(VERSION, _VERSION_LINE, f'__version__ = "{version}"')
    _replace(CITATION, re.compile(r"^version: .*$", re.MULTILINE), f"version: {version}")
    _replace(CITATION, re.compile(r"^date-released: .*$", re.MULTILINE), f"date-released: {day}")
    for path in files:
        path.unlink()
    _git("commit", "--all", "--message", f"release: {version}")
    return 0


def _replace(path: Path, pattern: re.Pattern[str], line: str) -> None:
    path.write_text(pattern.sub(line, path.read_text("utf-8")), "utf-8")


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
