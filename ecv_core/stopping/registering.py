"""Rules from outside the package: what a rule's instance says of itself, and who registers them."""

from __future__ import annotations

import os
import re
from importlib import import_module

from ecv_core.records.errors import InputError
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
    id = id or rule_id(instance)
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,39}", id):
        raise InputError(f"a rule's id is made of small letters, digits and hyphens, but is '{id}'")
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


def rule_id(instance: StoppingRule) -> str:
    """An id made of the class's name: 'HalfWidth' -> 'half-width'."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", type(instance).__name__)
    return name.replace("_", "-").strip("-").lower()


def load_plugins() -> None:
    """Import the modules that ECV_RULES names, with commas; they register rules of their own.

    Raises: InputError for one that cannot be imported.
    """
    for name in os.environ.get("ECV_RULES", "").split(","):
        if name.strip():
            try:
                import_module(name.strip())
            except ImportError as error:
                raise InputError(
                    f"ECV_RULES names '{name.strip()}', which cannot be imported ({error}); "
                    "put its folder into PYTHONPATH, or leave it out"
                ) from error
