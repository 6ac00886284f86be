"""What comes back for a task, checked once before it counts, whoever has computed it."""

from __future__ import annotations

from collections.abc import Collection

from ecv_core.jobs.executors import Computed, WrongAnswer
from ecv_core.jobs.plan import FoldTask
from ecv_core.records.errors import InputError
from ecv_core.records.run import FoldResult
from ecv_core.records.spec import RunSpec
from ecv_core.store.fold_checks import check_fold


def check_answer(computed: Computed, answered_indices: Collection[int], node: str) -> None:
    """Refuse a result that cannot be one of its task.

    Args:
        computed: The task, and what came for it.
        answered_indices: Places of the task's specs that have their result already.
        node: The node that has computed it, for the sentence.

    Raises:
        WrongAnswer, which names the node and what is wrong.
    """
    reason = _reason_against(computed, answered_indices)
    if reason is not None:
        raise _wrong_answer(computed.task, node, reason)


def _reason_against(computed: Computed, answered_indices: Collection[int]) -> str | None:
    task = computed.task
    spec_index = computed.spec_index
    if type(spec_index) is not int or not 0 <= spec_index < len(task.specs):
        return f"it names configuration {spec_index!r:.40}"
    if spec_index in answered_indices:
        return f"configuration {spec_index} was answered twice"
    if type(computed.result) is not FoldResult:
        return f"it is of the type {type(computed.result).__name__}"
    if computed.result.fold != task.fold:
        return f"it names fold {computed.result.fold!r:.40}"
    try:
        check_fold(task.specs[spec_index], computed.result)
    except InputError as error:
        return str(error)
    return None


def missing_answer(specs: Collection[RunSpec], task: FoldTask, node: str) -> WrongAnswer:
    """What to say of a task that has ended well, but without the results of some specs."""
    return _wrong_answer(task, node, f"{len(specs)} of its {len(task.specs)} results are missing")


def _wrong_answer(task: FoldTask, node: str, reason: str) -> WrongAnswer:
    return WrongAnswer(f"the answer of {node} cannot be fold {task.fold}: {reason}")
