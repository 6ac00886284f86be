"""The container file names what the project has; building it is for scripts/try-container."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STEPS = (ROOT / "deploy" / "Containerfile").read_text("utf-8")
LET_IN = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text("utf-8"), re.MULTILINE)


def copied() -> list[str]:
    """What is copied from the project, and not from an earlier stage."""
    paths = []
    for line in re.findall(r"^COPY (?!--from)(.+)$", STEPS, re.MULTILINE):
        words = [word for word in line.split() if not word.startswith("--")]
        paths += words[:-1]
    return paths


def test_what_the_container_file_copies_is_there_and_let_in() -> None:
    assert "app.py" in copied()
    for path in copied():
        assert (ROOT / path).exists()
        assert path in LET_IN
