"""A name -> the metric that it names, and whether higher or lower values of that are better.

The project's own metrics and those of plug-ins say it themselves; the table here is of metrics that
other programs compute, under the names by which their files call them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from ecv_core.evaluation.metrics import METRICS

_LOWER_IS_BETTER = """
    rmse = root mean squared error, mse = mean squared error, mae = mean absolute error,
    msle = mean squared log error, rmsle = root mean squared log error,
    mape = mean absolute percentage error, smape, wape, wmape, mase, rmsse, nrmse, nmae, rmspe,
    mspe, medae = mdae = median absolute error, rae, rse, rrse, rss, sse, sae, mad, rmsd, crps,
    squared error, absolute error, nloglik, huber, ndpm, mre, mdape, error = errors = err,
    error rate = misclassification rate = misclassification = misclass,
    log loss = logloss = cross entropy = crossentropy = xent = bce, pinball = pinball loss,
    hinge = hinge loss, hamming = hamming loss, zero one = zero one loss, brier = brier loss,
    perplexity = ppl, bpc, bpb, wer, cer, eer, ece, mce, fid, lpips,
    kl = kldiv = kl div = kullback leibler, divergence, jsd, distance, wasserstein, hausdorff,
    chamfer, regret, risk, cost, gini = gini index = giniindex,
    fpr = false positive rate = fallout = fall out = false alarm rate,
    fnr = false negative rate = miss rate, fdr = false discovery rate, davies bouldin, inertia,
    average rank = avg rank = mean rank, negative likelihood ratio, residual, residuals,
    false positives, false negatives, popularity bias, average popularity = averagepopularity,
    levenshtein = edit distance, ce, ber, hter, fpr95, dcf, mindcf, misclassified, incorrect,
    percent incorrect, number incorrect, bbrier, mbrier, winkler, interval score, msis, fvd, mpjpe,
    absrel
"""
"""Lower is better, and no value is below zero. Between '=' are further names of the same metric."""
_LOWER_OF_ANY_SIGN = """
    loss = losses, nll = negative log likelihood = neg log likelihood, deviance, aic, bic, aicc,
    waic, looic, dic
"""
"""Lower is better, and values may be below zero."""
_WITH_HIGHEST = """
    error rate, hamming, zero one, brier, eer, ece, mce, gini, fpr, fnr, fdr, smape, jsd, ndpm
"""
"""Of those of which lower is better: they can be only so high."""
_WITHOUT_LOWEST = """
    r2, explained variance, log likelihood, elpd, elbo, evidence, psnr, d2 log loss, d2 brier,
    d2 absolute error, d2 pinball, d2 tweedie, revenue, reward, return, gain, utility, profit
"""
"""Of those of which higher is better: they can be as low as one likes."""
_HIGHER_IS_BETTER = """
    accuracy = acc, top k accuracy, balanced accuracy = balanced acc = bal accuracy = bacc, f1, f2,
    fbeta, f score, f measure, precision = ppv,
    recall = sensitivity = sens = tpr = true positive rate, specificity = spec = tnr, npv, dcg,
    ndcg, hit rate = hitrate = hit ratio = hr = hit, hits,
    mrr = mean reciprocal rank = reciprocal rank = recip rank = rr, ap = average precision,
    map = mean average precision, auc = auroc = roc auc = roc, pr auc = auprc = aucpr,
    grouped auc = gauc, jaccard = iou, miou, dice, mcc = matthews corrcoef, kappa = cohen kappa,
    qwk, r2 = r 2 = r squared = rsquared = rsq, explained variance, bleu, sacrebleu, chrf, rouge,
    meteor, cider, spice, bertscore, comet, spearman, pearson, kendall, correlation = corr,
    log likelihood = loglikelihood = loglik, likelihood, positive likelihood ratio, elbo, elpd,
    evidence, psnr, ssim, novelty, diversity, serendipity, coverage, ctr, cvr, revenue, reward,
    return, gain, utility, profit, lift, success rate, win rate, silhouette, calinski harabasz,
    rand, ari, nmi, ami, mutual info, homogeneity, completeness, v measure, fowlkes mallows,
    concordance = c index, exact match, expected reciprocal rank, rbp, intra list distance = ild,
    improvement, reduction, throughput, shannon entropy,
    normalized gini = normalised gini = norm gini, gini simpson, d2 log loss, d2 brier,
    d2 absolute error, d2 pinball, d2 tweedie
