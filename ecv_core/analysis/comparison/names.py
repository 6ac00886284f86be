"""Runs -> a short name for each, made of what tells it from the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from ecv_core.analysis.comparison.fairness import dataset_and_metric
from ecv_core.analysis.comparison.settings import compared_settings, rule_parameter_fields
from ecv_core.records.run import RunRecord
from ecv_core.records.spec import SETTINGS, RunSpec
from ecv_core.stopping import RULES

_SETTINGS_IN_NO_NAME = {SETTINGS[name].words for name in ("full", "country", "rule", "min_folds")}
"""Rules are named in words of their own; the others decide no score."""


def distinct_names(runs: Sequence[RunRecord], title: Callable[[str], str] = str) -> list[str]:
    """Give each run a short name, different from any other's on the same dataset and metric.

    The name says what differs: the algorithm; where several runs have the same, the settings in
    which those differ; where these are the same too, the run's id. The algorithm is left out where
    all runs on the dataset and metric have the same and something else tells them apart.

    Args:
        runs: Any runs.
        title: The title of an algorithm's id; by default the id itself.
    """
    # A subject is a dataset and a metric. Subject and algorithm -> the places of such runs in
    # `runs`.
    run_numbers: defaultdict[tuple[tuple[str, str], str], list[int]] = defaultdict(list)
    algorithms: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for number, run in enumerate(runs):
        subject = dataset_and_metric(run.spec)
        run_numbers[subject, run.spec.algorithm].append(number)
        algorithms[subject].add(run.spec.algorithm)
    names = [""] * len(runs)
    for (subject, algorithm), numbers in run_numbers.items():
        names_of_algorithm = _names_of_algorithm(
            [runs[number] for number in numbers],
            title(algorithm),
            is_only_algorithm=len(algorithms[subject]) == 1,
        )
        for number, name in zip(numbers, names_of_algorithm, strict=True):
            names[number] = name
    return names


def _names_of_algorithm(
    runs: Sequence[RunRecord], algorithm_title: str, *, is_only_algorithm: bool
) -> list[str]:
    """Names of the runs of one algorithm on a dataset by a metric.

    Args:
        runs: The runs of the algorithm.
        algorithm_title: The title of the algorithm.
        is_only_algorithm: Whether no other ran there, so that this one goes without saying.
    """
    descriptions = _descriptions([run.spec for run in runs])
    if is_only_algorithm and all(descriptions):
        algorithm_title = ""
    names = []
    for run, description in zip(runs, descriptions, strict=True):
        name = ", ".join(filter(None, (algorithm_title, description)))
        if descriptions.count(description) > 1:
            name += f" ({run.run_id[:6]})"
        names.append(name)
    return names


def _descriptions(specs: Sequence[RunSpec]) -> list[str]:
    """For each spec what tells it from the others, in a few words; empty where nothing does."""
    rules = [_rule_in_short(spec) for spec in specs]
    # The words for a rule have its settings already.
    not_in_names = set(_SETTINGS_IN_NO_NAME)
    for spec in specs:
        not_in_names |= rule_parameter_fields(spec).keys()
    fields = []
    for field in compared_settings(specs):
        if field.differs and field.name not in not_in_names:
            fields.append(field)
    descriptions = []
    for number, rule in enumerate(rules):
        parts = []
        if len(set(rules)) > 1:
            parts.append(rule)
        for field in fields:
            # A field 'bpr-mf: epochs' is of a parameter; its owner is the same for all specs.
            setting = field.name.split(": ")[-1]
            parts.append(f"{setting} {field.values[number]}")
        descriptions.append(", ".join(parts))
    return descriptions


def _rule_in_short(spec: RunSpec) -> str:
    """'alpha 1e-4', 'precision 3 %', 'fixed 5', 'never'."""
    rule = RULES.get(spec.rule)
    if rule is None:
        return spec.rule
    return rule.words(spec, alone=True)
