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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("score\n0.3\n", "between 2 and 22 folds"),
        ("score\n0.3\nx\n", "not a number"),
        ("score\n0.3\n0.3\n0.3\n", "score"),
        ("other\n0.3\n0.4\n", "column 'score'"),
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
