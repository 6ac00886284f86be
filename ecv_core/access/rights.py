"""Who may do what in a dashboard that several people use, and every change that its pages make.

Pages hide what somebody may not do; that it is refused is decided here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from ecv_core import dataset as datasets
from ecv_core.dataset import DatasetEntry, own
from ecv_core.dataset.layout import Layout
from ecv_core.dataset.own import About
from ecv_core.dataset.plain import Plain, Report
from ecv_core.jobs.cluster.choose import places
from ecv_core.jobs.manager import RunManager
from ecv_core.jobs.plans import select, study
from ecv_core.jobs.plans.study import Cell
from ecv_core.models import ALGORITHMS
from ecv_core.records.errors import InputError, RightsError
from ecv_core.records.run import RunRecord
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import cheap_models
from ecv_core.store.imports import RunFile, import_run
from ecv_core.store.listing import Label, label_runs
from ecv_core.store.people import introduce, lost_seconds, starters, used_by
from ecv_core.store.plans import SELECTION, STUDY, forget_plan, stored_plan
from ecv_core.store.quota import Quota
from ecv_core.store.store import Store
from ecv_core.untrusted.limits import whole_number

if TYPE_CHECKING:
    from ecv_core.selection.rounds import Terms


# Who asks for a change and what a role allows.


class PersonRole(StrEnum):
    """What somebody is to this installation."""

    OWNER = "owner"
    """The one person of a dashboard without a mode, or a command line: everything is allowed."""
    VISITOR = "visitor"
    """Of a public dashboard."""
    VIEWER = "viewer"
    """Of a team's: looks, replays, exports."""
    EDITOR = "editor"
    """Of a team's: changes what is theirs, and what is nobody's."""
    NOBODY = "nobody"
    """Not signed in, or not on the list."""


class Action(StrEnum):
    """What somebody may want to do, in words that follow 'cannot'."""

    START = "start runs"
    GO_ON = "go on with runs"
    CANCEL = "cancel runs"
    DELETE = "delete runs, or bring them back"
    ANNOTATE = "write names, tags and notes on runs"
    IMPORT = "import runs"
    UPLOAD = "upload files"
    CHANGE_DATASETS = "delete datasets"
    DOWNLOAD = "download datasets"
    START_MANY = "start studies or selections"
    FORGET = "remove studies or selections from their lists"


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Somebody who asks for a change."""

    id: str
    """Of one person for good; empty for the owner, and kept with what they start."""
    role: PersonRole
    name: str = ""
    """As others read it; empty where nobody has one."""


OWNER = Actor(id="", role=PersonRole.OWNER)

_MAY: Mapping[PersonRole, frozenset[Action]] = {
    PersonRole.OWNER: frozenset(Action),
    PersonRole.VISITOR: frozenset({Action.START, Action.GO_ON, Action.CANCEL}),
    PersonRole.VIEWER: frozenset(),
    PersonRole.EDITOR: frozenset(Action),
    PersonRole.NOBODY: frozenset(),
}
_WHY: Mapping[PersonRole, str] = {
    PersonRole.VISITOR: "this dashboard is public, so visitors cannot {}",
    PersonRole.VIEWER: (
        "you are a viewer here and cannot {}; ask to be listed as an editor (ECV_EDITORS)"
    ),
    PersonRole.NOBODY: "who is not signed in cannot {}; sign in first",
}


def refusal(action: Action, actor: Actor, *belongs_to: str) -> str | None:
    """Why somebody may not do this, as one sentence; None where they may.

    Args: belongs_to: the ids of those who started what it is done to; empty for what is nobody's,
        such as runs of a command line.
    """
    if action not in _MAY[actor.role]:
        return _WHY[actor.role].format(action.value)
    if actor.role is PersonRole.OWNER:
        return None
    free = {actor.id, ""} if actor.role is PersonRole.EDITOR else {actor.id}
    if actor.id and free.issuperset(belongs_to):
        return None
    return f"you can {action.value} only where they are yours: this belongs to somebody else"


def check(action: Action, actor: Actor, *belongs_to: str) -> None:
    """Refuse what `refusal` speaks against. Raises: RightsError."""
    if why := refusal(action, actor, *belongs_to):
        raise RightsError(why)


# What the environment says.


QUICK = ("popular", "item-knn", "user-knn", "ease", "implicit-mf", "rp3beta", "bias")
"""What visitors run unless ECV_PUBLIC_ALGORITHMS says otherwise: seconds a fold on MovieLens 1M."""
EVERYBODY = "*"
_ADDRESS = re.compile(r"[!-?A-~]+@[!-?A-~]+")
"""In ASCII with one at-sign: of other letters lower() makes those of somebody else's address."""
_MOST = 1_000_000
SIGNED_IN_SECONDS = 3600
"""After signing in one is let in for so long: who was removed at the provider is out by then."""


