"""The core without extras says in one sentence what is missing, whatever is asked of it."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys

MISSING = {missing!r}


class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in MISSING:
            raise ModuleNotFoundError(f"No module named '{{name}}'", name=name)


sys.meta_path.insert(0, Blocked())
import ecv_core as ecv

try:
    {statement}
except ImportError as error:
    print(type(error).__name__, error)
"""
SKLEARN = ("sklearn", "joblib", "optuna")


@pytest.mark.parametrize(
    ("statement", "missing", "extra"),
    [
        ("ecv.cross_validate", SKLEARN, "sklearn"),
        ("ecv.EFoldSearchCV", SKLEARN, "sklearn"),
        ("ecv.EFoldRandomizedSearchCV", SKLEARN, "sklearn"),
        ("ecv.sample_scores", SKLEARN, "sklearn"),
        ("from ecv_core import cross_validate", SKLEARN, "sklearn"),
        ("ecv.figure('ml-100k--ease', 'efold', 'figure.svg')", ("matplotlib", "plotly"), "figures"),
        ("ecv.report('ml-100k--ease')", ("matplotlib", "plotly", "jinja2"), "figures"),
    ],
)
def test_a_missing_package_is_one_sentence_with_the_way_to_install_it(
    tmp_path, statement, missing, extra
):
    program = PROGRAM.format(statement=statement, missing=missing)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.stdout.startswith("NotInstalled this needs "), done.stdout + done.stderr
    assert f"pip install 'e-fold[{extra}]'" in done.stdout
    assert done.stdout.count("\n") == 1
