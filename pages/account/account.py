"""What the person who looks at this page may do here, how far that goes, under which name."""

from __future__ import annotations

import streamlit as st

from ecv_core.access.roles import PersonRole
from ecv_core.access.settings import Limits
from ecv_core.figures.words import algorithm_title, counted, dataset_title, duration
from ecv_core.store.people import used_by
from pages.shared.address.navigation import page
from pages.shared.live.person import run_actions, sign_out, subject_of
from pages.shared.live.state import escaped, store


def show_account() -> None:
    """The whole page."""
    person = run_actions()
    if person.limits is not None:
        st.title("What visitors may do", anchor=False)
        _show_visitor(person.limits)
    elif person.actor.role is PersonRole.OWNER:
        st.title("Your account", anchor=False)
        st.markdown("This dashboard is used by one person, who may do everything.")
    else:
        st.title(escaped(person.actor.name), anchor=False)
        _show_member(person.actor.role)


def _show_visitor(limits: Limits) -> None:
    """What a visitor may do, how far that goes, and how much of it is left.

    Args:
        limits: What this dashboard allows visitors.
    """
    usage = used_by(store(), run_actions().actor.id)
    algorithms = ", ".join(map(algorithm_title, limits.algorithms))
    datasets = "those that are on this machine"
    if limits.datasets:
        datasets = ", ".join(map(dataset_title, limits.datasets))
    runs_left = "no more"
    if usage.started < limits.quota.runs_per_hour:
        runs_left = counted(limits.quota.runs_per_hour - usage.started, "more run")
    st.markdown(
        "Look at everything, replay, learn, export, and start runs. Everybody sees the runs that "
        "you start, only you can cancel or resume them, and nobody can delete them."
    )
    st.markdown(
        f"- **Algorithms**: {algorithms}.\n"
        f"- **Datasets**: {escaped(datasets)}.\n"
        f"- **Time**: {duration(limits.seconds)} for a run; then it ends, and its finished folds "
        "are kept.\n"
        f"- **Runs**: {limits.quota.runs_per_hour} an hour; you can start {runs_left} now.\n"
        f"- **Queue**: at most {counted(limits.quota.waiting, 'run')} of all visitors can wait; "
        f"waiting now: {usage.waiting}."
    )
    st.caption(
        "A cookie with a random number, kept for 30 days, says which runs are yours; without it "
        "they are yours until you load the page again. This dashboard keeps nothing else of you."
    )


def _show_member(role: PersonRole) -> None:
    person = run_actions().actor
    if role is PersonRole.EDITOR:
        st.markdown(
            "You are an **editor**: you may run, upload and import, and cancel, delete and "
            "annotate what you have started, and what belongs to nobody, such as runs of the "
            "command line."
        )
    else:
        st.markdown(
            "You are a **viewer**: you may look at everything, replay and export. To run, ask "
            "whoever runs this dashboard to list you in ECV_EDITORS."
        )
    st.caption(
        "ECV_VIEWERS and ECV_EDITORS can name you by your email address, if your provider has "
        f"verified it, or as `{subject_of(person)}`."
    )
    st.button("Sign out", icon=":material/logout:", key="sign-out", on_click=sign_out)


with page():
    show_account()
