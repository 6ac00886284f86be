"""`run`: one algorithm on one dataset, in this very process."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ecv_core import models, stopping
from ecv_core.cli import say, write_json
from ecv_core.cli.options import (
    DATASET,
    OF_SPLITS,
    add_executor_options,
    add_fold_options,
    add_json,
    add_settings,
    executor_of,
    named_values,
    rule_params_from_options,
    settings_of_folds,
    showing_phase,
    values_of,
    warning_of_failed_saves,
)
from ecv_core.energy.savings import EnergyFacts, energy_of, sum_of_ranges
from ecv_core.figures.words import (
    counted,
    forecast_words,
    interval_lines,
    joined,
    metric_label,
    node_words,
    processor_words,
    range_words,
    reused_words,
    run_name,
    saved_words,
    saving_verb,
    shared_words,
    used_words,
    verdict,
    watt_hours_range,
)
from ecv_core.fold import check_data
from ecv_core.fold.spec import make_spec
from ecv_core.models.base import Algorithm
from ecv_core.records.errors import InputError
from ecv_core.records.parameters import Parameter, percent_text, score_text
from ecv_core.records.run import FoldResult, RunRecord
from ecv_core.records.spec import SETTINGS, RunSpec

if TYPE_CHECKING:
    from ecv_core.store.store import Store


def run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dataset", help=DATASET)
    parser.add_argument("algorithm", help="Id of an algorithm; they are listed below.")
    add_fold_options(parser)
    parser.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="Set a parameter of the model.",
    )
    add_settings(parser, [name for name in SETTINGS if name not in OF_SPLITS])
    parser.add_argument(
        "--anew",
        action="store_true",
        help="Compute every fold, even if it has been computed before.",
    )
    add_executor_options(parser)
    parser.add_argument(
        "--resume",
        action="store_true",
        help="Continue the newest interrupted run with these settings, if there is one.",
    )
    add_json(parser)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _choices()
    parser.set_defaults(n=None)  # A metric such as ndcg@5 gives n where it is None.


def _choices() -> str:
    """Every algorithm and every rule with its parameters and their defaults, with plug-ins."""
    lines = ["algorithms, with the parameters that --param can set and their defaults:"]
    lines += [_choice(algorithm) for algorithm in models.ALGORITHMS.values()]
    lines += ["", "rules, with the parameters that --rule-param can set and their defaults:"]
    lines += [_choice(rule) for rule in stopping.RULES.values()]
    return "\n".join(lines)


def _choice(choice: Algorithm | stopping.Rule) -> str:
    """An algorithm or a rule: its id, its title, its parameters with their defaults."""
    text = choice.title
    if choice.parameters:
        text += f": {', '.join(map(_default_words, choice.parameters))}"
    return textwrap.fill(f"  {choice.id:<29} {text}", 100, subsequent_indent=" " * 34)


def _default_words(parameter: Parameter) -> str:
    if parameter.required:
        return f"{parameter.name} (has to be given)"
    if parameter.default == "":
        return f"{parameter.name} (none)"
    return f"{parameter.name}={parameter.default}"


def run_command(options: argparse.Namespace) -> None:
    spec = spec_of(options)
    check_data(spec)
    from ecv_core.jobs.heartbeat import interrupt_abandoned_runs
    from ecv_core.store.ownership import this_process
    from ecv_core.store.rescue import import_rescued_runs
    from ecv_core.store.store import open_store

    store = open_store()
    interrupt_abandoned_runs(store)
    # A program that loses its database while it computes saves its folds in a file beside it.
    import_rescued_runs(store)
    if options.resume:
        interrupted_run = _interrupted_run(store, spec)
        if interrupted_run is not None:
            return continue_run(store, interrupted_run, options)
    # With `anew`, folds that another run has already are computed once more.
    (run_id,) = store.create([spec], owner=this_process(), anew=options.anew)
    compute_run(store, store.run(run_id), options)


def _interrupted_run(store: Store, spec: RunSpec) -> RunRecord | None:
    """The newest run of the same settings that can go on; None where there is none."""
    from ecv_core.jobs.heartbeat import interrupt_run_if_abandoned

    for similar_run in store.runs_like(spec, with_imported=False):
        interrupt_run_if_abandoned(store, similar_run.run_id)
        # Its state may just have become interrupted, so the run is read again.
        run = store.run(similar_run.run_id)
        if run.resumable and run.spec.same_run(spec):
            return run
    return None


def continue_run(
    store: Store, run: RunRecord, options: argparse.Namespace, *, full: bool = False
) -> None:
    """Go on with a run that was cut off. Raises: InputError where somebody was quicker."""
    from ecv_core.jobs.manager import Queue

    if not Queue(store).resume(run.run_id, full=full):
        run = store.run(run.run_id)
        if run.state.active:
            raise InputError(f"run {run.run_id} is already running in another program; wait for it")
        raise InputError(
            f"run {run.run_id} is {run.state} by now, by another program; finished folds are kept"
        )
    say(f"continuing run {run.run_id}, which has {len(run.folds)} of {run.k} folds")
    compute_run(store, store.run(run.run_id), options)


def compute_run(store: Store, run: RunRecord, options: argparse.Namespace) -> None:
    """Compute a run that waits in this process's queue, and say what came of it.

    Args:
        run: The run; one of a selection takes the selection to its end.
        options: Those of `add_executor_options`, and where its JSON goes.
    """
    from tqdm import tqdm

    from ecv_core.jobs.driver import drive
    from ecv_core.jobs.manager import plan_of
    from ecv_core.jobs.plan_runs import Callbacks
    from ecv_core.store.document import run_document
    from ecv_core.store.results import cheap_model_folds

    spec = run.spec
    run_id = run.run_id
    with tqdm(total=run.k, initial=len(run.folds), unit="fold", disable=None, leave=False) as bar:

        def show_fold(run: RunRecord) -> None:
            if run.run_id != run_id:
                return  # It is a cheap model by which the run is adjusted.
            bar.update(1)
            tqdm.write(_newest_fold_sentence(run), file=sys.stderr)
            if run.doubt:
                tqdm.write(run.doubt, file=sys.stderr)

        callbacks = Callbacks(
            fold=show_fold, trouble=warning_of_failed_saves(), progress=showing_phase(bar)
        )
        with executor_of(options, no_energy=spec.no_energy) as executor:
            plan, plan_runs = plan_of(store, run, callbacks, speculate=options.speculate)
            drive(plan, plan_runs, executor)
            run = plan_runs.results.with_user_scores(store.run(run_id))
    write_json(run_document(run, run.user_scores), options.json)
    plan_runs.check_finished()
    if options.json != "-":
        print(summary(run))
        for name, folds in cheap_model_folds(plan_runs.results, spec).items():
            print(f"adjusted by {name}: {_cost_of_cheap_model(list(folds.values()))}")


def _cost_of_cheap_model(folds: Sequence[FoldResult]) -> str:
    """What the folds of a cheap model cost, which is no part of what the run itself cost.

    A cheap model, such as `popular`, runs all k folds, and its scores correct the run's mean.
    """
    count = counted(len(folds), "fold")
    if all(fold.energy.source == "none" for fold in folds):
        return f"{count}, not metered"
    energy = watt_hours_range(*sum_of_ranges(fold.energy.joules_range for fold in folds))
    return f"{count}, {energy} in addition to the energy above"


def _newest_fold_sentence(run: RunRecord) -> str:
    """The score of the fold that has just finished, and what the rule says."""
    moment = run.moments[-1]
    result = run.folds[-1]
    reason = moment.decision.reason
    # Folds after those that the run is reported with check how good its stop was, or were under way
    # when a run that ends at its stop came to it.
    if moment.n > run.folds_used:
        why = "this fold was under way at the stop"
        if run.spec.full:
            why = "to check the stop"
        reason = f"After {moment.n} folds: the mean is {score_text(moment.mean)}, {why}."
    time_words = f"in {result.total_seconds:.2f} s"
    if result.reused:
        time_words = "was there already"
    score = f"{run.spec.metric_name} {score_text(moment.score)}"
    return f"fold {moment.fold}: {score} {time_words}. {reason}"


def spec_of(options: argparse.Namespace) -> RunSpec:
    """The spec these options ask for. Raises: InputError."""
    settings = values_of(options, (*SETTINGS, *stopping.rule_options()))
    # This is called only for its check. It refuses an option that belongs to another rule.
    rule_params_from_options(options, options.rule or SETTINGS["rule"].default)
    if options.folds:
        # The folds of a tracked model are computed by other code, so that only the metric tells
        # what its task is; an algorithm of this project knows its own.
        if settings.get("tracked"):
            task = make_spec(**settings).task
        else:
            task = models.algorithm(options.algorithm).task
        settings |= settings_of_folds(options, options.dataset, task)
    return make_spec(
        params=named_values(options.param, "--param"),
        split_params=named_values(options.split_param, "--split-param"),
        rule_params=named_values(options.rule_param, "--rule-param"),
        **settings,
    )


def _costs_words(run: RunRecord) -> str:
    """What a run cost and saved, and how that is known, without the last full stop."""
    from ecv_core.energy.meter import SOURCES
    from ecv_core.energy.parts import inflated_energy_words

    facts = energy_of(run)
    amounts = []
    processor_time = processor_words(facts)
    if processor_time:
        amounts.append(processor_time)
    if facts.source == "none":
        amounts.append(f"energy: {SOURCES['none']}")
        return "; ".join(amounts)
    energy = f"energy {used_words(facts)}"
    if facts.saved_joules:
        energy += f", {_saving_words(facts)}"
    amounts += [energy, SOURCES[facts.source]]
    forecast = ""
    if facts.has_forecast:
        forecast = f"A fold that did not run is counted {forecast_words([facts.folds_ran])}."
    sentences = joined(
        f"{'; '.join(amounts)}.",
        forecast,
        range_words(facts),
        inflated_energy_words([run]),
        shared_words(run),
        node_words(run),
    )
    return sentences.rstrip(". ")  # Lines of the summary have no full stop.


def _saving_words(facts: EnergyFacts) -> str:
    """What energy the stop saved, or would have saved if it had not been checked."""
    # The caller has seen joules that were saved, so that there is a share of them, too.
    assert facts.saved_percent is not None
    share = percent_text(facts.saved_percent / 100, ".0f")
    if facts.has_forecast:
        share = f"about {share}"
    return f"{saved_words(facts)} ({share}) {saving_verb(facts)}"


def summary(run: RunRecord) -> str:
    """What a run found, line by line; it carries its users' scores, where there are some."""
    lines = [
        f"{run_name(run)}, {metric_label(run.spec)}",
        verdict(run),
        *interval_lines(run),
        reused_words(run.folds),
        _costs_words(run),
        f"run {run.run_id}",
    ]
    return "\n".join(filter(None, lines))