class Mode(StrEnum):
    """Who uses a dashboard."""

    PRIVATE = ""
    """One person, who may do everything."""
    PUBLIC = "public"
    TEAM = "team"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What visitors of a public dashboard may run."""

    algorithms: tuple[str, ...] = QUICK
    datasets: tuple[str, ...] = ()
    """Ids; empty for all that are on this machine."""
    seconds: int = 60
    """That a run may take, all its folds together."""
    quota: Quota = field(default_factory=lambda: Quota(runs_per_hour=10, waiting=10))


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessSettings:
    """What the environment says."""

    mode: Mode = Mode.PRIVATE
    limits: Limits = field(default_factory=Limits)
    editors: frozenset[str] = frozenset()
    """Email addresses in lower case, `@domain`, subjects of the provider, or EVERYBODY."""
    viewers: frozenset[str] = frozenset()

    @property
    def seconds_per_run(self) -> int | None:
        """After which a run is ended; None without such a limit."""
        return self.limits.seconds if self.mode is Mode.PUBLIC else None


def settings() -> AccessSettings:
    """As the environment has them now.

    Raises: InputError for a value that means nothing, in one sentence: nobody is let in then.
    """
    asked = os.environ.get("ECV_MODE", "").strip()
    if asked not in [mode.value for mode in Mode]:
        raise InputError(
            f"ECV_MODE must be 'public' or 'team', or not set for one person, but is '{asked[:40]}'"
        )
    mode = Mode(asked)
    for name in ("ECV_EDITORS", "ECV_VIEWERS"):
        if mode is not Mode.TEAM and os.environ.get(name, "").strip():
            raise InputError(
                f"{name} says who of a team may do what, but ECV_MODE is not 'team', so nobody "
                f"would have to sign in; set ECV_MODE=team, or do not set {name}"
            )
    if mode is Mode.PUBLIC:
        return AccessSettings(mode=mode, limits=_limits())
    if mode is Mode.TEAM:
        editors = _listed("ECV_EDITORS")
        if not editors:
            raise InputError(
                "ECV_MODE=team needs ECV_EDITORS, who may run and change things: email addresses "
                f"or @domains with commas, or {EVERYBODY} for everybody who signs in"
            )
        viewers = _listed("ECV_VIEWERS") or frozenset({EVERYBODY})
        return AccessSettings(mode=mode, editors=editors, viewers=viewers)
    return AccessSettings()


def visitor(secret: str) -> Actor:
    """A visitor of a public dashboard.

    Args: secret: what only this visitor's browser holds; a hash of it is kept, and not the secret.
    """
    mark = sha256(f"e-fold visitor {secret}".encode()).hexdigest()[:24]
    return Actor(id=f"visitor:{mark}", role=PersonRole.VISITOR)


def member(claims: Mapping[str, object], known: AccessSettings, now: float) -> Actor:
    """Who a provider of OpenID Connect says that somebody is.

    Issuer and subject name a person for good. A subject may be any text that the provider lets
    somebody choose, so one with an at-sign counts only together with its issuer, and never as an
    email address or a domain. An address counts where the provider has verified that it is theirs.

    Args:
        claims: of the identity token; empty for somebody who is not signed in.
        now: Unix seconds; who signed in longer ago than `SIGNED_IN_SECONDS` is nobody.
    """
    issuer, subject = str(claims.get("iss") or ""), str(claims.get("sub") or "")
    if not (issuer and subject) or signed_in_until(claims) <= now:
        return Actor(id="", role=PersonRole.NOBODY)
    names = {EVERYBODY, f"{issuer}#{subject}", *([] if "@" in subject else [subject])}
    role = PersonRole.NOBODY
    email = str(claims.get("email") or "").strip()
    if claims.get("email_verified") in (True, "true") and _ADDRESS.fullmatch(email):
        names |= {email.lower(), f"@{email.lower().partition('@')[2]}"}
    if known.editors & names:
        role = PersonRole.EDITOR
    elif known.viewers & names:
        role = PersonRole.VIEWER
    name = str(claims.get("name") or email or subject)
    return Actor(id=f"{issuer}#{subject}", role=role, name=name[:80])


def signed_in_until(claims: Mapping[str, object]) -> float:
    """The time, in Unix seconds, at which one has to sign in again; 0 where no token says when."""
    issued = claims.get("iat")
    return issued + SIGNED_IN_SECONDS if isinstance(issued, int | float) else 0.0


def _limits() -> Limits:
    usual = Limits()
    algorithms = _names("ECV_PUBLIC_ALGORITHMS") or usual.algorithms
    if unknown := [name for name in algorithms if name not in ALGORITHMS]:
        raise InputError(
            f"ECV_PUBLIC_ALGORITHMS names '{unknown[0][:40]}', which is no algorithm; choose from: "
            f"{', '.join(ALGORITHMS)}"
        )
    return Limits(
        algorithms=algorithms,
        datasets=_names("ECV_PUBLIC_DATASETS"),
        seconds=whole_number("ECV_PUBLIC_SECONDS", usual.seconds, "seconds", 1, _MOST),
        quota=Quota(
            runs_per_hour=whole_number(
                "ECV_PUBLIC_RUNS_PER_HOUR", usual.quota.runs_per_hour, "runs", 1, _MOST
            ),
            waiting=whole_number("ECV_PUBLIC_QUEUE", usual.quota.waiting, "runs", 1, _MOST),
        ),
    )


def _names(name: str) -> tuple[str, ...]:
    parts = os.environ.get(name, "").split(",")
    return tuple(dict.fromkeys(part.strip() for part in parts if part.strip()))


def _listed(name: str) -> frozenset[str]:
    """Email addresses do not tell capital letters apart; subjects do, so both spellings count."""
    names = _names(name)
    return frozenset(names) | {one.lower() for one in names if "@" in one}


# Every change that a page makes: asked for by somebody, checked, and then done.


class Acting:
    """What one person may do here, and the way to do it. As a `RunQueue`, its runs are theirs.

    Each method does what the method of `Queue` or `Store`, or the function of `plans.study`,
    `plans.select` or `store`, does that has its name; what it makes belongs to this person.
    It raises RightsError, in a sentence, before anything is changed; and whatever that one raises.
    """

    def __init__(
        self, store: Store, manager: Callable[[], RunManager], actor: Actor, known: AccessSettings
    ) -> None:
        """Nothing is asked of the manager yet.

        Args:
            manager: gives the run manager, which may start it.
            known: the mode and its limits.
        """
        self._store, self._manager, self._known = store, manager, known
        self.actor = actor

    @property
    def _quota(self) -> Quota | None:
        return self.limits.quota if self.limits else None

    @property
    def limits(self) -> Limits | None:
        """Of this person; None without any."""
        return self._known.limits if self.actor.role is PersonRole.VISITOR else None

    # -- what may be done ---------------------------------------------------------------------

    def refusal(self, action: Action, *run_ids: str) -> str | None:
        """Why this may not be done to these runs, in one sentence; None where it may."""
        if not run_ids or self.actor.role is PersonRole.OWNER:
            return refusal(action, self.actor)
        found = starters(self._store, run_ids)
        # What is not there any more is nobody's: the one who does it says so.
        return refusal(action, self.actor, *found.values())

    def may(self, action: Action, started_by: str) -> bool:
        """Whether this may be done to what that person has started."""
        return refusal(action, self.actor, started_by) is None

    def start_refusal(self, specs: Sequence[RunSpec]) -> str | None:
        """Why these runs may not be started now, in one sentence; None where they may."""
        return refusal(Action.START, self.actor) or self._over(specs)

    def go_on_refusal(self, run: RunRecord) -> str | None:
        """Why somebody may not go on with a run now, in one sentence; None where they may."""
        why = refusal(Action.GO_ON, self.actor, run.started_by)
        if self.limits is None or why:
            return why
        lost = lost_seconds(self._store, [run.run_id])[run.run_id]
        if run.spent_seconds + lost >= self.limits.seconds:
            return f"a run has {self.limits.seconds} s here, and this one has had them"
        return self._over([run.spec])

    def _over(self, specs: Sequence[RunSpec]) -> str | None:
        """Why so many runs, or one of these, are beyond this person's limits; None without."""
        if self.limits is None:
            return None
        used = used_by(self._store, self.actor.id)
        return _beyond(self.limits, specs) or self.limits.quota.refusal(used, len(specs))

    def _check(self, action: Action, *run_ids: str) -> None:
        if why := self.refusal(action, *run_ids):
            raise RightsError(why)

    @property
    def places(self) -> list[str]:
        """Where this person may have folds computed, the usual place first."""
        return places()[:1] if self.limits else places()

    def _check_place(self, place: str) -> None:
        if place and place not in self.places:
            raise RightsError(
                f"folds are not computed on '{place}' here; choose from: {', '.join(self.places)}"
            )

    # -- runs ---------------------------------------------------------------------------------

    def start(
        self, specs: Sequence[RunSpec], *, plan_id: str = "", anew: bool = False, place: str = ""
    ) -> str:
        check(Action.START, self.actor)
        self._check_place(place)
        if self.limits is not None and (why := _beyond(self.limits, specs)):
            raise RightsError(why)
        self._introduce()
        return self._manager().start(
            specs,
            started_by=self.actor.id,
            quota=self._quota,
            plan_id=plan_id,
            anew=anew,
            place=place,
        )

    def resume(self, run_id: str, *, full: bool = False) -> bool:
        if self.actor.role is not PersonRole.OWNER and (
            why := self.go_on_refusal(self._store.run(run_id))
        ):
            raise RightsError(why)
        return self._manager().resume(
            run_id, full=full, started_by=self.actor.id, quota=self._quota
        )

    def cancel(self, run_id: str) -> None:
        self._check(Action.CANCEL, run_id)
        self._manager().cancel(run_id)

    def remove(self, run_ids: Collection[str]) -> list[str]:
        self._check(Action.DELETE, *run_ids)
        return self._store.remove(run_ids)

    def bring_back(self, run_ids: Collection[str]) -> int:
        self._check(Action.DELETE, *run_ids)
        return self._store.bring_back(run_ids)

    def delete(self, run_id: str) -> None:
        self._check(Action.DELETE, run_id)
        self._store.delete(run_id)

    def delete_fold(self, run_id: str, fold: int) -> None:
        self._check(Action.DELETE, run_id)
        self._store.delete_fold(run_id, fold)

    def label(self, labelled: Mapping[str, Label]) -> None:
        self._check(Action.ANNOTATE, *labelled)
        label_runs(self._store, labelled)

    def import_run(self, file: RunFile) -> tuple[str, bool]:
        check(Action.IMPORT, self.actor)
        self._introduce()
        return import_run(self._store, file, started_by=self.actor.id)

    # -- studies and selections ---------------------------------------------------------------

    def begin_study(self, cells: Sequence[Cell], *, place: str = "") -> str:
        check(Action.START_MANY, self.actor)
        self._check_place(place)
        return study.begin(
            self._store,
            self,
            cells,
            started_by=self.actor.id,
            may_go_on=lambda run: self.may(Action.GO_ON, run.started_by),
            place=place,
        )

    def go_on_with_study(self, study_id: str, *, full: bool = False) -> None:
        self._check_plan(Action.START_MANY, STUDY, study_id)
        study.go_on(self._store, self, study_id, full=full)

    def cancel_study(self, cells: Sequence[Cell]) -> None:
        check(Action.CANCEL, self.actor)
        mine = [cell for cell in cells if cell.run and self.may(Action.CANCEL, cell.run.started_by)]
        study.cancel(self, mine)

    def begin_selection(
        self, contenders: Sequence[tuple[str, RunSpec]], terms: Terms, *, place: str = ""
    ) -> str:
        check(Action.START_MANY, self.actor)
        self._check_place(place)
        self._introduce()
        return select.begin(
            self._store, contenders, terms, started_by=self.actor.id, place=place, recorded=True
        )

    def go_on_with_selection(self, selection_id: str) -> None:
        self._check_plan(Action.START_MANY, SELECTION, selection_id)
        manager = self._manager()
        select.go_on(self._store, selection_id)
        manager.wake()

    def forget_plan(self, kind: str, plan_id: str) -> None:
        self._check_plan(Action.FORGET, kind, plan_id)
        forget_plan(self._store, plan_id)

    def _check_plan(self, action: Action, kind: str, plan_id: str) -> None:
        check(action, self.actor, stored_plan(self._store, kind, plan_id).started_by)

    def _introduce(self) -> None:
        if self.actor.name:
            introduce(self._store, self.actor.id, self.actor.name)


