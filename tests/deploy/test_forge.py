"""What a forge reads: workflows that call make and nothing else, and subjects of commits."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_targets_of_the_makefile_and_nothing_else(workflow):
    commands = re.findall(r"^ *- run: (.+)$", workflow.read_text("utf-8"), re.MULTILINE)
    for command in commands:
        make, *targets = command.split()
        assert make == "make"
        assert set(targets) <= set(TARGETS)


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        ("runs: run the remaining folds of all picked runs at once", ""),
        ("Merge branch 'main'", ""),
        ("runs: x" + "x" * 70, "has 77 characters"),
        ("did some things", "is not 'area: imperative summary'"),
        ("runs: say what is meant.", "is not 'area: imperative summary'"),
    ],
)
def test_the_subject_of_a_commit_names_its_area(tmp_path, subject, words):
    message = tmp_path / "message"
    message.write_text(f"{subject}\n\nA body of any length.\n")
    script = [sys.executable, ROOT / "scripts" / "subjects.py", "--message", message]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == bool(words)
    assert words in done.stderr


def test_a_release_has_its_fragments_in_a_section_of_its_own():
    from scripts.release import with_section

    changelog = "# Changelog\n\n## Unreleased\n\n- written here\n\n## 0.1.0 (2026-01-01)\n\n- old\n"
    assert with_section(changelog, "0.2.0", "2026-11-27", ["- one\n", "\n- two\n- three\n"]) == (
        "# Changelog\n\n## Unreleased\n\n"
        "## 0.2.0 (2026-11-27)\n\n- written here\n- one\n- two\n- three\n\n"
        "## 0.1.0 (2026-01-01)\n\n- old\n"
    )
    with pytest.raises(ValueError, match="Unreleased"):
        with_section("# Changelog\n", "0.2.0", "2026-11-27", [])
    with pytest.raises(ValueError, match=r"0\.1\.0"):
        with_section(changelog, "0.1.0", "2026-11-27", [])
