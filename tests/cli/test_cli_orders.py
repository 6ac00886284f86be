"""`orders` gives the exact distribution over all orders, as brute force does."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from ecv_core import cli

SCORES = [0.30, 0.34, 0.31, 0.33, 0.32]
ALPHA = 0.01


def brute_force() -> dict[str, object]:
    """Every order on its own, with SciPy's own Student's t."""
    stops, differences, covered = [], [], []
    whole = np.mean(SCORES)
    for order in itertools.permutations(SCORES):
        widths: dict[int, float] = {}
        for n in range(2, 6):
            seen = np.array(order[:n])
            half = stats.t.ppf(0.975, n - 1) * seen.std(ddof=1) / np.sqrt(n)
            widths[n] = 2 * half
            if n == 5 or (n >= 3 and widths[n] * abs(widths[n - 1] - widths[n]) <= ALPHA):
                break
        mean = seen.mean()
        stops.append(n)
        differences.append(abs(mean - whole) / ((mean + whole) / 2) * 100)
        covered.append(abs(mean - whole) <= half)
    return {
        "mean_stop": np.mean(stops),
        "mean_difference_percent": np.mean(differences),
        "coverage": np.mean(covered),
        "3": np.mean(np.array(stops) == 3),
        "worst": max(differences),
    }


@pytest.fixture
def scores(tmp_path: Path) -> str:
    path = tmp_path / "scores.csv"
    path.write_text("score\n" + "\n".join(map(str, SCORES)) + "\n")
    return str(path)


def test_orders_as_json_are_those_of_brute_force(
    scores: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["orders", scores, "--alpha", str(ALPHA), "--json", "-"]) == 0
    document, expected = json.loads(capsys.readouterr().out), brute_force()
    assert (document["k"], document["alpha"]) == (5, ALPHA)
    for name in ("mean_stop", "mean_difference_percent", "coverage"):
        assert document[name] == pytest.approx(expected[name], abs=1e-9)
    assert document["stop_distribution"]["3"] == pytest.approx(expected["3"])
    assert sum(document["stop_distribution"].values()) == pytest.approx(1)
    assert set(document["difference_quantiles"]) == {"0.5", "0.9", "0.95", "1.0"}
    assert document["difference_quantiles"]["1.0"] == pytest.approx(expected["worst"])
    assert document["coverage"] <= 1


def test_orders_for_people_name_the_mean_stop(
    scores: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["orders", scores, "--alpha", str(ALPHA)]) == 0
    assert "stops after 3.60 folds on average" in capsys.readouterr().out


def test_each_contender_has_what_it_has_alone(
    tmp_path: Path, scores: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What `select --scores` reads: long, with a summary of each contender and its times."""
    rows = [f"{name},{n},{s},1.5" for name in "ab" for n, s in enumerate(SCORES)]
    rows += ["a,Mean,0.32,1.5", "b,Mean,0.32,1.5"]
    path = tmp_path / "several.csv"
    path.write_text("\n".join(["contender,fold,log_loss,fit_time", *rows]))
    assert cli.main(["orders", scores, "--alpha", str(ALPHA), "--json", "-"]) == 0
    alone = json.loads(capsys.readouterr().out)
    assert cli.main(["orders", str(path), "--alpha", str(ALPHA), "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert list(document["contenders"]) == ["a", "b"]
    for of_contender in document["contenders"].values():
        assert of_contender.items() <= alone.items()
    assert document["higher_is_better"] is False
    assert "Mean" in document["left_out"]
    words = ["orders", str(path), "--alpha", str(ALPHA), "--contender", "b", "--json", "-"]
    assert cli.main(words) == 0
    chosen = json.loads(capsys.readouterr().out)
    assert (chosen["contender"], chosen["mean_stop"]) == ("b", alone["mean_stop"])
    assert cli.main(["orders", str(path), "--alpha", str(ALPHA), "--contender", "c"]) == 2
    assert "no contender 'c'" in capsys.readouterr().err


def test_a_search_of_scikit_learn_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header = "params,mean_fit_time," + ",".join(f"split{n}_test_score" for n in range(5))
    path = tmp_path / "cv_results.csv"
    row = ",".join(map(str, SCORES))
    text = [header + ",rank_test_score", f"\"{{'C': 1, 'd': 2}}\",0.1,{row},1"]
    path.write_text("\n".join([*text, f"\"{{'C': 10, 'd': 2}}\",0.1,{row},1"]))
    assert cli.main(["orders", str(path), "--alpha", str(ALPHA), "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert list(document["contenders"]) == ["C=1", "C=10"]
    assert document["contenders"]["C=1"]["k"] == 5
    assert document["higher_is_better"] is True


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("score\n0.3\n", "between 2 and 22 folds"),
        ("score\n0.3\nx\n", "not a number"),
        ("score\n0.3\n0.3\n0.3\n", "score"),
        ("", "Empty CSV file"),
    ],
)
def test_scores_that_cannot_serve_are_one_line(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(text)
    assert cli.main(["orders", str(path), "--alpha", "0.01"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert words in error


def test_one_fold_has_no_interval_that_could_hold_the_mean(
    scores: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["orders", scores, "--rule", "fixed", "--min-folds", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "stops after 1.00 folds on average"
    assert lines[3] == "there is no interval at the stop, as one score has none"
