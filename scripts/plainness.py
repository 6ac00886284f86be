"""How much a reader has to hold in the head, room by room: counted, and never more than before.

    python scripts/plainness.py            fails where a room has become harder to read
    python scripts/plainness.py --lower    writes today's counts where they are below the limits
    python scripts/plainness.py --worst 9  the hardest statements and functions of each room

Layout does not count: what counts are the parts of the syntax tree of each statement. The limits
stand in plainness.toml, per 1,000 statements of a room, and may only fall.
"""

from __future__ import annotations

import argparse
import ast
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMITS = ROOT / "plainness.toml"
DENSE_PARTS = 40
"""A statement of more parts than this is hard to read."""
MANY_WAYS = 10
"""A function with more ways through it than this is hard to read."""
EMPTY_NAMES = {
    "one",
    "ones",
    "found",
    "known",
    "said",
    "told",
    "asked",
    "given",
    "them",
    "it",
    "these",
    "those",
    "rest",
    "some",
}
"""Names that say nothing of what they hold."""
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
BRANCHES = (
    ast.If,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.ExceptHandler,
    ast.IfExp,
    ast.match_case,
)
SILENT = (ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop)
"""Parts of the tree that a reader does not see as parts."""
TOLERANCE = 0.05
"""Limits are written with one digit."""


@dataclass
class Room:
    """What is counted in one folder."""

    counts: Counter[str] = field(default_factory=Counter)
    statements: list[tuple[int, str]] = field(default_factory=list)
    """Parts of each statement, and its place."""
    functions: list[tuple[int, str]] = field(default_factory=list)
    """Ways through each function, and its place and name."""

    def rates(self) -> dict[str, float]:
        """Every measure that has a limit: per statement, per 1,000 of them, or in percent."""
        statements = max(1, self.counts["statements"])
        functions = max(1, self.counts["functions"])
        rates = {"parts a statement": self.counts["parts"] / statements}
        for name in ("dense", "comprehensions", "conditionals", "lambdas", "pairs", "empty names"):
            rates[name] = 1000 * self.counts[name] / statements
        rates["functions of many ways"] = 100 * self.counts["functions of many ways"] / functions
        return {name: round(rate, 1) for name, rate in rates.items()}


def rooms() -> dict[str, Room]:
    """Every folder of the library and of the pages, counted with what is in it."""
    counted: dict[str, Room] = {}
    for top in ("ecv_core", "pages"):
        for path in sorted((ROOT / top).rglob("*.py")):
            parts = path.relative_to(ROOT).parts
            name = top
            if len(parts) > 2:
                name = f"{top}/{parts[1]}"
            count_file(path, counted.setdefault(name, Room()))
    return counted


def count_file(path: Path, room: Room) -> None:
    """Add what a module has to its room."""
    place = path.relative_to(ROOT).as_posix()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.stmt) and not is_docstring(node):
            count_statement(node, f"{place}:{node.lineno}", room)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            ways = ways_through(node)
            room.functions.append((ways, f"{place}:{node.lineno} {node.name}"))
            room.counts["functions"] += 1
            room.counts["functions of many ways"] += ways > MANY_WAYS
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            room.counts["empty names"] += node.id in EMPTY_NAMES


def count_statement(statement: ast.stmt, place: str, room: Room) -> None:
    """Add one statement, without those inside it."""
    parts = list(own_parts(statement))
    room.counts["statements"] += 1
    room.counts["parts"] += 1 + len(parts)
    if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        room.statements.append((len(parts), place))
        room.counts["dense"] += len(parts) > DENSE_PARTS
    for part in parts:
        room.counts["comprehensions"] += isinstance(part, COMPREHENSIONS)
        room.counts["conditionals"] += isinstance(part, ast.IfExp)
        room.counts["lambdas"] += isinstance(part, ast.Lambda | ast.NamedExpr)
    if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Tuple):
        room.counts["pairs"] += isinstance(statement.targets[0], ast.Tuple)


def own_parts(statement: ast.stmt) -> Iterator[ast.AST]:
    """The visible parts of a statement's expressions."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        for child in ast.iter_child_nodes(waiting.pop()):
            if isinstance(child, ast.stmt):
                continue
            waiting.append(child)
            if not isinstance(child, SILENT):
                yield child


def is_docstring(statement: ast.stmt) -> bool:
    """Whether a statement is a text that stands alone."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def ways_through(function: ast.AST) -> int:
    """Cyclomatic complexity, in which a comprehension counts as the loop that it is."""
    ways = 1
    for node in ast.walk(function):
        if isinstance(node, BRANCHES):
            ways += 1
        elif isinstance(node, ast.comprehension):
            ways += 1 + len(node.ifs)
        elif isinstance(node, ast.BoolOp):
            ways += len(node.values) - 1
    return ways


def read_limits() -> dict[str, dict[str, float]]:
    """Limits of each room; none where there is no file yet."""
    if not LIMITS.exists():
        return {}
    return tomllib.loads(LIMITS.read_text("utf-8"))


def write_lower(counted: dict[str, Room]) -> None:
    """Write the lower of today's rates and the limits; a new room gets what it has."""
    limits = read_limits()
    lines = ["# Written by scripts/plainness.py --lower: per 1,000 statements; may only fall."]
    for name, room in counted.items():
        lines.append(f'\n["{name}"]')
        for measure, rate in room.rates().items():
            limit = min(rate, limits.get(name, {}).get(measure, rate))
            lines.append(f'"{measure}" = {limit}')
    LIMITS.write_text("\n".join(lines) + "\n", "utf-8")


def faults(counted: dict[str, Room]) -> list[str]:
    """A sentence for every measure of a room that is above its limit."""
    limits = read_limits()
    sentences = []
    for name, room in counted.items():
        for measure, rate in room.rates().items():
            limit = limits.get(name, {}).get(measure)
            if limit is None:
                sentences.append(f"{name} has no limit for {measure}: run it with --lower")
            elif rate > limit + TOLERANCE:
                sentences.append(f"{name}: {measure} {rate}, and the limit is {limit}")
    return sentences


def print_worst(counted: dict[str, Room], count: int) -> None:
    """The statements with most parts and the functions with most ways, of each room."""
    for name, room in counted.items():
        print(name, room.rates())
        for size, place in sorted(room.statements, reverse=True)[:count]:
            print(f"  {size:4d} parts  {place}")
        for ways, place in sorted(room.functions, reverse=True)[:count]:
            print(f"  {ways:4d} ways   {place}")


def main() -> int:
    """Check, lower or show; the exit code."""
    parser = argparse.ArgumentParser(description="how plain the code of each room is")
    parser.add_argument("--lower", action="store_true", help="lower the limits to today's counts")
    parser.add_argument("--worst", type=int, metavar="N", help="show the N hardest of each room")
    options = parser.parse_args()
    counted = rooms()
    if options.worst:
        print_worst(counted, options.worst)
        return 0
    if options.lower:
        write_lower(counted)
    sentences = faults(counted)
    for sentence in sentences:
        print(sentence)
    if sentences:
        print("Say it more plainly, or show where: python scripts/plainness.py --worst 9")
    return int(bool(sentences))


if __name__ == "__main__":
    sys.exit(main())
