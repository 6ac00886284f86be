"""A name -> the metric that it names, and whether higher or lower values of that are better.

The project's own metrics and those of plug-ins say it themselves; the table here is of metrics that
other programs compute, under the names by which their files call them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ecv_core.evaluation.metrics import METRICS

_LOWER = """
    rmse, mse, mae, msle, rmsle, mape, smape, wape, wmape, mase, rmsse, nrmse, nmae, rmspe, mspe,
    medae, mdae, rae, rse, rrse, rss, sse, sae, mad, rmsd, crps, squared error, absolute error,
    error, errors, err, error rate, log loss, logloss, pinball, pinball loss, hinge, hinge loss,
    hamming, hamming loss, zero one, zero one loss, brier, brier loss, perplexity, ppl,
    cross entropy, crossentropy, xent, bce, bpc, bpb, wer, cer, eer, ece, mce, fid, lpips, kl,
    divergence, jsd, distance, wasserstein, hausdorff, chamfer, regret, risk, cost, gini,
    false positive rate, false negative rate, false discovery rate, fpr, fnr, fdr, miss rate,
    misclassification, misclassification rate, davies bouldin, inertia, average rank, mean rank,
    negative likelihood ratio, residual, residuals
"""
"""Lower is better, and no value is below zero."""
_LOWER_OF_ANY_SIGN = """
    loss, losses, nll, negative log likelihood, neg log likelihood, deviance, aic, bic, aicc, waic
"""
"""Lower is better, and values may be below zero."""
_HIGHER = """
    acc, accuracy, top k accuracy, balanced accuracy, f1, f2, fbeta, f score, f measure, precision,
    recall, sensitivity, specificity, tpr, tnr, ppv, npv, dcg, ndcg, hr, hit rate, hitrate, hits,
    mrr, ap, map, average precision, auc, auroc, roc auc, auprc, pr auc, gauc, jaccard, iou, miou,
    dice, mcc, matthews corrcoef, kappa, qwk, r2, explained variance, bleu, sacrebleu, chrf, rouge,
    meteor, cider, spice, bertscore, comet, spearman, pearson, kendall, correlation, corr,
    log likelihood, loglikelihood, likelihood, positive likelihood ratio, elbo, evidence, psnr,
    ssim, novelty, diversity, serendipity, coverage, ctr, cvr, revenue, reward, return, gain,
    utility, profit, lift, success rate, win rate, silhouette, calinski harabasz, rand, ari, nmi,
    ami, mutual info, homogeneity, completeness, v measure, fowlkes mallows, concordance, c index,
    exact match, d2 log loss, d2 brier, d2 absolute error, d2 pinball, d2 tweedie
"""
"""Higher is better."""
_NEGATED = frozenset({"neg", "negative", "negated", "minus"})
"""Before a metric's name they turn its values round, as scikit-learn's `neg_log_loss` does."""
_QUALIFIERS = """
    test train training testset trainset val valid validation dev eval cv oof holdout score scores
    value metric mean average avg macro micro weighted samples binary ovr ovo at k top final best
    rate root squared absolute percentage median max full neg negative
"""
"""Words beside a metric's own that do not make a contender's name of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedMetric:
    """A metric that a name names."""

    words: str
    """Those that name it, such as 'log loss'."""
    higher_is_better: bool
    never_negative: bool
    """Whether no value of it is below zero, so that values below zero were turned round."""


def metric_named(name: str) -> NamedMetric | None:
    """The metric that a name ends with, or has in it; None where none is known.

    Of several the last counts, for that is what the name is of: 'ndcg_loss' is a loss. A name may
    say its direction itself: 'Gini index@10 (lower is better)', 'RMSE ↓'.

    Args:
        name: of a column, a file or a metric: 'test_rmse', 'valLogLoss', 'neg_mean_squared_error'.
    """
    stated = _stated(name)
    table = _metrics_by_words()
    metric = _last_metric(_words(name), table) or _last_metric(_words_of_capitals(name), table)
    if stated is None:
        return metric
    if metric is None:
        return NamedMetric(words=name.strip(), higher_is_better=stated, never_negative=False)
    return replace(metric, higher_is_better=stated)


def is_metric_name(name: str) -> bool:
    """Whether a name is that of a metric and of nothing else: 'test_rmse', but not 'SVD rmse'."""
    words = _words(name)
    if words and _last_metric(words, _metrics_by_words()) is None:
        words = _words_of_capitals(name)
    qualifiers = _QUALIFIERS.split()
    metric = metric_named(name)
    if metric is None:
        return "score" in words and not set(words).difference(qualifiers)
    beside = [word for word in words if word not in metric.words.split()]
    return all(word in qualifiers or word.isdecimal() for word in beside)


def same_metric(name: str, other: str) -> bool:
    """Whether two names are of one metric, whatever their case and signs: 'Test RMSE', 'rmse'."""
    words = [word for word in _words(name) if word not in ("test", "score")]
    others = [word for word in _words(other) if word not in ("test", "score")]
    return _words(name) == _words(other) or (words == others and bool(words))


def _metrics_by_words() -> dict[tuple[str, ...], NamedMetric]:
    """By the words of their names; what the project and plug-ins say goes before the table."""
    table = {}
    for names, higher_is_better, never_negative in (
        (_HIGHER, True, False),
        (_LOWER, False, True),
        (_LOWER_OF_ANY_SIGN, False, False),
    ):
        for phrase in names.split(","):
            words = phrase.split()
            table[tuple(words)] = NamedMetric(
                words=" ".join(words),
                higher_is_better=higher_is_better,
                never_negative=never_negative,
            )
    for metric in METRICS.values():
        words = _words(metric.id)
        table[tuple(words)] = NamedMetric(
            words=" ".join(words),
            higher_is_better=metric.higher_is_better,
            never_negative=not metric.higher_is_better and not metric.is_own,
        )
    return table


def _last_metric(
    words: Sequence[str], table: dict[tuple[str, ...], NamedMetric]
) -> NamedMetric | None:
    longest = max(len(phrase) for phrase in table)
    for end in range(len(words), 0, -1):
        for begin in range(max(end - longest, 0), end):
            metric = table.get(tuple(words[begin:end]))
            if metric is None:
                continue
            if _NEGATED.intersection(words[:begin]):
                # Values of a metric that was turned round may have any sign.
                higher = not metric.higher_is_better
                return replace(metric, higher_is_better=higher, never_negative=False)
            return metric
    return None


def _stated(name: str) -> bool | None:
    """Whether higher is better, where the name says it in words or with an arrow."""
    plain = " ".join(_words(name))
    if "lower is better" in plain or "↓" in name:
        return False
    if "higher is better" in plain or "↑" in name:
        return True
    return None


def _words(name: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", name.lower())


def _words_of_capitals(name: str) -> list[str]:
    """'valLogLoss' as val, log, loss; 'testRMSE' as test, rmse."""
    return _words(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name))
