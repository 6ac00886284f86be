"""What the documents name is there: links, files, commands, modules and layers."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from ecv_core import cli
from tests.documents import (
    DOCUMENTS,
    EXTENDING,
    LIBRARY,
    ROOT,
    YOUR_DATA,
    YOUR_MODEL,
    blocks,
    shell_lines,
)

RECORDED_README = ROOT / "data" / "recorded" / "README.md"


def relative_links(document: Path) -> list[str]:
    text = re.sub(r"^```.*?^```$", "", document.read_text("utf-8"), flags=re.M | re.S)
    links = re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", text) + re.findall(
        r'(?:src|href)="([^"]+)"', text
    )
    return [link for link in links if not re.match(r"\w+:", link)]


def anchors(document: Path) -> set[str]:
    """The anchors that GitHub gives the headings."""
    headings = re.findall(r"^#+ (.+)$", document.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_relative_link_and_image_is_there(document: Path) -> None:
    broken = []
    for link in relative_links(document):
        name, _, anchor = link.partition("#")
        target = document.parent / name if name else document
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_and_folder_that_is_named_is_there(document: Path) -> None:
    pages = (EXTENDING, LIBRARY, YOUR_DATA, YOUR_MODEL)
    added = {block.path for page in pages for block in blocks(page)}
    named = re.findall(
        r"`((?:ecv_core|pages|data|docs|tests|scripts|benchmarks)/[\w./-]*)`",
        document.read_text("utf-8"),
    )
    made = ("data/downloads", "data/runs.sqlite")
    missing = [
        name
        for name in named
        if name not in added and not name.startswith(made) and not (ROOT / name).exists()
    ]
    assert missing == []


def commands(document: Path) -> list[str]:
    """Every command that a document quotes: in blocks, indented, or in a sentence."""
    text = document.read_text("utf-8")
    lines = [line.strip() for line in text.splitlines()]
    quoted = re.findall(r"`([^`\n]+)`", text)
    return [
        line
        for line in (*lines, *quoted)
        if re.match(r"(python -m (ecv_core|benchmarks)|make )", line)
    ]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_that_is_quoted_can_be_given(document: Path) -> None:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M)
    for command in commands(document):
        words = shlex.split(command, comments=True)
        if words[0] == "make":
            assert next(word for word in words[1:] if "=" not in word) in targets, command
        elif words[2] == "ecv_core" and words[3:] and command not in shell_lines(EXTENDING):
            cli.parse(words[3:])
        elif words[2].startswith("benchmarks."):
            assert (ROOT / words[2].replace(".", "/")).with_suffix(".py").exists(), command


@pytest.mark.parametrize(
    "document", [*DOCUMENTS, RECORDED_README], ids=lambda path: str(path.relative_to(ROOT))
)
def test_every_benchmark_that_is_named_is_there(document: Path) -> None:
    named = set(re.findall(r"\bbenchmarks[./](\w+)", document.read_text("utf-8"))) - {"README"}
    assert {name for name in named if not (ROOT / "benchmarks" / f"{name}.py").exists()} == set()


def test_the_readme_is_short_and_names_every_command_of_make() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert len(text.splitlines()) < 120
    for target in ("run", "test", "test-all", "check", "bench"):
        assert f"make {target}" in text


def test_the_architecture_has_every_module_and_the_layers_that_are_enforced() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    where, layers = text.split("## Who may import whom")
    modules = {
        path.stem
        for path in (ROOT / "ecv_core").iterdir()
        if (path.suffix == ".py" or (path / "__init__.py").exists()) and path.stem[0] != "_"
    }
    assert {
        name for name in modules if not re.search(rf"`ecv_core/{name}(\.py|/)`", where)
    } == set()
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    enforced = next(c["layers"] for c in contracts["contracts"] if c.get("containers"))
    shown = [re.findall(r"`(\w+)`", row) for row in re.findall(r"^\| \d.*$", layers, re.M)]
    assert shown == [re.split(" [|:] ", layer) for layer in enforced]
