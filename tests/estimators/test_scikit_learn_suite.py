"""scikit-learn's own tests of cross-validation and searches, with our names in their place."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

tests_of_scikit_learn = pytest.importorskip("sklearn.model_selection.tests")

FILES = ("test_validation.py", "test_search.py")
OURS = """
import ecv_core as ecv


def cross_validate(*args, **options):
    return ecv.cross_validate(*args, rule="never", fold_order=None, **options)


class GridSearchCV(ecv.EFoldSearchCV):
    __init__ = ecv.EFoldSearchCV.__init__

    def fit(self, *args, **params):
        self.set_params(**SETTINGS)
        return super().fit(*args, **params)


class RandomizedSearchCV(ecv.EFoldRandomizedSearchCV):
    __init__ = ecv.EFoldRandomizedSearchCV.__init__

    def fit(self, *args, **params):
        self.set_params(**SETTINGS)
        return super().fit(*args, **params)
"""
"""What stands in the place of scikit-learn's own names."""
NAMES = {"cross_validate", "GridSearchCV", "RandomizedSearchCV"}

MORE_ATTRIBUTES = "it takes every attribute that ends with '_' for one of scikit-learn's own search"
ALL_FOLDS = {"test_custom_run_search": MORE_ATTRIBUTES}
"""What fails where all folds run, and why."""
NO_WINNER = "where no score is finite there is an error and no winner"
OTHER_ORDER = "its scorer fails at every fifth call, and folds come in another order"
OF_THE_SEARCH_ALONE = "callbacks are told of folds, not of what an estimator does inside one"
RACE = {
    "test_custom_run_search": MORE_ATTRIBUTES,
    "test_unsupported_sample_weight_scorer": NO_WINNER,
    "test_search_cv_results_none_param": NO_WINNER,
    "test_grid_search_failing_classifier": "it counts failed fits of all folds, of which fewer run",
    "test_searchcv_raise_warning_with_non_finite_score": OTHER_ORDER,
    "test_search_callbacks_propagation": OF_THE_SEARCH_ALONE,
}
"""What fails where candidates leave as soon as it is certain that they are not best."""


def with_our_names(text: str) -> str:
    """A file of tests in which our names come after those that it imports."""
    imports = [
        node for node in ast.parse(text).body if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    lines = text.splitlines()
    lines.insert(imports[-1].end_lineno, f"from ours import {', '.join(sorted(NAMES))}")
    return "\n".join(lines) + "\n"


def users_of(names: set[str], functions: list[ast.FunctionDef]) -> set[str]:
    """The functions that have one of the names in their body or their parameters."""
    users = set()
    for function in functions:
        used = {part.id for part in ast.walk(function) if isinstance(part, ast.Name)}
        if used & names:
            users.add(function.name)
    return users


def selected_tests(text: str) -> list[str]:
    """The tests of a file that use our names, by themselves or by a function that makes cases."""
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    names = NAMES | users_of(NAMES, functions)
    return [name for name in sorted(users_of(names, functions)) if name.startswith("test_")]


def outcomes(folder: Path, settings: str) -> dict[str, str]:
    """Test -> whether it passed, failed or was skipped, of the tests that use our names."""
    (folder / "ours.py").write_text(f"{OURS}\n\nSETTINGS = {settings}\n")
    selected = []
    for name in FILES:
        text = (Path(tests_of_scikit_learn.__file__).parent / name).read_text()
        (folder / name).write_text(with_our_names(text))
        selected += [f"{name}::{test}" for test in selected_tests(text)]
    root = Path(__file__).parents[2]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), str(root)])}
    run = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-rA", "--tb=no", "--no-header"),
            *("-p", "no:cacheprovider", "-p", "sklearn.conftest", "-c", os.devnull),
            *(f"--rootdir={folder}", *selected),
        ],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.findall(r"^(PASSED|FAILED|ERROR) \S+?::(\S+)", run.stdout, re.MULTILINE)
    assert found, run.stdout + run.stderr
    return {test: outcome for outcome, test in found}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "exceptions"),
    [({"rule": "never"}, ALL_FOLDS), ({"certain": True, "confidence": 1 - 1e-9}, RACE)],
    ids=["all folds", "a race"],
)
def test_scikit_learns_own_tests_pass(tmp_path, settings, exceptions):
    results = outcomes(tmp_path, repr(settings))
    failed = {re.sub(r"\[.*", "", test) for test in results if results[test] != "PASSED"}
    assert failed == set(exceptions)
    assert len(results) >= 163
    assert len(exceptions) <= 8
