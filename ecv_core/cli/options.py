"""What commands have in common: options, where folds are computed, what is said meanwhile."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ecv_core import stopping
from ecv_core.records.errors import InputError
from ecv_core.records.parameters import Parameter
from ecv_core.records.run import Progress
from ecv_core.records.spec import SETTINGS, Setting
from ecv_core.records.tasks import Task

if TYPE_CHECKING:
    from tqdm import tqdm

    from ecv_core.jobs.executors import Executor
    from ecv_core.jobs.plan_runs import SaveAttempts


def named_values(words: Sequence[str], option: str) -> dict[str, str]:
    """What was given as `option NAME=VALUE`, any number of times. Raises: InputError."""
    values = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise InputError(f"{option} takes name=value, but got '{word}'")
        values[name] = value
    return values


# Arguments that several commands have.

DATASET = "Id of a dataset; the command datasets lists them."
ALGORITHM = "Id of an algorithm; `run --help` lists them."
RUN = "The run's id, or the beginning of it."
ANY_RUN = (
    "The run's id, the beginning of it, or the name of a recorded run, such as ml-100k--popular."
)


def add_json(parser: argparse.ArgumentParser, what: str = "the result") -> None:
    """Add the option that writes a command's answer for programs.

    Args:
        parser: The parser of the command.
        what: Is written.
    """
    parser.add_argument("--json", metavar="FILE", help=f"Write {what} as JSON; - for stdout.")


# The settings of a run as options of a command.


def add_settings(parser: argparse.ArgumentParser, names: Iterable[str]) -> None:
    """Add the options of these settings, of those that have one, and of the rules' parameters."""
    for name in names:
        if name == "rule_params":
            add_rule_params(parser)
        elif SETTINGS[name].option:
            add_setting(parser, name)


def add_rule_params(
    parser: argparse._ActionsContainer, *, without_default: Collection[str] = ()
) -> None:
    """Add what sets the parameters of the rule: options of their own, and one for all others.

    Args:
        without_default: Parameters that have to be said to this command.
    """
    for parameter in stopping.rule_options().values():
        if parameter.name in without_default:
            parameter = replace(parameter, required=True)
        add_rule_param(parser, parameter)
    parser.add_argument(
        "--rule-param",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="Set a parameter of the rule, such as relative_alpha=0.005.",
    )


def add_rule_param(
    parser: argparse._ActionsContainer,
    parameter: Parameter,
    **overrides: Any,  # noqa: ANN401
) -> None:
    """Add the option of a rule's parameter that has one of its own.

    Args:
        parameter: Its value is checked with the rule's.
        overrides: What is otherwise in this command, as for `add_argument`.
    """
    rules = " or ".join(stopping.rules_that_take(parameter.name))
    text = f"{parameter.help} For the rule {rules}."
    if parameter.required:
        text += " It has no default."
    elif parameter.default:
        text += f" Default: {parameter.default}."
    defaults = {
        "dest": parameter.name,
        "metavar": parameter.metavar or str(parameter.default),
        "help": text.replace("%", "%%"),
    }
    parser.add_argument(parameter.flag, **defaults | overrides)


def rule_params_from_options(options: argparse.Namespace, rule: str) -> dict[str, Any]:
    """What the options say of the parameters of a rule.

    Raises:
        UnknownName: For the rule.
        InputError: For an option of another rule's.
    """
    chosen_rule = stopping.rule(rule)
    own_names = {parameter.name for parameter in chosen_rule.parameters}
    values: dict[str, Any] = dict(named_values(options.rule_param, "--rule-param"))
    for name, parameter in stopping.rule_options().items():
        value = getattr(options, name, None)
        if value is None:
            continue
        flag = parameter.flag
        if name not in own_names:
            rules = " or ".join(stopping.rules_that_take(name))
            raise InputError(f"{flag} belongs to --rule {rules}, but the rule is {chosen_rule.id}")
        if name in values:
            raise InputError(
                f"{flag} and --rule-param {name} set the same parameter; leave one of them out"
            )
        values[name] = value
    return values


def add_setting(parser: argparse._ActionsContainer, name: str, **overrides: Any) -> None:  # noqa: ANN401
    """Add the option of one setting.

    Args:
        overrides: What is otherwise in this command, as for `add_argument`.
    """
    setting = SETTINGS[name]
    defaults: dict[str, Any] = {"dest": name, "help": _help(setting).replace("%", "%%")}
    if setting.kind is bool:
        defaults["action"] = "store_true"
    else:
        defaults["metavar"] = setting.metavar or str(setting.default or setting.name.upper())
        defaults["type"] = setting.kind
        if setting.kind is tuple:
            defaults["type"] = partial(_several, setting)
        if not setting.derived_default:
            defaults["default"] = setting.default
    parser.add_argument(str(setting.option), **defaults | overrides)