"""
"""Higher is better."""
_SHARES = """
    accuracy, top k accuracy, f1, f2, fbeta, f score, f measure, precision, recall, specificity,
    npv, dcg, ndcg, hit rate, hits, mrr, ap, map, auc, pr auc, grouped auc, jaccard, miou, dice,
    coverage
"""
"""Of those of which higher is better: no value is below zero."""
_NORMS = {"l1": "mae", "l2": "mse"}
"""LightGBM's names of these errors. Models are called so after their penalties, too."""
_NEGATED = frozenset({"neg", "negative", "negated", "minus"})
"""Before a metric's name they turn its values round, as scikit-learn's `neg_log_loss` does."""
_MINUS = "[-\u2212\u2013]"
"""A hyphen, a minus sign, or the dash that stands for it."""
_TURNED_ROUND = re.compile(
    rf"\s*({_MINUS}|1\s*/|100\s+{_MINUS}\s|100{_MINUS}|1\s+{_MINUS}\s|1{_MINUS}"
    r"|(?:inverse|reciprocal of|one minus)(?![a-z]))[\s_]*(?=[A-Za-z])",
    re.IGNORECASE,
)
"""What a name begins with whose values rise where those of the metric after it fall: '1 - rmse'."""
_RECIPROCAL_RANK_AT = re.compile(r"\berr\s*@", re.IGNORECASE)
"""With a cut-off ERR is the expected reciprocal rank (Chapelle et al. 2009), and no error."""
_AT = re.compile(r"\s*@\s*(?=[a-z])|[\s_]+at[\s_]+(?=[a-z])", re.IGNORECASE)
"""Behind it is where a metric was taken: 'tpr@fpr=0.01', 'accuracy at lowest loss'."""
_BESIDE = "test|train|valid|val|eval|cv|dev|oof|top\\d*|m|multi|binary"
_RUN_TOGETHER = re.compile(rf"^(?:{_BESIDE})(\w+)$")
"""A word before a metric's own without a space: 'testrmse', and XGBoost's 'mlogloss'."""
_QUALIFIERS = """
    test train training testset trainset val valid validation dev eval cv oof holdout score scores
    value metric mean average avg macro micro weighted samples binary ovr ovo at k top final best
    rate root squared absolute percentage median max full neg negative
"""
"""Words beside a metric's own that do not make a contender's name of it."""
_OF_TEST = ("test", "score")
"""Words beside a metric's own that do not tell two names of one file apart."""
_NEUTRAL = (
    *_OF_TEST,
    *("testset", "val", "valid", "validation", "dev", "eval", "cv", "oof", "holdout", "scores"),
    *("value", "metric", "result", "results", "estimate", "mean", "average", "avg", "binary"),
    *("multi", "at", "k"),
)
"""Likewise of names in different files."""


@dataclass(frozen=True, kw_only=True)
class NamedMetric:
    """A metric that a name names."""

    words: str
    """Those that name it, such as 'logloss'."""
    higher_is_better: bool
    usual_name: str = ""
    """The same for every name of the metric: 'log loss'; empty for one that is not known."""
    sign: int = 0
    """1 where no value of it is below zero, -1 where none is above, as of a negated error; others
    have values on both sides."""
    has_worst_score: bool = True
    """Whether it can be only so bad; of a name that is not known that is taken for so."""


def metric_named(name: str, *, is_metric: bool = False) -> NamedMetric | None:
    """The metric that a name ends with, or has in it; None where none is known.

    Of several the last counts, for that is what the name is of: 'ndcg_loss' is a loss. A name may
    say its direction itself: 'Gini index@10 (lower is better)', 'RMSE ↓'.

    Args:
        name: The name of a column, a file or a metric: 'test_rmse', 'valLogLoss',
            'neg_mean_squared_error'.
        is_metric: Whether it is certainly a metric's, so that 'l2' is no model with that penalty.
    """
    higher_is_better = _says_higher_is_better(name)
    metric = _metric_in(name) or _norm_in(name, is_metric=is_metric)
    if higher_is_better is None:
        return metric
    if metric is None:
        return NamedMetric(words=name.strip(), higher_is_better=higher_is_better)
    return replace(metric, higher_is_better=higher_is_better)


