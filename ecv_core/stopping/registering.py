"""Rules from outside the package: what a rule's instance says of itself, and who registers them."""

from __future__ import annotations

from ecv_core.records.errors import InputError
from ecv_core.records.plugins import check_id, id_of
from ecv_core.stopping.base import Rule, StoppingRule


def record_of(instance: StoppingRule, id: str | None, title: str | None, help: str | None) -> Rule:
    """A rule's instance as users are to know it; arguments as of `stopping.register_rule`.

    Raises: InputError for what is no rule, or an id that cannot be one.
    """
    if isinstance(instance, type) or not callable(getattr(instance, "decide", None)):
        raise InputError(
            f"a stopping rule is an object with decide(results), but {instance!r} is none; see "
            "docs/library.md"
        )
    id = check_id(id or id_of(type(instance).__name__), "a rule")
    document = (type(instance).__doc__ or "").strip().partition("\n")[0]
    return Rule(
        id=id,
        title=title or str(getattr(instance, "title", "")) or id.replace("-", " ").capitalize(),
        help=help or document or f"The rule {type(instance).__name__}.",
        source=f"{type(instance).__module__}.{type(instance).__qualname__}",
        kind=type(instance),
        told=(),
        default_folds=1,
        instance=instance,
    )
