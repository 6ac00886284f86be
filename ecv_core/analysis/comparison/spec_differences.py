"""Several specs -> their settings field by field, which of them differ, and names to tell runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ecv_core.records import SETTINGS, Run, RunSpec
from ecv_core.stopping import RULES
from ecv_core.stopping.efold import alpha_text

ABSENT = "-"
"""What a field shows for a run that has no such setting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One setting of all runs."""

    name: str
    values: tuple[str, ...]
    """One per run, in their order."""

    @property
    def differs(self) -> bool:
        """Whether the runs that have this setting do not all have the same."""
        return len(set(self.values) - {ABSENT}) > 1

    @property
    def partial(self) -> bool:
        """Whether only some runs have it, such as a parameter of another algorithm."""
        return ABSENT in self.values and len(set(self.values)) > 1


def spec_fields(spec: RunSpec) -> dict[str, str]:
    """Every setting that means something for this run, as text, in the order of the stages."""
    looked_at = RULES[spec.rule].settings if spec.rule in RULES else ()
    found: dict[str, str] = {}
    for name, known in SETTINGS.items():
        if name == "params":
            found |= {f"{spec.algorithm}: {one}": str(value) for one, value in spec.params}
        elif name == "split_params":
            found |= {f"{spec.split}: {one}": str(value) for one, value in spec.split_params}
        elif known.row != "-" and (not known.of_rule or name in looked_at):
            found[known.words] = _text(spec, name)
    return found


def _text(spec: RunSpec, name: str) -> str:
    value = getattr(spec, name)
    if name == "split" and spec.folds_sha256:
        return f"file {spec.folds_sha256[:8]}"
    if name == "metric":
        return spec.metric_name
    if name == "negatives" and value is not None:
        return f"{value}, {spec.negative_sampling}"
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return " ".join(map(str, value)) or "all"
    return f"{value:g}" if isinstance(value, float) else str(value)


def differences(specs: Sequence[RunSpec]) -> list[Field]:
    """Every setting of any of the specs: first those that differ, then those only some have."""
    tables = [spec_fields(spec) for spec in specs]
    names = list(dict.fromkeys(name for table in tables for name in table))
    fields = [
        Field(name=name, values=tuple(table.get(name, ABSENT) for table in tables))
        for name in names
    ]
    return sorted(fields, key=lambda field: (not field.differs, not field.partial))


def names(runs: Sequence[Run], title: Callable[[str], str] = str) -> list[str]:
    """A short name per run, different from any other's on the same dataset and metric.

    What differs: the algorithm; where several runs have the same, the settings in which those
    differ; where these are the same too, the run's id. Without the algorithm where all runs on
    the dataset and metric have the same and something else tells them apart.

    Args:
        runs: any.
        title: of an algorithm's id; by default the id itself.
    """
    panels: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for at, run in enumerate(runs):
        panels[(run.spec.dataset, run.spec.metric_name)].append(at)
    found = [""] * len(runs)
    for panel in panels.values():
        of_algorithm: defaultdict[str, list[int]] = defaultdict(list)
        for at in panel:
            of_algorithm[runs[at].spec.algorithm].append(at)
        for algorithm, group in of_algorithm.items():
            told = _told_apart([runs[at].spec for at in group])
            for at, words in zip(group, told, strict=True):
                one_algorithm = len(of_algorithm) == 1 and all(told)
                found[at] = (
                    words if one_algorithm else ", ".join(filter(None, (title(algorithm), words)))
                )
                if told.count(words) > 1:
                    found[at] += f" ({runs[at].run_id[:6]})"
    return found


_RULE_FIELDS = tuple(SETTINGS[name].words for name in ("rule", "alpha", "tolerance"))
_OF_NO_SCORE = tuple(SETTINGS[name].words for name in ("full", "country"))
"""Named only where nothing else tells runs apart."""


def _told_apart(specs: Sequence[RunSpec]) -> list[str]:
    """Per spec what tells it from the others, in a few words; empty where nothing does."""
    fields = [one for one in differences(specs) if one.differs]
    rules = [_rule_in_short(spec) for spec in specs]
    others = [one for one in fields if one.name not in _RULE_FIELDS and _matters(one, specs)]
    first = [one for one in others if one.name not in _OF_NO_SCORE]
    for chosen in (first, others):
        told = [
            ", ".join(
                ([rules[at]] if len(set(rules)) > 1 else [])
                + [f"{one.name.split(': ')[-1]} {one.values[at]}" for one in chosen]
            )
            for at in range(len(specs))
        ]
        if len(set(told)) == len(told):
            break
    return told


def _matters(field: Field, specs: Sequence[RunSpec]) -> bool:
    """Whether a setting differs between runs of the same rule, if it is one of the rule."""
    if field.name != SETTINGS["min_folds"].words:
        return True
    of_rule = {(spec.rule, value) for spec, value in zip(specs, field.values, strict=True)}
    of_rule = {(rule, value) for rule, value in of_rule if rule != "fixed"}
    return len(of_rule) > len({rule for rule, _ in of_rule})


def _rule_in_short(spec: RunSpec) -> str:
    """'alpha 1e-4', 'precision 3 %', 'fixed 5', 'never'."""
    match spec.rule:
        case "e-fold":
            return f"alpha {alpha_text(spec.alpha)}"
        case "precision" if spec.tolerance is not None:
            return f"precision {100 * spec.tolerance:g} %"
        case "fixed":
            return f"fixed {spec.min_folds}"
    return spec.rule
