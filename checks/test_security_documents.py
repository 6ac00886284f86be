"""What docs/security.md and docs/deploy.md promise has a test, and the tests named are there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = set(
    re.findall(
        r"^def (test_\w+)",
        "\n".join(
            path.read_text("utf-8")
            for folder in ("tests", "checks")
            for path in (ROOT / folder).rglob("test_*.py")
        ),
        re.MULTILINE,
    )
)
SECURITY = (ROOT / "docs" / "security.md").read_text("utf-8")
DEPLOY = (ROOT / "docs" / "deploy.md").read_text("utf-8")
PROMISES = tomllib.loads((ROOT / "tests" / "deploy" / "promises.toml").read_text("utf-8"))

LEVEL_ONE = {
    **{"1.2": 5, "1.3": 2, "1.5": 1, "2.1": 1, "2.2": 2, "2.3": 1, "3.2": 2, "3.3": 1, "3.4": 2},
    **{"3.5": 3, "4.1": 1, "4.4": 1, "5.2": 2, "5.3": 2, "6.1": 1, "6.2": 8, "6.3": 2, "6.4": 2},
    **{"7.2": 4, "7.4": 2, "8.1": 1, "8.2": 2, "8.3": 1, "9.1": 3, "9.2": 1, "10.4": 5, "11.3": 2},
    **{"11.4": 1, "12.1": 1, "12.2": 2, "13.4": 1, "14.2": 1, "14.3": 1, "15.1": 1, "15.2": 1},
    "15.3": 1,
}
"""Section of ASVS 5.0.0 -> how many of its questions are of level 1, the first ones: 70 in all."""


def test_every_question_of_level_one_has_one_answer_and_its_tests_are_there() -> None:
    asked = [f"{section}.{at + 1}" for section, count in LEVEL_ONE.items() for at in range(count)]
    assert len(asked) == 70
    rows = [line.split("|")[1:-1] for line in SECURITY.splitlines() if re.match(r"\| \d", line)]
    answered = [number.strip() for row in rows for number in row[0].split(",")]
    assert sorted(answered) == sorted(asked)
    for row in rows:
        named = re.findall(r"`(test_\w+)`", row[3])
        assert TESTS.issuperset(named), row
        assert named or "**" in row[2], f"{row[0]} has neither a test nor says that it is open"


def test_every_test_that_is_named_is_there() -> None:
    assert TESTS.issuperset(re.findall(r"`(test_\w+)`", SECURITY))


def promised() -> dict[str, list[str]]:
    """Heading of docs/deploy.md -> its sentences, a row of a table being one; no code."""
    text = re.sub(r"^```.*?^```$", "", DEPLOY, flags=re.M | re.S)
    found: dict[str, list[str]] = {}
    for part in re.split(r"^#+ ", text, flags=re.M)[1:]:
        heading, _, body = part.partition("\n")
        rows = [line for line in body.splitlines() if re.match(r"\| (?!---)", line)]
        prose = " ".join(line for line in body.splitlines() if not line.startswith("|"))
        sentences = [one.strip() for one in re.split(r"(?<=[.:;?])\s+(?=[A-Z`\[])", prose)]
        found[heading] = [one for one in [*sentences, *rows] if one]
    return found


def test_every_sentence_about_letting_others_in_has_a_test_or_says_whose_it_is() -> None:
    """A sentence that is new or changed has none yet: give it one in promises.toml."""
    known = {begin: by for part in PROMISES.values() for begin, by in part.items()}
    used = set()
    missing = []
    for heading, sentences in promised().items():
        for sentence in sentences:
            begin = next((one for one in known if sentence.startswith(one)), None)
            if begin is None:
                missing.append((heading, sentence))
                continue
            used.add(begin)
            named = re.findall(r"test_\w+", known[begin])
            assert TESTS.issuperset(named), (sentence, known[begin])
            assert named or known[begin].startswith("of "), sentence
    assert missing == []
    assert set(known) == used, "promises.toml has sentences that the document has not"
