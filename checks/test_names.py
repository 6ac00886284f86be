"""Names: rules are named in one room, colours in one module, and a class has a name of its own."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from ecv_core.stopping import RULES

ROOT = Path(__file__).resolve().parents[1]
MODULES = {
    path.relative_to(ROOT).as_posix(): path
    for path in [
        ROOT / "app.py",
        *(ROOT / "ecv_core").rglob("*.py"),
        *(ROOT / "pages").rglob("*.py"),
    ]
}
TEACHING = {
    "pages/learn/material/recorded_runs.py",
    "pages/learn/material/misleading_scores.py",
    "pages/learn/rule.py",
}
"""They tell of the paper's rule."""
MAY_NAME = TEACHING | {
    "ecv_core/__init__.py",  # the public library offers their classes
    "ecv_core/records/spec.py",  # the rule where nobody asks for another
}
ELSEWHERE = {
    "precision": {
        "ecv_core/evaluation/formulas.py",  # a metric
        "ecv_core/evaluation/metrics.py",
        "ecv_core/selection/tuning/metrics_study.py",
        "ecv_core/bridges/bridge.py",
        "ecv_core/bridges/script.py",
    },
    "e-fold": {
        "ecv_core/figures/report/pictures.py",
        "ecv_core/bridges/bridge.py",
        "ecv_core/jobs/cluster/executor.py",
        "ecv_core/jobs/cluster/node.py",
        "ecv_core/store/imports.py",
        "pages/home/home.py",  # the method
        "pages/folds/folds.py",
        "pages/replay/race.py",
        "pages/shared/live/person.py",
        "pages/shared/widgets/tables.py",
    },
}
"""What an id of a rule means in another subject."""


@cache
def _tree(name: str) -> ast.AST:
    return ast.parse(MODULES[name].read_text("utf-8"))


def _named(tree: ast.AST) -> Iterator[str]:
    """Classes and modules of rules that are imported or looked up, and ids that are written."""
    own = [rule for rule in RULES.values() if rule.kind.__module__.startswith("ecv_core.stopping.")]
    classes = {rule.kind.__name__ for rule in own}
    homes = {rule.kind.__module__ for rule in own}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ecv_core.stopping"):
            yield from classes.intersection(alias.name for alias in node.names)
            yield from homes.intersection([node.module or ""])
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id == "stopping":
                yield from classes.intersection([node.attr])
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from (
                rule for rule in RULES if node.value == rule or f"rule '{rule}'" in node.value
            )


@pytest.mark.slow
def test_no_module_outside_the_rules_names_one_but_those_that_teach_the_papers() -> None:
    found = defaultdict(set)
    for name in MODULES:
        if not name.startswith("ecv_core/stopping/"):
            for word in _named(_tree(name)):
                if name not in MAY_NAME | ELSEWHERE.get(word, set()):
                    found[name].add(word)
    assert not found, "ask ecv_core.stopping what you want to know of the rule, not which it is"


@pytest.mark.parametrize(
    "written",
    [
        "from ecv_core.stopping import Precision",
        "from ecv_core.stopping.efold import products",
        "rule = stopping.Never()",
        "if spec.rule == 'std-stagnation': pass",
        "say(f\"run it with the rule 'never', {why}\")",
    ],
)
def test_each_way_to_name_a_rule_is_seen(written: str) -> None:
    assert list(_named(ast.parse(written)))


def test_no_two_public_classes_have_the_same_name() -> None:
    homes = defaultdict(list)
    for name in MODULES:
        for node in ast.walk(_tree(name)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(name)
    assert {one: where for one, where in homes.items() if len(where) > 1} == {}


def test_colours_are_written_in_the_palette_alone() -> None:
    found = {
        name
        for name, path in MODULES.items()
        if re.search(r"#[0-9a-fA-F]{6}\b|\brgba?\(", path.read_text("utf-8"))
    }
    assert found == {"ecv_core/figures/palette.py"}
