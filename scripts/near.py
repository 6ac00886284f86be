"""Run the tests of what was changed: those beside it, and those that name it.

    python scripts/near.py           since the commit that main and HEAD share
    python scripts/near.py COMMIT    since another one

For `ecv_core/stopping/efold.py` that is `tests/stopping`, and every test that imports the module.
What is far away may fail all the same: before a change lands, `make test` has the last word.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
OF_FILES = {
    "data/catalogue.toml": "tests/dataset",
    "data/papers.toml": "tests/papers",
    "pages/shared/base/glossary.toml": "tests/pages/test_glossary.py",
}
"""Files that are no modules -> the tests that are about them."""


def changed_since(commit: str) -> list[Path]:
    """The files that differ from a commit, those that git does not know yet among them."""
    paths: list[Path] = []
    for command in (
        ["git", "diff", "--name-only", commit],
        ["git", "ls-files", "--others", "--exclude-standard"],
    ):
        output = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
        paths += [Path(line) for line in output.stdout.splitlines()]
    return paths


def tests_of(path: Path) -> set[Path]:
    """The test files and folders that are near a changed file."""
    if path.parts[0] == "tests":
        if path.name.startswith("test_") and (ROOT / path).is_file():
            return {path}
        return set()
    if path.as_posix() in OF_FILES:
        return {Path(OF_FILES[path.as_posix()])}
    if path.suffix != ".py" or path.parts[0] not in ("ecv_core", "pages"):
        return set()
    near: set[Path] = set()
    room = Path("tests", *path.parts[1:2])
    if path.parts[0] == "pages":
        room = Path("tests", "pages")
        near.update(test.relative_to(ROOT) for test in TESTS.glob(f"pages/test_{path.parts[1]}*"))
    elif (ROOT / room).is_dir():
        near.add(room)
    module = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
    parent, _, name = module.rpartition(".")
    for test in TESTS.rglob("test_*.py"):
        if test.is_relative_to(TESTS / "browser"):
            continue
        text = test.read_text("utf-8")
        ways = (f"{module} import", f"import {module}", f"from {parent} import {name}\n")
        if any(way in text for way in ways):
            near.add(test.relative_to(ROOT))
    return near


def main() -> int:
    """Run them; gives pytest's exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commit", nargs="?", default="")
    options = parser.parse_args()
    commit = options.commit
    if not commit:
        merge_base = ["git", "merge-base", "main", "HEAD"]
        shared = subprocess.run(merge_base, capture_output=True, text=True, check=True, cwd=ROOT)
        commit = shared.stdout.strip()
    near: set[Path] = set()
    changed = changed_since(commit)
    for path in changed:
        near |= tests_of(path)
    if any(path.parts[0] == "pages" for path in changed):
        print(
            "pages changed: `make test ARGS=tests/browser` opens them in a browser, this does not"
        )
    if not near:
        print("nothing was changed that tests are near to")
        return 0
    names = sorted(map(str, near))
    print(*names, sep="\n")
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not slow", *names]
    return subprocess.run(command, check=False, cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