def values_of(options: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """The values of those of these options that the command has and that were given, by name."""
    values = {}
    for name in names:
        value = getattr(options, name, None)
        if value is not None:
            values[name] = value
    return values


def _help(setting: Setting) -> str:
    text = setting.help
    if setting.choices:
        text += f" One of: {', '.join(setting.choices)}."
    if setting.derived_default:
        text += f" Default: {setting.derived_default}."
    elif setting.default not in (None, False, ()):
        text += f" Default: {setting.default}."
    return text.strip()


def _several(setting: Setting, text: str) -> tuple[int, ...]:
    """The whole numbers of a text with commas between them."""
    parts = [part.strip() for part in text.split(",")]
    try:
        return tuple(int(part) for part in parts if part)
    except ValueError:
        raise InputError(f"{setting.option} takes numbers like 0,1 but got '{text}'") from None


# How folds and other programs use the machine, of the commands that compute.


OF_MACHINE = ("share_machine", "wait_for_quiet", "no_energy")


# Which split, how many folds, which seed; `folds` writes them, the others compute them.


OF_SPLITS = ("split", "k", "seed")
"""Settings that every split has."""


def add_split_options(parser: argparse.ArgumentParser, **seed_options: Any) -> None:  # noqa: ANN401
    """Add them to a command's parser.

    Args:
        seed_options: What is otherwise with the seed in this command, as for `add_argument`.
    """
    from ecv_core.splits import SPLITS

    add_setting(parser, "split", help=f"How the folds are made. One of: {', '.join(SPLITS)}.")
    parser.add_argument(
        "--split-param",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="Set a parameter of the split.",
    )
    add_setting(parser, "k")
    add_setting(parser, "seed", **seed_options)


def add_fold_options(parser: argparse.ArgumentParser, **seed_options: Any) -> None:  # noqa: ANN401
    """Add the options of `add_split_options`, and the one that takes folds from a file."""
    add_split_options(parser, **seed_options)
    parser.add_argument(
        "--folds", metavar="N|FILE", help="Number of folds (as -k), or a file with released folds."
    )


def settings_of_folds(options: argparse.Namespace, dataset: str, task: Task) -> dict[str, Any]:
    """What -k and --folds say of the folds of a dataset, for `make_spec`. Raises: InputError."""
    if not options.folds:
        return {"k": options.k}
    from ecv_core.fold import import_folds

    sha256, k = import_folds(dataset, options.folds, task)
    if options.k not in (None, k):
        raise InputError(
            f"-k is {options.k}, but the file {options.folds} has {k} folds; leave -k out"
        )
    return {"folds_sha256": sha256, "k": k}


# Where folds are computed, which every command that computes some has.


def add_executor_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where folds are computed."""
    parser.add_argument(
        "--on",
        metavar="PLACE",
        help="Compute on a cluster: local:3, tcp://host:8786, slurm, pbs, lsf or htcondor. "
        "Default: the variable ECV_CLUSTER.",
    )
    parser.add_argument(
        "--meter",
        action="append",
        default=[],
        metavar="METER",
        help="Measure this machine's energy with shelly:ADDRESS, slurm or a command that prints "
        "watts; may be given several times. Default: the variable ECV_METER.",
    )
    parser.add_argument(
        "--nodes",
        type=int,
        metavar="N",
        help="Number of nodes to request from slurm, pbs, lsf or htcondor.",
    )
    parser.add_argument(
        "--site",
        metavar="FILE.toml",
        help="TOML file with the options of the cluster's jobs: partition, account, walltime, ...",
    )
    parser.add_argument(
        "--speculate",
        type=int,
        default=1,
        metavar="N",
        help=(
            "With several nodes, compute this many folds more than the rule is certain to need. "
            "Default: 1."
        ),
    )


def use_meters(options: argparse.Namespace) -> None:
    """Have folds measured by the meters that `--meter` names.

    Raises:
        InputError: For one that cannot be, or does not answer now.
    """
    if options.on or os.environ.get("ECV_CLUSTER"):
        raise InputError(
            "--meter measures this machine, but --on computes elsewhere; set ECV_METER on each "
            "node instead"
        )
    from ecv_core.energy.real_meters import METERS_VARIABLE, check_meter

    for meter in options.meter:
        check_meter(meter)
    os.environ[METERS_VARIABLE] = "\n".join(options.meter)


@contextmanager
def executor_of(options: argparse.Namespace, *, no_energy: bool) -> Iterator[Executor]:
    """The executor that the options of `add_executor_options` ask for; it ends with the block.

    In the block a database that is away is waited for, also before the first fold and after the
    last one.

    Args:
        no_energy: Whether nothing is metered, so that several folds can be computed at once.

    Raises:
        InputError: For a place that cannot be had, or fewer than 0 folds to speculate on.
    """
    # The executor itself does not use --speculate: the plan takes it from the options. It is
    # checked here because every command that has the option comes by here, before a node is asked
    # for.
    if options.speculate < 0:
        raise InputError(f"--speculate must be at least 0, but is {options.speculate}")
    from ecv_core.jobs.cluster.choose import executor_on
    from ecv_core.jobs.here_first import HereFirst
    from ecv_core.store.engine import waiting_for_database

    make_local: Callable[[], Executor] | None = None
    if no_energy:
        # Folds that are not metered may run beside each other, in worker processes where they take
        # long; metered ones run one by one in this process.
        make_local = HereFirst
    executor = executor_on(
        options.on, nodes=options.nodes, site=options.site, make_local=make_local
    )
    with closing(executor), waiting_for_database(warning_of_failed_saves()):
        yield executor


def showing_phase(bar: tqdm[Any]) -> Progress:
    """What shows the steps within a fold in front of a bar of folds."""

    def show(phase: str, step: int, steps: int, /, **_: object) -> None:
        if steps:
            phase = f"{phase} {step}/{steps}"
        bar.set_description(phase)

    return show


def warning_of_failed_saves() -> SaveAttempts:
    """What says above the bars what cannot be saved, and ends the command after a while.

    It is called as `Callbacks.trouble`.
    """
    from tqdm import tqdm

    from ecv_core.jobs.plan_runs import SaveAttempts

    return SaveAttempts(partial(tqdm.write, file=sys.stderr))
