"""A program whose extras are not installed: what needs one says which, in one sentence."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

PROGRAM = """
import json, sys
from ecv_core.records.errors import EXTRAS

class Hiding:
    '''A finder of modules that finds nothing of the extras.'''

    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        for packages in EXTRAS.values():
            if name.partition(".")[0] in packages:
                return None
        return self.finder.find_spec(name, path, target)

sys.meta_path = [Hiding(finder) for finder in sys.meta_path]
import ecv_core as ecv
from ecv_core.cli import parse
from ecv_core.cli.data_commands import folds_command

CALLS = {
    "cross_validate": lambda: ecv.cross_validate,
    "by from": lambda: exec("from ecv_core import cross_validate"),
    "EFoldSearchCV": lambda: ecv.EFoldSearchCV,
    "EFoldRandomizedSearchCV": lambda: ecv.EFoldRandomizedSearchCV,
    "sample_scores": lambda: ecv.sample_scores,
    "draws": lambda: ecv.tune(
        "synthetic", "item-knn", {"neighbours": [5, 10, 20]}, sampler="random", budget=2
    ),
    "load": lambda: ecv.load("ml-100k", download=True),
    "figure": lambda: ecv.figure(ecv.evaluate("synthetic", "popular", k=3), "efold", "f.pdf"),
    "report": lambda: ecv.report(ecv.evaluate("synthetic", "popular", k=3)),
    "evaluate": lambda: ecv.evaluate("synthetic", "ease", k=3),
    "an estimator": lambda: ecv.evaluate("iris", "svm"),
    "folds of a table": lambda: folds_command(parse(["folds", "iris", "f.csv"])),
}
said = {}
for name, call in CALLS.items():
    try:
        call()
        said[name] = [False, "", False]
    except Exception as error:
        is_ours = isinstance(error, ecv.errors.EcvError)
        said[name] = [isinstance(error, ImportError), str(error), is_ours]
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[object]]:
    folder = tmp_path_factory.mktemp("without")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env={
            "PYTHONPATH": ":".join(sys.path),
            "ECV_DATABASE_URL": f"sqlite:///{folder}/runs.sqlite",
            "ECV_DATA_DIR": str(folder),
            "TMPDIR": str(folder),
        },
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


NEEDS = {
    "cross_validate": "sklearn",
    "by from": "sklearn",
    "EFoldSearchCV": "sklearn",
    "EFoldRandomizedSearchCV": "sklearn",
    "sample_scores": "sklearn",
    "draws": "tune",
    "load": "download",
    "figure": "figures",
    "report": "figures",
    "evaluate": "models",
    "an estimator": "sklearn",
    "folds of a table": "sklearn",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", NEEDS)
def test_what_needs_an_extra_names_it(said: dict[str, list[object]], name: str) -> None:
    is_import_error, sentence, is_ours = said[name]
    assert is_ours, sentence
    # A fold that fails is a RunError, which leaves finished folds.
    assert is_import_error == (name != "evaluate"), sentence
    assert f"pip install 'e-fold[{NEEDS[name]}]'" in str(sentence)
