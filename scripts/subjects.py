"""Are the subjects of commits as CONTRIBUTING has them: `area: imperative summary`?

python scripts/subjects.py                  of the commits since the last tag
python scripts/subjects.py --message FILE   of one that is being written
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

LONGEST = 72
_FORM = re.compile(r"[a-z0-9][\w .,/-]*: \S.*[^.]")
_OF_GIT = ("Merge ", "Revert ", "fixup! ", "squash! ")


def wrong_with(subject: str) -> str:
    """What is wrong with a subject; empty where nothing is."""
    if subject.startswith(_OF_GIT):
        return ""
    if len(subject) > LONGEST:
        return f"has {len(subject)} characters, and at most {LONGEST} are read in a list"
    if not _FORM.fullmatch(subject):
        return "is not 'area: imperative summary', without a full stop"
    return ""


def subjects_since_tag() -> list[str]:
    """The subjects of the commits since the last tag, or of the last hundred without one."""
    tag = subprocess.run(
        ["git", "describe", "--tags", "--abbrev=0"], capture_output=True, text=True, check=False
    ).stdout.strip()
    commits = ["-100"]
    if tag:
        commits = [f"{tag}..HEAD"]
    log = subprocess.run(
        ["git", "log", "--format=%s", *commits], capture_output=True, text=True, check=True
    )
    return log.stdout.splitlines()


def main() -> int:
    """Say which subjects are wrong; 1 where one is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--message", type=Path, metavar="FILE")
    options = parser.parse_args()
    if options.message:
        subjects = options.message.read_text("utf-8").splitlines()[:1]
    else:
        subjects = subjects_since_tag()
    count = 0
    for subject in subjects:
        reason = wrong_with(subject)
        if reason:
            count += 1
            print(f"'{subject}' {reason}", file=sys.stderr)
    return min(count, 1)


if __name__ == "__main__":
    sys.exit(main())