def _metric_in(name: str) -> NamedMetric | None:
    """The last metric in a name, turned round where its beginning says so."""
    table = _metrics_by_words()
    # 'ERR' is an error, but 'ERR@10', with a cut-off, is the expected reciprocal rank.
    name = _RECIPROCAL_RANK_AT.sub("expected reciprocal rank@", name)
    name = name.replace("²", "2")
    head, *condition = _AT.split(name, maxsplit=1)
    if condition:
        metric = _metric_in(head)
        if metric is not None:
            return metric
    prefix = _TURNED_ROUND.match(name)
    if prefix is not None:
        words = _words(name[prefix.end() :])
        metric = _last_metric(words, table)
        # In '1 - rmse' the metric follows at once, and its direction is reversed. '1-NN accuracy'
        # begins in the same way, but has another word before its metric, and is an accuracy.
        if metric is not None:
            metric_words = metric.words.split()
            if words[: len(metric_words)] == metric_words:
                has_only_sign = re.fullmatch(_MINUS, prefix[1]) is not None
                return _with_other_direction(metric, is_negated=has_only_sign)
    # Names join their words in ways such as 'test_rmse', 'testRMSE' and 'testrmse', in this order.
    # If a name has several metrics, the last one counts: 'ndcg_loss' is a loss.
    for words in (_words(name), _words_of_capitals(name), _words_without_prefixes(name)):
        metric = _last_metric(words, table)
        if metric is not None:
            return metric
    return None


def is_norm(name: str) -> bool:
    """Whether a name is 'l1' or 'l2' alone: of a loss, or of a model with such a penalty."""
    return name.strip().lower() in _NORMS


def _norm_in(name: str, *, is_metric: bool) -> NamedMetric | None:
    """'l1' or 'l2' at the end of a metric's name, or behind samples, as in 'valid_0 l2'."""
    words = _words(name)
    if not words or words[-1] not in _NORMS:
        return None
    # In 'test l2' the word before says that 'l2' is a metric of some samples. A column called 'l2'
    # alone may be a model with this penalty.
    follows_samples = len(words) > 1 and all(map(_is_qualifier, words[:-1]))
    if not is_metric and not follows_samples:
        return None
    return NamedMetric(
        words=words[-1],
        higher_is_better=False,
        usual_name=_NORMS[words[-1]],
        sign=1,
        has_worst_score=False,
    )


def is_metric_name(name: str) -> bool:
    """Whether a name is that of a metric and of nothing else: 'test_rmse', but not 'SVD rmse'."""
    metric = metric_named(name)
    words = _words_with_metric(name)  # The words of 'testRMSE' are test and rmse.
    if metric is None:
        # 'test_score' is some metric, although it does not say which. Both words are qualifiers, so
        # that no contender is named.
        return "score" in words and all(map(_is_qualifier, words))
    # Beside the metric's own words 'test_rmse' has a qualifier, but 'SVD rmse' has a contender.
    further_words = [word for word in words if word not in metric.words.split()]
    return all(map(_is_qualifier, further_words))


def _words_with_metric(name: str) -> list[str]:
    """The words of a name, taken apart in the first way that leaves a metric's own among them."""
    table = _metrics_by_words()
    for words in (_words(name), _words_of_capitals(name)):
        ends_with_norm = bool(words) and words[-1] in _NORMS
        if ends_with_norm or _last_metric(words, table) is not None:
            return words
    return _words_without_prefixes(name)


def _is_qualifier(word: str) -> bool:
    """Whether a word, such as 'test' or the '10' of a cut-off, says nothing of a contender."""
    return word.isdecimal() or word in _QUALIFIERS.split()


def same_metric(name: str, other: str) -> bool:
    """Whether two names are of one metric and cut-off: 'Test RMSE', 'root_mean_squared_error'.

    What is no known synonym has to have the same words: 'recall_macro' is not 'recall_micro'.
    """
    words = _words_of_metric(name, _OF_TEST)
    if not words:  # Both may be called 'score', which names no metric.
        return _words(name) == _words(other)
    return words == _words_of_metric(other, _OF_TEST)


def may_be_same_metric(name: str, other: str) -> bool:
    """Whether nothing in two names shows that they are of different metrics.

    A name such as 'score' does not say what it is of, and 'ndcg' leaves out its cut-off.
    """
    words = _words_of_metric(name, _NEUTRAL)
    others = _words_of_metric(other, _NEUTRAL)
    if not words or not others:
        return True
    cutoffs = list(filter(str.isdecimal, words))
    other_cutoffs = list(filter(str.isdecimal, others))
    if cutoffs and other_cutoffs:
        return words == others
    return _without(words, cutoffs) == _without(others, other_cutoffs)


