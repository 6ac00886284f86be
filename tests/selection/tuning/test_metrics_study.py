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
from ecv_core.records.errors import UnknownName
from ecv_core.selection.tuning.metrics_study import STUDIED, paired_tests, study_metrics
from ecv_core.store.configurations import (
    TUNINGS,
    Configurations,
    configuration_names,
    recorded_grid,
    recorded_tuning,
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
        user_scores=values,
        fold_scores=unknown,
        joules=unknown,
    )


def test_the_metric_with_less_noise_is_named_first() -> None:
    grid = [{"factors": f, "epochs": e} for f in (8, 16) for e in (1, 2, 3)]
    found = study_metrics(
        paired_tests(made(grid, noise={"ndcg@10": 0.05, "recall@10": 2.0}, slope=0.02))
    )
    assert found.ranked == ["ndcg@10", "recall@10"]
    assert found.sentence().startswith("nDCG@10 tells these settings apart best: in ")
    # places 0 1 2 for one value of factors, 3 4 5 for the other: with epochs set, factors differ by
    # three places, with factors set, epochs by one or two
    assert "The dominant parameter is epochs: " in found.sentence()
    assert set(found.dominant) == {"factors", "epochs"}
    with pytest.raises(UnknownName, match="no metric of this tuning is called 'mrr'"):
        study_metrics(found.tests, metric="mrr")


@pytest.mark.parametrize("name", configuration_names(TUNINGS))
def test_recorded_tunings_hold_all_folds_and_pairs_of_six_metrics(name: str) -> None:
    found = recorded_tuning(name)
    assert set(found.p_values) == {f"{metric}@10" for metric in STUDIED}
    count = len(found.configurations)
    assert count >= 10
    for metric, p_values in found.p_values.items():
        assert p_values.shape == (10, count * (count - 1) // 2)
        assert (p_values >= 0).all()
        assert (p_values <= 1).all()
        assert found.means[metric].shape == (10, count)


def test_a_recorded_tuning_tells_apart_what_a_grid_of_the_same_settings_does() -> None:
    tuning = recorded_tuning("ml-100k--item-knn")
    grid = recorded_grid("ml-100k--item-knn--neighbours")
    shared = []
    for place, params in enumerate(grid.configurations):
        if params in tuning.configurations:
            shared.append((place, tuning.configurations.index(params)))
    pairs = list(zip(*np.triu_indices(len(tuning.configurations), 1), strict=True))
    assert len(shared) > 2
    for (a, first), (b, second) in combinations(shared, 2):
        at = pairs.index((first, second))
        for fold in (0, 4):
            both = grid.user_scores["ndcg@10"][[a, b], fold]
            expected = ttest_rel(*both, nan_policy="omit").pvalue
            assert tuning.p_values["ndcg@10"][fold, at] == pytest.approx(expected, rel=1e-3)


def test_dp_is_the_mean_p_of_scipys_tests() -> None:
    found = recorded_grid("ml-100k--item-knn--neighbours")
    cube = found.user_scores["ndcg@10"]
    count = len(found.configurations)
    expected = np.mean(
        [
            ttest_rel(cube[a, fold], cube[b, fold], nan_policy="omit").pvalue
            for fold in (0, 4)
            for a, b in combinations(range(count), 2)
        ]
    )
    part = replace(found, user_scores={"ndcg@10": cube[:, [0, 4]]})
    dp = study_metrics(paired_tests(part)).curves["ndcg@10"].dp
    assert dp == pytest.approx(25 * expected, rel=1e-6)


def test_the_command_writes_the_promised_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "power.json"
    assert main(["power", "ml-100k", "item-knn", "--json", str(target)]) == 0
    document = json.loads(target.read_text())
    count = len(recorded_tuning("ml-100k--item-knn").configurations)
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
