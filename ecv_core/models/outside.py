"""Models whose code is not e-fold's: known by their name alone, or components of LensKit."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NoReturn, get_args, get_origin

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ecv_core.models.base import Algorithm
from ecv_core.models.lenskit_mf import load_lenskit, panics_as
from ecv_core.records import plugins
from ecv_core.records.errors import EcvError, InputError, RunError
from ecv_core.records.parameters import Parameter, Params, ParamValue
from ecv_core.records.run import Progress, no_progress
from ecv_core.records.spec import Task
from ecv_core.untrusted.limits import MAX_TEXT

if TYPE_CHECKING:
    import torch

# Tracked models, and those of plug-ins that are not installed: only their name is known.


MAX_NAME = 60


class Elsewhere(Algorithm):
    """A model that is known by its name alone; it takes any parameters, and cannot be built."""

    def resolve(self, given: Mapping[str, ParamValue]) -> Params:
        """What is given, sorted by name; text that reads as a number is that number.

        Raises: InputError for a value that is no finite number, line of text or truth value.
        """
        for name, value in given.items():
            if not str(name).isidentifier() or not _can_be_shown(value):
                raise InputError(
                    f"what is said of {self.id} is name=value with a finite number, a line of text "
                    f"or true or false, but {name} is {value!r}"
                )
        return tuple((name, _number(given[name])) for name in sorted(given))


def _can_be_shown(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= MAX_TEXT and value.isprintable()
    return isinstance(value, int | float) and abs(value) <= sys.float_info.max  # not NaN either


def _number(value: ParamValue) -> ParamValue:
    for kind in (int, float) if isinstance(value, str) else ():
        try:
            number: ParamValue = kind(value)
        except ValueError:
            continue
        if _can_be_shown(number):  # 'nan' stays a text
            return number
    return value


def elsewhere(name: str, task: Task = Task.TOP_N) -> Elsewhere:
    """A model of this name that is not here."""

    def build(_params: Mapping[str, ParamValue]) -> NoReturn:
        raise InputError(f"'{name}' cannot be computed here: its code is elsewhere")

    return Elsewhere(
        id=name,
        title=name,
        summary="Computed by code outside e-fold.",
        paper="",
        parameters=(),
        build=build,
        log_odds=True,  # who reports a log loss has probabilities
        task=task,
    )


def tracked(name: str, task: Task, taken: Mapping[str, Algorithm]) -> Elsewhere:
    """A model whose folds are computed by code outside, under the name that it was given.

    Args:
        name: one line of text.
        task: what it does.
        taken: the algorithms that are here.
    Raises: InputError for a name that cannot be shown, or that an algorithm here has.
    """
    name_words = "give it a name of one line, such as 'my model'"
    if not name or name != " ".join(name.split()) or not name.isprintable():
        raise InputError(f"'{name}' cannot be the name of a tracked model; {name_words}")
    if len(name) > MAX_NAME or ":" in name or name.startswith("-"):
        raise InputError(
            f"the name of a tracked model has at most {MAX_NAME} characters, no ':' and no '-' at "
            f"its start, but is '{name}'; {name_words}"
        )
    for known in taken.values():
        if name.casefold() in (known.id.casefold(), known.title.casefold()):
            raise InputError(
                f"'{name}' is an algorithm of e-fold ({known.id}); give your model another name, "
                f"such as 'my {name}'"
            )
    return elsewhere(name, task)


# Any scorer that is a LensKit component, named 'lenskit:module.Class' on the command line.
#
# Naming one imports its module, which runs code. So it is done only within
# `records.plugins.naming_code`, which the command line and the library open, and never because a
# link, a form or an imported run says so.


PREFIX = "lenskit:"
_NAME = re.compile(r"((?:[A-Za-z_]\w*\.)+)([A-Za-z_]\w*)")


def named(algorithm_id: str) -> bool:
    """Whether an algorithm is named as a LensKit component."""
    return algorithm_id.startswith(PREFIX)


def component(algorithm_id: str) -> Algorithm:
    """A LensKit scorer as an algorithm; the parameters are the fields of its configuration.

    Args:
        algorithm_id: 'lenskit:module.Class'.
    Raises: InputError outside `records.plugins.naming_code`, and for what is no LensKit scorer.
    """
    if not plugins.may_name_code():
        raise InputError(
            f"'{algorithm_id}' names code to import, which only the command line does (and "
            "ecv.evaluate): run it there; its run is on the pages all the same"
        )
    return _component(algorithm_id)


@lru_cache(maxsize=32)
def _component(algorithm_id: str) -> Algorithm:
    named = _NAME.fullmatch(algorithm_id.removeprefix(PREFIX))
    if named is None:
        raise InputError(
            f"a LensKit scorer is named as lenskit:module.Class, such as "
            f"lenskit:lenskit.knn.ItemKNNScorer, but this is '{algorithm_id}'"
        )
    module, name = named[1].rstrip("."), named[2]
    try:
        made = getattr(import_module(module), name)
    except (Exception, SystemExit) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise InputError(
            f"'{algorithm_id}' cannot be imported ({reason}); its package must be installed here"
        ) from error
    from lenskit.pipeline import Component

    if not (isinstance(made, type) and issubclass(made, Component)):
        raise InputError(f"'{algorithm_id}' is no LensKit component; name a class of scorers")
    asked = [
        name
        for name, one in list(inspect.signature(made.__call__).parameters.items())[1:]
        if one.default is one.empty
    ]
    if "items" not in asked or {*asked} - {"items", "query"}:
        raise InputError(
            f"'{algorithm_id}' is no scorer: it takes {', '.join(asked) or 'nothing'}, and a "
            "scorer takes 'items', and 'query' where it asks who is recommended to"
        )
    document = " ".join((inspect.getdoc(made) or "").partition("\n\n")[0].split())
    return Algorithm(
        id=algorithm_id,
        title=name,
        summary=document or f"The LensKit component {name}.",
        paper="LensKit, lkpy.lenskit.org",
        parameters=tuple(_parameters(made)),
        build=partial(_build, made),
    )


def _parameters(made: Any) -> Iterator[Parameter]:  # noqa: ANN401  a Component class
    """The fields of its configuration that are one number, text or truth value."""
    config = made.config_class()
    for name, field in getattr(config, "model_fields", {}).items():
        kind, default = field.annotation, field.default
        if isinstance(default, int) and not isinstance(default, bool) and kind is not int:
            default = float(default)  # `weight: float = 40`
        if type(default) not in (bool, int, float, str):
            continue  # such as a list, or none: there is no way to say it
        choices = get_args(kind) if get_origin(kind) is Literal else ()
        whole = 1 if isinstance(default, int) else 0
        found: dict[str, Any] = {}
        for one in field.metadata:
            for attribute, end, more in (
                ("ge", "low", 0),
                ("gt", "low", whole),
                ("le", "high", 0),
                ("lt", "high", -whole),
            ):
                if getattr(one, attribute, None) is not None:
                    found[end] = getattr(one, attribute) + more
        yield Parameter(
            name=name,
            default=default,
            help=" ".join((field.description or f"'{name}' of {config.__name__}.").split()),
            choices=tuple(one for one in choices if isinstance(one, str)),
            **found,
        )


def _build(made: Any, params: Mapping[str, ParamValue]) -> LensKitScorer:  # noqa: ANN401  a class
    load_lenskit()  # seconds, once per process, that no fit should be charged for
    try:
        return LensKitScorer(made(**params), made.__name__)
    except (TypeError, ValueError) as error:
        reason = " ".join(str(error).split())[:300]
        raise InputError(f"{made.__name__} refuses its parameters: {reason}") from error


class LensKitScorer:
    """A LensKit scorer in a pipeline of its own, asked user by user for all items.

    What it has no score for (NaN) comes after everything that has one.
    """

    def __init__(self, scorer: Any, name: str) -> None:  # noqa: ANN401  a Component
        self._scorer, self._name = scorer, name

    def fit(self, train: csr_array, *, seed: int, progress: Progress = no_progress) -> None:
        from lenskit.data import ItemList
        from lenskit.pipeline import topn_pipeline
        from lenskit.training import TrainingOptions

        from ecv_core.models.lenskit_mf import dataset_of

        progress("fit", 0, 1)
        data = dataset_of(train)
        self._pipeline = topn_pipeline(self._scorer)
        with self._said("learn"):
            self._pipeline.train(data, TrainingOptions(rng=np.random.default_rng(seed)))
        self._items = ItemList(item_ids=np.arange(train.shape[1]), vocabulary=data.items)
        progress("fit", 1, 1)

    def score(self, users: NDArray[np.intp]) -> torch.Tensor:
        import torch

        scores = np.stack([self._of(int(user)) for user in users])
        return torch.from_numpy(scores.astype(np.float32))

    def _of(self, user: int) -> NDArray[np.float64]:
        from lenskit import score

        with self._said("score"):
            ranked = score(self._pipeline, user, self._items)
        given = ranked.scores("numpy")
        if given is None:
            raise RunError(f"the LensKit component {self._name} gives no scores: it is no scorer")
        scores = np.full(len(self._items), np.nan)
        scores[np.asarray(ranked.ids())] = given
        scored = scores[np.isfinite(scores)]
        scores[~np.isfinite(scores)] = scored.min() - 1 if len(scored) else 0.0
        return scores

    @contextmanager
    def _said(self, doing: str) -> Iterator[None]:
        """Any error of the component as one sentence with its name."""
        sentence = f"the LensKit component {self._name} could not {doing}"
        try:
            with panics_as(f"{sentence}: its compiled part gave up"):
                yield
        except EcvError:
            raise
        except Exception as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            raise RunError(f"{sentence} ({reason})") from error
