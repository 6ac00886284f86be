"""The scripts in docs/examples run, and say what they find."""

from __future__ import annotations

import runpy
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("sklearn")
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
SAYS = {
    "cross_val_score": " of 10 folds\n",
    "grid_search": "The best of 12 candidates by accuracy is {'C': ",
    "pipeline": "The best of 3 candidates by neg_log_loss is {'model': LogisticRegression()}",
    "groups": "Ridge, r2 on 1000 x 8 in memory: Stopped after ",
    "xgboost_optuna": " of 100 folds were not needed.\n",
}


def test_every_example_is_run():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(SAYS)


@pytest.mark.parametrize("name", SAYS)
def test_an_example_says_what_it_finds(name, capsys):
    if name == "xgboost_optuna" and not (find_spec("xgboost") and find_spec("optuna")):
        pytest.skip("xgboost or optuna is not installed here")
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert SAYS[name] in capsys.readouterr().out
