"""From the scores of a tuning to its DP tables: recorded ones, the command and its JSON."""

import json
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_rel

from ecv_core.cli import main
from ecv_core.fold.spec import make_spec
from ecv_core.records.errors import InputError, UnknownName
from ecv_core.selection.tuning.metrics_study import study_metrics
from ecv_core.store.recorded import (
    TUNINGS,
    Configurations,
    configuration_names,
    read_configurations,
)


def made(configurations: list[dict], *, noise: dict[str, float], slope: float) -> Configurations:
    """Scores that rise with each parameter's place; a metric with more noise tells less apart."""
    rng = np.random.default_rng(0)
    taste = rng.random(50)
    means = slope * np.arange(len(configurations))
    values = {
        metric: (means[:, None, None] + taste + rng.normal(0, sd, (len(means), 10, 50))).astype(
            np.float32
        )
        for metric, sd in noise.items()
    }
    spec = make_spec(dataset="synthetic", algorithm="bpr-mf", rule="never")
    unknown = np.full((len(configurations), 10), np.nan)
    return Configurations(
        spec=spec,
        configurations=tuple(configurations),
        values=values,
        folds=unknown,
        joules=unknown,
    )


def test_the_metric_with_less_noise_is_named_first() -> None:
    grid = [{"factors": f, "epochs": e} for f in (8, 16) for e in (1, 2, 3)]
    found = study_metrics(made(grid, noise={"ndcg@10": 0.05, "recall@10": 2.0}, slope=0.02))
    assert found.ranked == ["ndcg@10", "recall@10"]
    assert found.sentence().startswith("nDCG@10 tells these settings apart best, in ")
    # places 0 1 2 for one value of factors, 3 4 5 for the other: with epochs set, factors differ by
    # three places, with factors set, epochs by one or two
    assert "With epochs set, nDCG@10 tells the other settings apart best" in found.sentence()
    assert set(found.dominant) == {"factors", "epochs"}
    with pytest.raises(UnknownName, match="no metric of this tuning is called 'mrr'"):
        study_metrics(found.scores, metric="mrr")


@pytest.mark.parametrize("name", configuration_names(TUNINGS))
def test_recorded_tunings_hold_all_folds_of_six_metrics(name: str) -> None:
    found = read_configurations(TUNINGS / f"{name}.json")
    document = json.loads((TUNINGS / f"{name}.json").read_text())
    assert len(found.values) == 6
    assert len(found.configurations) >= 10
    scores = np.array([one["scores"] for one in document["configurations"]])
    # 16 bits keep three digits of each user's score, and a fold has hundreds of users
    assert np.nanmean(found.values["ndcg@10"], axis=2) == pytest.approx(scores, abs=2e-5)


def test_the_recorded_dp_is_the_mean_p_of_scipys_tests() -> None:
    found = read_configurations(TUNINGS / "ml-100k--item-knn.json")
    cube = found.values["recall@10"]
    count = len(found.configurations)
    expected = np.mean(
        [
            ttest_rel(cube[a, fold], cube[b, fold], nan_policy="omit").pvalue
            for fold in (0, 4)
            for a, b in combinations(range(count), 2)
        ]
    )
    part = replace(found, values={"recall@10": cube[:, [0, 4]]})
    dp = study_metrics(part, metric="recall@10").curves["recall@10"].dp
    assert dp == pytest.approx(25 * expected, rel=1e-6)


def test_the_command_writes_the_promised_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "power.json"
    assert main(["power", "ml-100k", "item-knn", "--json", str(target)]) == 0
    document = json.loads(target.read_text())
    count = len(read_configurations(TUNINGS / "ml-100k--item-knn.json").configurations)
    assert (document["configurations"], document["folds"], document["pairs"]) == (count, 10, 25)
    for one in document["metrics"].values():
        assert set(one) == {"dp", "dp_plus_sd", "dp_corrected", "p_values"}
        assert one["dp"] == pytest.approx(sum(one["p_values"]))
        assert one["p_values"] == sorted(one["p_values"], reverse=True)
        assert one["dp_corrected"] > one["dp_plus_sd"] > one["dp"]
    assert document["dominant"] == {}  # a single parameter has no rival
    assert "tells these settings apart best" in capsys.readouterr().out


def test_a_tuning_that_is_not_there_says_how_to_get_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["power", "synthetic", "ease"]) == 2
    assert "compute one with 'tune synthetic ease --all-folds'" in capsys.readouterr().err


def test_a_damaged_tuning_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "a--b.json").write_text("{}")
    with pytest.raises(InputError, match=r"the recorded configurations a--b.json cannot be read"):
        read_configurations(tmp_path / "a--b.json")
