"""A comparison of two runs -> the sentences that say what it found, and of what it speaks."""

from __future__ import annotations

from ecv_core.analysis.comparison.further import DatasetRanks, FurtherTests
from ecv_core.analysis.comparison.paired_runs import Comparison
from ecv_core.analysis.significance import PairedTest
from ecv_core.records.parameters import percent_text, score_text


def p_words(p: float) -> str:
    """'p = 0.012', 'p < 0.001'."""
    if p < 0.001:
        return "p < 0.001"
    if p < 0.1:
        return f"p = {p:.3f}"
    return f"p = {p:.2f}"


def chance_words(probability: float) -> str:
    """'45.2 %', 'less than 0.1 %', 'more than 99.9 %': no more digits than a test is worth."""
    if probability < 0.001:
        return "less than 0.1 %"
    if probability > 0.999:
        return "more than 99.9 %"
    return percent_text(probability, ".1f")


def comparison_sentence(
    pair: Comparison, *, on_dataset: str = "", is_one_of_several: bool = True
) -> str:
    """'item-knn is better than popular by 0.0120 nDCG@10: ...'.

    Args:
        pair: Names and metric stand in the sentence as they are here.
        on_dataset: Title of the dataset, where there are several.
        is_one_of_several: Only of several comparisons is p corrected, and is Holm named.
    """
    test = pair.test
    on_dataset_words = ""
    if on_dataset:
        on_dataset_words = f" on {on_dataset}"
    numbers = _interval_and_p_words(test, pair.p_holm, is_one_of_several=is_one_of_several)
    scope = f"This holds for {test.speaks_of}."
    # On a table, `pair.test` compares the learners, that is, models fitted to other rows than
    # these. Where there is a test of the models that were fitted here, too, it is said beside it.
    if pair.test_of_fitted_models is not None and pair.p_holm_of_fitted_models is not None:
        of_models = _interval_and_p_words(
            pair.test_of_fitted_models,
            pair.p_holm_of_fitted_models,
            is_one_of_several=is_one_of_several,
        )
        scope = f"{scope} For {pair.test_of_fitted_models.speaks_of}: {of_models}."
    if pair.shows_difference:
        by_difference = f"by {score_text(test.difference)} {pair.metric}"
        return (
            f"{pair.first} is better than {pair.second}{on_dataset_words} {by_difference}: "
            f"{numbers}. {scope}"
        )
    return (
        f"No difference found between {pair.first} and {pair.second}{on_dataset_words}: "
        f"{score_text(test.difference)} apart, {numbers}. {scope}"
    )


def _interval_and_p_words(test: PairedTest, p_holm: float, *, is_one_of_several: bool) -> str:
    """'95 % interval of this pair alone 0.0100 to 0.0140, p = 0.002 after Holm'."""
    interval = "95 % interval"
    p = p_words(p_holm)
    # Holm's correction is of p alone: the interval is not corrected, and may exclude 0 all the
    # same.
    if is_one_of_several:
        interval = f"{interval} of this pair alone"
        p = f"{p} after Holm"
    return f"{interval} {score_text(test.low)} to {score_text(test.high)}, {p}"


def further_sentence(tests: FurtherTests) -> str:
    """What other tests say of a pair; not corrected for several comparisons."""
    parts = []
    if tests.chances is not None:
        first_better = chance_words(tests.chances.first)
        second_better = chance_words(tests.chances.second)
        equivalent = chance_words(tests.chances.equivalent)
        parts.append(
            f"{tests.first} is better by more than {tests.margin:.2g} with a probability of "
            f"{first_better}, {tests.second} with {second_better}, and they are practically "
            f"equivalent with {equivalent} (correlated Bayesian t test over folds)"
        )
    if tests.signed_rank_p is not None and tests.randomization_p is not None:
        parts.append(
            f"Wilcoxon's signed-rank test of {tests.first} and {tests.second} gives "
            f"{p_words(tests.signed_rank_p)}, a randomization test {p_words(tests.randomization_p)}"
        )
    # There is nothing to show where both score alike in every fold and no users are known.
    if not parts:
        return f"No other test tells anything of {tests.first} and {tests.second}."
    return f"{'; '.join(parts)}."


def ranks_sentence(ranks: DatasetRanks) -> str:
    """What Friedman's test and Nemenyi's say of learners on several datasets."""
    placed = []
    for learner, rank in zip(ranks.learners, ranks.test.mean_ranks, strict=True):
        placed.append(f"{learner} {rank:.2f}")
    return (
        f"Mean ranks on {len(ranks.datasets)} datasets by {ranks.metric}: {', '.join(placed)}. "
        f"Friedman's test gives {p_words(ranks.test.p)}; mean ranks more than "
        f"{ranks.test.critical_difference:.2f} apart differ at 5 % (Nemenyi)."
    )
