"""Which of several runs is better, by paired tests on the folds that they share."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from ecv_core.analysis.comparison.further import (
    MARGIN,
    DatasetRanks,
    FurtherTests,
    further_tests,
    rank_over_datasets,
)
from ecv_core.analysis.comparison.names import distinct_names
from ecv_core.analysis.comparison.paired_runs import Comparison, Untested, compare_runs
from ecv_core.cli import write_answer
from ecv_core.cli.options import add_json
from ecv_core.figures.verdicts import comparison_sentence, further_sentence, ranks_sentence
from ecv_core.figures.words import counted
from ecv_core.records.errors import InputError
from ecv_core.records.run import RunRecord
from ecv_core.store.lookup import find_run
from ecv_core.store.results import Results
from ecv_core.store.store import open_store


def compare_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run_ids",
        metavar="RUN",
        nargs="+",
        help=(
            "At least two runs: their ids, the beginnings of ids, or names of recorded runs, such "
            "as ml-100k--popular."
        ),
    )
    parser.add_argument(
        "--rope",
        type=float,
        metavar="0.01",
        help="Largest difference that does not matter in practice, in the unit of the score. "
        f"Default: {100 * MARGIN:g} %% of the better mean.",
    )
    add_json(parser)


def compare_command(options: argparse.Namespace) -> None:
    """Test every pair that can be tested fairly, and say why others are not."""
    runs = _runs(options.run_ids)
    ids = [run.run_id for run in runs]
    name_of_run = dict(zip(ids, distinct_names(runs), strict=True))
    comparisons, untested = compare_runs(runs)
    tests_of_pairs = further_tests(comparisons, runs, options.rope)
    ranks = rank_over_datasets(runs)
    dataset_count = len({comparison.dataset for comparison in comparisons})
    lines = []
    pairs = []
    for comparison, tests in zip(comparisons, tests_of_pairs, strict=True):
        first = name_of_run[comparison.first]
        second = name_of_run[comparison.second]
        on_dataset = ""
        if dataset_count > 1:
            on_dataset = comparison.dataset
        sentence = comparison_sentence(
            replace(comparison, first=first, second=second),
            on_dataset=on_dataset,
            is_one_of_several=len(comparisons) > 1,
        )
        lines.append(sentence)
        lines.append(f"  {further_sentence(replace(tests, first=first, second=second))}")
        pairs.append(_pair_document(comparison, tests, sentence))
    lines += _untested_lines(untested, name_of_run)
    for metric_ranks in ranks:
        lines.append(ranks_sentence(metric_ranks))
        for reason in metric_ranks.left_out:
            lines.append(f"  not ranked: {reason}")
    document = {
        "runs": name_of_run,
        "pairs": pairs,
        "untested": list(map(asdict, untested)),
        "datasets": list(map(_ranks_document, ranks)),
    }
    write_answer(options, document, "\n".join(lines))


def _untested_lines(untested: Sequence[Untested], name_of_run: Mapping[str, str]) -> list[str]:
    """Why pairs were not tested; those on different data are counted."""
    lines = []
    on_other_data = 0
    for pair in untested:
        if pair.on_other_data:
            on_other_data += 1
        else:
            first = name_of_run[pair.first]
            second = name_of_run[pair.second]
            lines.append(f"Not tested: {first} and {second} ({pair.reason}).")
    if on_other_data:
        lines.append(
            f"Not tested: {counted(on_other_data, 'pair')} on different datasets or metrics."
        )
    return lines


def _runs(run_ids: Sequence[str]) -> list[RunRecord]:
    """The runs of these names, each once, with the scores of their users.

    Raises:
        InputError: For fewer than two runs with a finished fold, or a name that is no run's.
    """
    store = open_store()
    results = Results(store)
    runs = {}
    for run_id in run_ids:
        run = find_run(run_id, store=store)
        if not run.folds:
            raise InputError(
                f"run {run.run_id} has no finished fold, so it cannot be compared; leave it out"
            )
        # A run that is named twice is compared once.
        runs[run.run_id] = results.with_user_scores(run)
    if len(runs) < 2:
        raise InputError(f"a comparison needs at least two runs, but got {len(runs)}")
    return list(runs.values())


def _pair_document(comparison: Comparison, tests: FurtherTests, sentence: str) -> dict[str, Any]:
    """A pair: its test, its further tests, and its sentence."""
    document = asdict(comparison)
    # Programs that read the document know these values by shorter names.
    document["fitted"] = document.pop("test_of_fitted_models")
    document["fitted_p_holm"] = document.pop("p_holm_of_fitted_models")
    document["shows_difference"] = comparison.shows_difference
    document["speaks_of"] = comparison.test.speaks_of
    document["further"] = asdict(tests)
    document["sentence"] = sentence
    return document


def _ranks_document(ranks: DatasetRanks) -> dict[str, Any]:
    test = ranks.test
    return {
        "metric": ranks.metric,
        "datasets": list(ranks.datasets),
        "learners": list(ranks.learners),
        "mean_ranks": test.mean_ranks.tolist(),
        "friedman_statistic": test.statistic,
        "friedman_p": test.p,
        "nemenyi_p": test.nemenyi_p.tolist(),
        "critical_difference": test.critical_difference,
        "left_out": list(ranks.left_out),
    }