def _words_of_metric(name: str, neutral: Collection[str]) -> list[str]:
    """What says which metric a name is of: 'Test acc@10' as accuracy, 10; nothing of 'score'.

    Args:
        name: Of a metric, perhaps.
        neutral: Words that say nothing, unless they are in the metric's own, as in 'mean rank'.
    """
    words = _words_with_metric(name)
    metric = metric_named(name, is_metric=True)
    if metric is None or not metric.usual_name:
        return _without(words, neutral)
    before, own_words, after = f" {' '.join(words)} ".partition(f" {metric.words} ")
    if not own_words:  # 'ERR@10' is known by other words than its own.
        return [*_without(words, neutral), metric.usual_name]
    return [
        *_without(before.split(), neutral),
        metric.usual_name,
        *_without(after.split(), neutral),
    ]


def _without(words: Sequence[str], left_out: Collection[str]) -> list[str]:
    return [word for word in words if word not in left_out]


def _metrics_by_words() -> dict[tuple[str, ...], NamedMetric]:
    """By the words of their names; what the project and plug-ins say goes before the table."""
    table = dict(_metrics_of_other_programs())
    for metric in METRICS.values():
        words = _words(metric.id)
        usual_name = " ".join(words)
        has_worst_score = metric.has_worst_score
        namesake = table.get(tuple(words))
        if namesake is not None:
            usual_name = namesake.usual_name
            # Other programs may not clip predicted ratings, so their errors have no upper limit.
            has_worst_score = has_worst_score and namesake.has_worst_score
        table[tuple(words)] = NamedMetric(
            words=" ".join(words),
            higher_is_better=metric.higher_is_better,
            usual_name=usual_name,
            sign=int(metric.low >= 0),
            has_worst_score=has_worst_score,
        )
    return table


@cache
def _metrics_of_other_programs() -> Mapping[tuple[str, ...], NamedMetric]:
    """Those of the tables above, by the words of each of their names."""
    metrics = []
    without_lowest = _synonyms(_WITHOUT_LOWEST)
    shares = _synonyms(_SHARES)
    for names in _synonyms(_HIGHER_IS_BETTER):
        metric = NamedMetric(
            words=names[0],
            higher_is_better=True,
            sign=int(names[:1] in shares),
            has_worst_score=names[:1] not in without_lowest,
        )
        metrics.append((names, metric))
    with_highest = _synonyms(_WITH_HIGHEST)
    for names in _synonyms(_LOWER_IS_BETTER):
        metric = NamedMetric(
            words=names[0],
            higher_is_better=False,
            sign=1,
            has_worst_score=names[:1] in with_highest,
        )
        metrics.append((names, metric))
    for names in _synonyms(_LOWER_OF_ANY_SIGN):
        metric = NamedMetric(words=names[0], higher_is_better=False, has_worst_score=False)
        metrics.append((names, metric))
    by_words = {}
    for names, metric in metrics:
        for words in names:
            by_words[tuple(words.split())] = replace(metric, words=words, usual_name=names[0])
    return by_words


def _synonyms(table: str) -> list[list[str]]:
    """The names of each metric of a table, the usual one first, with a blank between words."""
    metrics = []
    for names in table.split(","):
        metrics.append([" ".join(name.split()) for name in names.split("=")])
    return metrics


def _last_metric(
    words: Sequence[str], table: dict[tuple[str, ...], NamedMetric]
) -> NamedMetric | None:
    longest = max(len(phrase) for phrase in table)
    # The last metric counts. Where several end at the same word, the one with most words counts.
    for end in range(len(words), 0, -1):
        for begin in range(max(end - longest, 0), end):
            metric = table.get(tuple(words[begin:end]))
            if metric is None:
                continue
            if _NEGATED.intersection(words[:begin]):
                return _with_other_direction(metric, is_negated=True)
            return metric
    return None


def _with_other_direction(metric: NamedMetric, *, is_negated: bool) -> NamedMetric:
    """The metric of values that were turned round, as -x, or as 1 - x, which may have any sign."""
    sign = 0
    if is_negated:
        sign = -metric.sign
    return replace(metric, higher_is_better=not metric.higher_is_better, sign=sign)


def _says_higher_is_better(name: str) -> bool | None:
    """Whether higher is better, where the name says it in words or with an arrow."""
    plain = " ".join(_words(name))
    if "lower is better" in plain or "↓" in name:
        return False
    if "higher is better" in plain or "↑" in name:
        return True
    return None


def _words(name: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", name.lower())


def _words_without_prefixes(name: str) -> list[str]:
    """'testrmse' as rmse, 'train-mlogloss-mean' as train, logloss, mean."""
    return [_RUN_TOGETHER.sub(r"\1", word) for word in _words(name)]


def _words_of_capitals(name: str) -> list[str]:
    """'valLogLoss' as val, log, loss; 'testRMSE' as test, rmse."""
    return _words(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name))
