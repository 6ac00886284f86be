"""The command line, or the Python call, that repeats a run."""

from __future__ import annotations

import shlex

from ecv_core import models, splits, stopping
from ecv_core.fold.spec import usual_k, usual_min_folds, usual_rule
from ecv_core.records.parameters import Params
from ecv_core.records.spec import SCORES, SETTINGS, Role, RunSpec


def command_for(spec: RunSpec) -> str:
    """The command line that repeats a run, or has it tracked again; defaults are left out.

    Imported folds are named by the hash under which a copy is kept on this machine.
    """
    words = ["python", "-m", "ecv_core"]
    words += (
        ["track", spec.algorithm, spec.dataset]
        if spec.tracked
        else ["run", spec.dataset, spec.algorithm]
    )
    told = _told(spec)
    for name, value in (spec.part(Role.STOP) | spec.part(*SCORES, Role.REPORT)).items():
        known = SETTINGS[name]
        if name == "folds_sha256" and value:
            words += ["--folds", str(value)]
        elif name == "own_metric" and _reported(spec):
            words += _own_metric(spec)
        elif name == "params":
            words += _named("--param", spec.params, models.of(spec).resolve({}))
        elif name == "split_params" and not spec.folds_sha256:
            defaults = splits.strategy(spec.split).resolve({})
            words += _named("--split-param", spec.split_params, defaults)
        elif name == "rule_params":
            words += _of_rule(spec)
        if name == "metric" and _reported(spec):
            continue
        if name in told or (known.always_told and _asked(spec, name)):
            words += [str(known.option)]
            words += [] if known.kind is bool else [known.text(value)]
    return shlex.join(words)


def track_call(spec: RunSpec) -> str:
    """The Python call that tracks this run, and goes on with it where it was cut off."""
    given: dict[str, object] = {"dataset": spec.dataset, "k": spec.k, "metric": spec.metric_name}
    given |= {"rule": spec.rule, "seed": spec.seed}
    given |= {name: value for name, value in _told(spec).items() if name != "n"} | given
    if spec.params:
        given["params"] = dict(spec.params)
    if spec.rule_params:
        given["rule_params"] = dict(spec.rule_params)
    if spec.split_params and not spec.folds_sha256:
        given["split_params"] = dict(spec.split_params)
    if spec.folds_sha256:
        given["folds_sha256"] = spec.folds_sha256
        del given["k"]
    said = {name: repr(value) for name, value in given.items()}
    if _reported(spec):
        about = dict(spec.own_metric)
        usual = {"higher_is_better": True, "kind": "hits", "title": "", "unit": ""}
        more = "".join(
            f", {name}={about[name]!r}" for name, value in usual.items() if about[name] != value
        )
        said["metric"] = f"ecv.Metric({spec.metric!r}{more})"
    words = ", ".join(f"{name}={text}" for name, text in said.items())
    return f"ecv.track({spec.algorithm!r}, {words})"


def _reported(spec: RunSpec) -> bool:
    """Whether the run is scored by a metric that only other code computes."""
    return bool(spec.own_metric) and not dict(spec.own_metric)["code"]


def _own_metric(spec: RunSpec) -> list[str]:
    about = dict(spec.own_metric)
    words = ["--own-metric", spec.metric]
    words += [] if about["higher_is_better"] else ["--lower-is-better"]
    return words + (["--unit", str(about["unit"])] if about["unit"] else [])


def _told(spec: RunSpec) -> dict[str, object]:
    """The settings with an option that are not as they are where nobody asks."""
    usual = {name: one.default for name, one in SETTINGS.items()} | {
        "metric": None if spec.tracked else spec.task.usual_metric,
        "split": spec.task.usual_split,
        "k": usual_k(spec.split, imported=spec.folds_sha256 is not None),
        "rule": usual_rule(spec.split, spec.k),
        "min_folds": usual_min_folds(spec.rule, spec.k),
    }
    if spec.folds_sha256:
        usual |= {"split": spec.split, "k": spec.k}  # the file says both
    parts = spec.part(Role.STOP) | spec.part(*SCORES, Role.REPORT)
    return {
        name: value for name, value in parts.items() if value != usual[name] and _asked(spec, name)
    }


def _of_rule(spec: RunSpec) -> list[str]:
    """The options of the rule's parameters that are not as usual, or always told."""
    words = []
    for one in stopping.rule(spec.rule).parameters:
        value = dict(spec.rule_params).get(one.name, one.default)
        if one.required or one.always_told or value != one.default:
            option = [one.flag, str(value)] if one.flag else ["--rule-param", f"{one.name}={value}"]
            words += option
    return words


def _asked(spec: RunSpec, name: str) -> bool:
    """Whether a setting has an option, and means something with the run's rule."""
    known = SETTINGS[name]
    return known.option is not None and not (
        known.of_rule and name not in stopping.rule(spec.rule).told
    )


def _named(option: str, values: Params, usual: Params) -> list[str]:
    """What is not as usual, each as 'OPTION NAME=VALUE'."""
    told = [one for one in values if one not in usual]
    return [word for name, value in told for word in (option, f"{name}={value}")]
