"""What scripts/record_protocols.py works out of fits, and what docs/metrics.md says of it."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from scripts.record_protocols import auc_of_all, calibrated, flips, tables, verdicts

METRICS = Path(__file__).resolve().parents[2] / "docs" / "metrics.md"


def skewed_pairs(seed, pairs=20_000):
    """Scores with a long tail, and what was chosen, more often where they are high."""
    rng = np.random.default_rng(seed)
    scores = np.round(rng.pareto(1.2, pairs), 2)  # some are equal
    chosen = rng.random(pairs) < 1 / (1 + np.exp(4 - np.minimum(scores, 6)))
    return scores, chosen, rng.integers(0, 200, pairs) < 100


def test_pooled_auc_is_that_of_scikit_learn():
    scores, chosen, _ = skewed_pairs(1)
    assert auc_of_all(scores, chosen) == pytest.approx(roc_auc_score(chosen, scores), abs=1e-12)


def test_a_half_is_calibrated_by_the_other_as_logistic_regression_does():
    scores, chosen, half = skewed_pairs(2)
    losses = []
    for learnt in (half, ~half):
        model = LogisticRegression(C=1e12, max_iter=1000).fit(scores[learnt, None], chosen[learnt])
        odds = model.decision_function(scores[~learnt, None])
        losses += np.logaddexp(0, np.where(chosen[~learnt], -odds, odds)).tolist()
    assert calibrated(scores, chosen, half) == pytest.approx(np.mean(losses), abs=1e-5)


def test_verdicts_and_flips_of_three_algorithms():
    rng = np.random.default_rng(3)
    noise = rng.normal(0, 0.01, (3, 400))
    full = np.array([[0.3], [0.2], [0.2]]) + noise
    sampled = np.array([[0.3], [0.4], [0.2]]) + noise
    kept = {f"{name}--values": np.zeros(6) for name in ("ease", "nmf", "popular")}
    for at, name in enumerate(("ease", "nmf", "popular")):
        kept |= {f"{name}--full": full[at], f"{name}--uniN": sampled[at]}
    by_full, by_sample = verdicts(kept, "full"), verdicts(kept, "uniN")
    # popular, ease, nmf in the order of the study
    assert by_full == {("popular", "ease"): -1, ("popular", "nmf"): 0, ("ease", "nmf"): 1}
    assert by_sample == {("popular", "ease"): -1, ("popular", "nmf"): -1, ("ease", "nmf"): -1}
    assert flips(by_full, by_sample) == (1, 1, 0, 1)


def test_the_tables_are_what_was_recorded():
    assert f"\n\n{tables()}\n\n" in METRICS.read_text("utf-8")
