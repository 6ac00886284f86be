"""The protocol with a part put aside: who meets it, how often, and what is said of it."""

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from ecv_core.cli import main
from ecv_core.records import FoldResult, RunSpec
from ecv_core.store import open_store
from ecv_core.tuning.nested import Aside, aside_sentence, optimism
from tests.tuning.test_tune import job

COMMAND = ["tune", "synthetic", "item-knn", "--separate", "--protocol", "nested", "--all-folds"]


def test_what_a_choice_owes_to_its_folds() -> None:
    # The best by the other fold is in each fold the worse one: 0.3, 0.2; the best mean is 0.35.
    assert optimism(np.array([[0.5, 0.2], [0.3, 0.36]])) == pytest.approx(0.35 - 0.25)
    # One that is best in every fold owes nothing.
    assert optimism(np.array([[0.5, 0.4, 0.6], [0.1, 0.2, 0.1]])) == pytest.approx(0)


def test_only_the_choice_meets_the_part_put_aside_and_only_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path, capsys: pytest.CaptureFixture[str]
) -> None:
    met = []

    def work(url: str, run_id: str, spec: RunSpec, index: int, also: Callable) -> FoldResult:
        result = job(url, run_id, spec, index)
        if dict(spec.split_params)["part"] == "test":
            met.append((dict(spec.params)["neighbours"], spec.k, index))
            return replace(result, score=0.4)
        assert spec.k == 10
        return result

    monkeypatch.setattr("ecv_core.runner.work", work)
    target = tmp_path / "tuned.json"
    grid = ["--grid", "neighbours=10,40,80", "--json", str(target)]
    assert main([*COMMAND, *grid]) == 0
    assert main([*COMMAND, *grid]) == 0
    assert met == [(40, 1, 0)]
    found = json.loads(target.read_text())["aside"]
    promised = json.loads(target.read_text())["best"]["mean"]
    assert found["score"] == 0.4
    assert found["cross_validated"] == pytest.approx(promised)
    assert found["flattered_percent"] == pytest.approx(100 * (promised - 0.4) / 0.4)
    assert found["by_choice"] == pytest.approx(0, abs=1e-12)
    assert found["configurations_met"] == 1
    run = open_store().run(found["run_id"])
    assert dict(run.spec.split_params) == {"above": 0.0, "aside": 0.2, "part": "test"}
    said = capsys.readouterr().out
    assert "On the part put aside nDCG@10 is 0.4000; the folds by which it was chosen gave" in said
    # Another grid has another winner, and the part is no longer untouched.
    assert main([*COMMAND, "--grid", "neighbours=10,20"]) == 0
    assert met == [(40, 1, 0), (20, 1, 0)]
    assert "It is configuration 2 to meet this part" in capsys.readouterr().out


def test_a_difference_that_is_no_flattery_is_said_as_such() -> None:
    found = Aside(run_id="a", score=0.5, promised=0.4, by_choice=None, met=1)
    said = aside_sentence(found, "nDCG@10", 5)
    assert said.endswith("gave 0.4000, 20 % below that.")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--tau", "9"], "no rating of synthetic is above 9"),
        (["--split", "record-k-fold"], "--protocol nested has folds of its own"),
    ],
)
def test_what_does_not_fit_is_refused(
    more: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*COMMAND, *more]) == 2
    assert said in capsys.readouterr().err


def test_a_threshold_without_the_protocol_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "synthetic", "item-knn", "--tau", "4"]) == 2
    assert "--tau belongs to --protocol nested" in capsys.readouterr().err