def _beyond(limits: Limits, specs: Sequence[RunSpec]) -> str | None:
    """Why a visitor may not run one of these, whatever else is going on; None where they may."""
    for spec in specs:
        for name in (spec.algorithm, *cheap_models(spec)):
            if name not in limits.algorithms or spec.tracked:
                return (
                    f"visitors run quick algorithms only, and {_title(name)} is none of them; "
                    f"choose from: {', '.join(map(_title, limits.algorithms))}"
                )
        known = datasets.catalogue()
        if spec.dataset not in known or not datasets.available(known[spec.dataset]):
            return f"'{spec.dataset}' is not on this machine; choose a dataset that is"
        if limits.datasets and spec.dataset not in limits.datasets:
            return f"visitors run on these datasets only: {', '.join(limits.datasets)}"
    return None


def _title(name: str) -> str:
    return ALGORITHMS[name].title if name in ALGORITHMS else f"'{name[:40]}'"


# Files and datasets: every change to them that a page makes, checked, and then done.


class Handling:
    """What one person may do with files here, and the way to do it.

    Each method does what the function of its name in `dataset`, `dataset.own` or `fold` does. It
    raises RightsError, in a sentence, before anything is changed; and whatever that one raises.
    """

    def __init__(self, store: Callable[[], Store], actor: Actor) -> None:
        """Nothing is asked of the database yet.

        Args: store: gives the database, which keeps how people are called.
        """
        self._store = store
        self.actor = actor

    def refusal(self, action: Action, *datasets_of: str) -> str | None:
        """Why this may not be done, to these added datasets, in a sentence; None where it may."""
        return refusal(action, self.actor, *map(own.added_by, datasets_of))

    def check_upload(self) -> None:
        """For a file that is read, and not kept. Raises: RightsError."""
        check(Action.UPLOAD, self.actor)

    def take_in(self, write: Callable[[Path], object], file_name: str) -> str:
        self.check_upload()
        return own.take_in(write, file_name)

    def work_out(self, plain: Plain, layout: Layout, token: str, report: Report) -> About:
        self.check_upload()
        return own.work_out(plain, layout, own.folder_of(token), report)

    def keep(self, token: str, name: str) -> About:
        self.check_upload()
        if self.actor.name:
            introduce(self._store(), self.actor.id, self.actor.name)
        return own.keep(own.folder_of(token), name, added_by=self.actor.id)

    def forget(self, token: str) -> None:
        self.check_upload()
        own.forget(token)

    def remove(self, name: str) -> None:
        check(Action.CHANGE_DATASETS, self.actor, own.added_by(name))
        own.remove(name)

    def download(self, entry: DatasetEntry, progress: Callable[[int, int], None]) -> Path:
        check(Action.DOWNLOAD, self.actor)
        return datasets.download(entry, progress)
