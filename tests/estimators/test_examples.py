"""The scripts in docs/examples run, and say what they find."""

from __future__ import annotations

import runpy
from importlib.util import find_spec
from pathlib import Path

import pytest

from ecv_core import dataset as datasets

pytest.importorskip("sklearn")
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
SAYS = {
    "cross_val_score": " of 10 folds\n",
    "grid_search": "The best of 12 candidates by accuracy is {'C': ",
    "pipeline": "The best of 3 candidates by neg_log_loss is {'model': LogisticRegression()}",
    "groups": "Ridge, r2 on 1000 x 8 in memory: Stopped after ",
    "xgboost_optuna": " of 100 folds were not needed.\n",
    "clicks": "FactorizationMachine, neg_log_loss on 99287 x 2311 in memory: Stopped after ",
}


def test_every_example_is_run():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(SAYS)


SLOW = {"clicks": pytest.mark.slow}  # ten seconds of a processor


@pytest.mark.parametrize("name", [pytest.param(name, marks=SLOW.get(name, ())) for name in SAYS])
def test_an_example_says_what_it_finds(name, capsys):
    if name == "xgboost_optuna" and not (find_spec("xgboost") and find_spec("optuna")):
        pytest.skip("xgboost or optuna is not installed here")
    if name == "clicks" and not (
        find_spec("myfm") and datasets.available(datasets.entry("ml-100k"))
    ):
        pytest.skip("myfm or ml-100k is not here")
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert SAYS[name] in capsys.readouterr().out
