"""`gate`: whether a candidate may take a baseline's place, as an exit code for a CI server."""

from __future__ import annotations

import argparse
import math
from dataclasses import asdict
from pathlib import Path
from xml.etree import ElementTree

from ecv_core.analysis.gate import MARGIN, Gate, GateVerdict
from ecv_core.analysis.gate_sides import GateSide, gate_sides, side_of_file, side_of_run
from ecv_core.cli import write_answer
from ecv_core.cli.options import add_json
from ecv_core.cli.score_file import HIGHER, LOWER, add_direction, direction_words
from ecv_core.records.errors import InputError
from ecv_core.records.run import RunRecord
from ecv_core.store.imports import is_run, read_run
from ecv_core.store.lookup import find_run
from ecv_core.store.outputs import write_result
from ecv_core.store.results import Results
from ecv_core.store.store import open_store
from ecv_core.untrusted import limits
from ecv_core.untrusted.files import content_of

EXIT_CODES = {GateVerdict.PASSES: 0, GateVerdict.FAILS: 1, GateVerdict.UNKNOWN: 3}


def gate_options(parser: argparse.ArgumentParser) -> None:
    forms = (
        "its id, the beginning of it, the name of a recorded run, its JSON file, or a file of "
        "scores (FILE#NAME names one of several contenders)"
    )
    parser.add_argument("baseline", metavar="BASELINE", help=f"The run to beat: {forms}.")
    parser.add_argument(
        "candidate", metavar="CANDIDATE", help="The run that may take its place, likewise."
    )
    parser.add_argument(
        "--margin",
        metavar="0.01",
        help="How much worse the candidate may be, in the unit of the score or as a share of the "
        f"baseline's mean, such as 2%%. Default: {100 * MARGIN:g}%%.",
    )
    parser.add_argument(
        "--metric", metavar="NAME", help="Metric to compare, where a file of scores has several."
    )
    add_direction(parser)
    parser.add_argument(
        "--confidence",
        type=float,
        default=0.95,
        metavar="0.95",
        help="Confidence of each of the two verdicts, pass and fail. Default: 0.95.",
    )
    parser.add_argument(
        "--junit",
        type=Path,
        metavar="FILE.xml",
        help="Write the verdict as JUnit XML, for a CI server.",
    )
    add_json(parser)


def gate_command(options: argparse.Namespace) -> int:
    """Say whether the candidate passes; 0 if it does, 1 if it is worse, 3 if nothing is shown."""
    baseline = _read_side(options.baseline, options)
    candidate = _read_side(options.candidate, options)
    gate = gate_sides(baseline, candidate, margin=options.margin, confidence=options.confidence)
    if options.junit is not None:
        _write_junit(options.junit, gate, f"{options.candidate} against {options.baseline}")
    document = asdict(gate) | {"sentence": gate.sentence}
    document["verdict"] = gate.verdict.value
    for end in ("low", "high"):
        if not math.isfinite(document[end]):
            document[end] = None
    files = [side.file for side in (baseline, candidate) if side.file is not None]
    # The notes of two files of the same kind are the same, and are shown once.
    notes = list(dict.fromkeys(map(direction_words, files)))
    document["notes"] = notes
    write_answer(options, document, "\n".join([gate.sentence, *notes]))
    return EXIT_CODES[gate.verdict]


def _read_side(run_or_file: str, options: argparse.Namespace) -> GateSide:
    """What a name on the command line stands for. Raises: InputError."""
    name, _, contender = run_or_file.partition("#")
    path = Path(name)
    if not path.is_file():
        store = open_store()
        run = Results(store).with_user_scores(find_run(run_or_file, store=store))
        return _side_of_run(run, run_or_file, options)
    try:
        content = content_of(path, at_most=limits.MAX_RUN_BYTES)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    if is_run(content):
        return _side_of_run(read_run(content, path.name).run, run_or_file, options)
    return side_of_file(path, contender, options.metric, higher_is_better=options.higher_is_better)


def _side_of_run(run: RunRecord, name: str, options: argparse.Namespace) -> GateSide:
    """A run as a side.

    Raises:
        InputError: Where another metric is asked for than it was run by, or a direction.
    """
    if options.higher_is_better is not None:
        raise InputError(
            f"the run {name} says itself which way {run.spec.metric_name} is better; leave "
            f"{LOWER} and {HIGHER} out, which are for files of scores"
        )
    metric = options.metric
    if metric not in (None, run.spec.metric, run.spec.metric_name):
        raise InputError(
            f"the run {name} is compared by its metric, {run.spec.metric_name}, and not by "
            f"{metric}; leave --metric out"
        )
    return side_of_run(run, name)


def _write_junit(path: Path, gate: Gate, name: str) -> None:
    """One test for a CI server: failed, or skipped where the folds cannot tell."""
    has_failed = gate.verdict is GateVerdict.FAILS
    is_unknown = gate.verdict is GateVerdict.UNKNOWN
    suite = ElementTree.Element(
        "testsuite",
        name="e-fold gate",
        tests="1",
        failures=str(int(has_failed)),
        skipped=str(int(is_unknown)),
    )
    case = ElementTree.SubElement(suite, "testcase", classname="e-fold.gate", name=name)
    if has_failed:
        ElementTree.SubElement(case, "failure", message=gate.sentence)
    if is_unknown:
        ElementTree.SubElement(case, "skipped", message=gate.sentence)
    output = ElementTree.SubElement(case, "system-out")
    output.text = gate.sentence
    text = ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)
    write_result(path, text + "\n")
