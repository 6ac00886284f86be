"""Widgets of the settings of a run: label, help, default and type as `RunSpec` declares them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ecv_core.dataset.preparation import prepared
from ecv_core.figures.words import titled
from ecv_core.fold import split_archive
from ecv_core.records.errors import EcvError
from ecv_core.records.parameters import Parameter, ParamValue
from ecv_core.records.spec import SETTINGS, Role, RunSpec, Setting
from ecv_core.splits import SPLITS, Past, Strategy
from ecv_core.stopping import RULES
from pages.shared.base.glossary import explained
from pages.shared.live.state import KEPT_IN_ADDRESS

# Widgets for anything with a type and a default: parameters of a model or a split, settings.


def parameter_widgets(owner: str, parameters: Iterable[Parameter]) -> dict[str, ParamValue]:
    """One widget per parameter; gives their values by name. What differs is in the address.

    Args:
        owner: Id of what they belong to, in the widgets' keys.
        parameters: What can be set.
    """
    values = {}
    for parameter in parameters:
        help = parameter.help
        if parameter.source:
            help = f"{help} Default from: {parameter.source}."
        values[parameter.name] = pick_parameter(
            parameter,
            label=parameter.name.replace("_", " "),
            key=parameter_key(owner, parameter.name),
            help=help,
            **KEPT_IN_ADDRESS,
        )
    return values


def parameter_key(owner: str, parameter: str) -> str:
    """The session's key of a parameter's widget."""
    return f"param-{owner}-{parameter}"


def typed_widget(
    kind: type,
    default: Any,  # noqa: ANN401 - of this type, or None
    place: DeltaGenerator | None = None,
    **arguments: Any,  # noqa: ANN401 - arguments of the widget
) -> Any:  # noqa: ANN401 - of this type, or None where that is the default
    """A toggle, a field for text or one for a number."""
    container = place or st
    if kind is bool:
        return container.toggle(value=bool(default), **arguments)
    if kind is str:
        return container.text_input(value=default, **arguments)
    value = container.number_input(value=default, **arguments)
    if value is None:
        return None
    return kind(value)


def pick_parameter(
    parameter: Parameter,
    **arguments: Any,  # noqa: ANN401 - arguments of the widget
) -> ParamValue:
    """The widget that a parameter's type asks for.

    Args:
        parameter: What can be set.
        arguments: Label, key, help and what else the widget takes.
    """
    default = parameter.default
    if parameter.choices:
        choices = list(parameter.choices)
        index = choices.index(str(default))
        return str(st.selectbox(options=choices, index=index, width=200, **arguments))
    kind = type(default)
    if kind in (int, float):
        arguments["width"] = 200
        if parameter.low is not None:
            arguments["min_value"] = kind(parameter.low)
        if parameter.high is not None:
            arguments["max_value"] = kind(parameter.high)
    if kind is float:
        arguments["format"] = "%g"
    return typed_widget(kind, default, **arguments)


_TERMS = {
    "k": ("k", "fold"),
    "n": ("top-n",),
    "rule": ("stopping-rule",),
    "confidence": ("confidence", "confidence-interval"),
    "min_folds": ("min-folds",),
}
"""Entries of the glossary that explain a setting."""

_CHOICES = {
    "candidates": {"all": "all items", "train": "items in training"},
    "negative_sampling": {"uniform": "uniformly", "popularity": "by popularity"},
}
"""What the form calls a choice, where that is not its id."""


def on_form(setting: Setting) -> bool:
    """Whether the Run page asks for it; which folds to run is for the command line."""
    return setting.option is not None and setting.kind is not tuple


def choice_labels(setting: Setting) -> Mapping[str, str]:
    """What can be chosen of a setting -> what the form calls it; in the address too."""
    if setting.name in _CHOICES:
        return _CHOICES[setting.name]
    return {choice: choice for choice in setting.choices}


def help_of(text: str, terms: Sequence[str]) -> str | None:
    """A help text, with links to the entries of its terms if there are any; None for no text."""
    if terms:
        return explained(text, *terms)
    return text or None


def widget_arguments(name: str, **overrides: Any) -> dict[str, Any]:  # noqa: ANN401 - arguments of a widget
    """Label, key, help and place in the address of a setting's widget, as its arguments.

    Args:
        name: The name of the setting.
        overrides: What is otherwise on this page.
    """
    setting = SETTINGS[name]
    paragraphs = [setting.help]
    for choice, meaning in setting.choices.items():
        paragraphs.append(f"**{choice}**: {meaning}")
    text = "\n\n".join(filter(None, paragraphs))
    return {
        "label": setting.label or setting.words.capitalize(),
        "key": name,
        **KEPT_IN_ADDRESS,
        "help": help_of(text, _TERMS.get(name, ())),
        **overrides,
    }


def pick_setting(
    name: str,
    place: DeltaGenerator | None = None,
    **overrides: Any,  # noqa: ANN401 - arguments of a widget
) -> Any:  # noqa: ANN401 - of the setting's type
    """The widget that the setting's type asks for; gives what is picked, unchecked.

    Args:
        name: The name of the setting.
        place: Where to draw it, if not here.
        overrides: What is otherwise on this page.
    """
    setting = SETTINGS[name]
    arguments = widget_arguments(name, **overrides)
    if not setting.choices:
        return typed_widget(setting.kind, setting.default, place, **arguments)
    labels = choice_labels(setting)
    return (place or st).segmented_control(
        options=list(labels),
        default=setting.default,
        required=True,
        format_func=labels.__getitem__,
        **arguments,
    )


def pick_other_settings(
    roles: Container[Role], placed_settings: Container[str], rule: str | None = None
) -> dict[str, Any]:
    """Widgets of the settings that have no place of their own on the form; gives what is picked.

    Args:
        roles: Which of them.
        placed_settings: Names of those that are drawn elsewhere.
        rule: The id of the stopping rule; settings that it does not look at are left out.
    """
    settings_of_rule: Container[str] = ()
    if rule:
        settings_of_rule = RULES[rule].run_settings
    picked = {}
    for name, setting in SETTINGS.items():
        if name in placed_settings or setting.role not in roles or not on_form(setting):
            continue
        # Some settings are read by certain rules only: they are left out for all other rules.
        if setting.of_rule and name not in settings_of_rule:
            continue
        picked[name] = pick_setting(name)
    return picked


# Widgets of a split that pages share: strategy and its parameters; the same in the URL.


SPLIT = "split"
K = "k"
SEED = "seed"
"""Settings of a split: keys of their widgets, and names in the address."""
SPLIT_OF_K = "k-of"
"""In the session: the strategy whose usual number of folds was offered."""


def pick_strategy(options: Sequence[str]) -> str:
    """The picked id; the first one to begin with."""
    # The session may hold a split of another page or task, which is no option here.
    if st.session_state.get(SPLIT, options[0]) not in options:
        del st.session_state[SPLIT]
    picked = st.selectbox(options=options, format_func=titled, **widget_arguments(SPLIT))
    return picked or options[0]


class _HasTitle(Protocol):
    @property
    def title(self) -> str: ...


def titles_in(registry: Mapping[str, _HasTitle]) -> dict[str, str]:
    """Id -> title of every entry."""
    return {name: entry.title for name, entry in registry.items()}


def picked_split() -> str:
    """As picked, or as the address has it; the first one where neither says."""
    picked = st.session_state.get(SPLIT) or st.query_params.get(SPLIT)
    for name, split in SPLITS.items():
        if picked in (name, split.title):
            return name
    return next(iter(SPLITS))


def set_usual_k(split_id: str) -> None:
    """Call before k is drawn: a strategy brings its own number of folds, where it has another.

    Ten steps back in time, each of a fifth of every history, are more than there is.
    """
    state = st.session_state
    split_before = state.get(SPLIT_OF_K)
    state[SPLIT_OF_K] = split_id
    is_chosen_already = K in state or K in st.query_params
    # At first, a k that a link or the run in the form has chosen stays.
    if split_before is None and is_chosen_already:
        return
    usual_k = _usual_k(split_id)
    # A typed number stays while the usual k is the same for both splits.
    if usual_k != _usual_k(split_before):
        state[K] = usual_k


def _usual_k(split_id: str | None) -> int:
    """The number of folds of a strategy; where it is not known, that of most."""
    if split_id is not None and split_id in SPLITS:
        return SPLITS[split_id].default_k
    return int(SETTINGS[K].default)


def split_advice(dataset: str, strategy: Strategy) -> str:
    """What Meng et al. advise where time stamps allow it, and what it changes; '' without them."""
    try:
        if prepared(dataset).timestamps is None:
            return ""
    except EcvError:  # the page shows the error where it needs the data
        return ""
    advised = "*Advice.* Meng et al. (2020) advise **One point in time** as the default"
    # Such a split learns from nothing that anybody did after the tested interactions.
    if strategy.past is Past.EVERYBODY:
        return f"{advised}, because nothing of the future is learnt from; so it is here."
    return (
        f"{advised} where there are time stamps, as here: nothing of the future is learnt from. "
        "What changes: users and items new after that point are not tested, there is one score, "
        "and so nothing to stop early; and other algorithms may come first."
    )


def pick_strategy_parameters(strategy: Strategy) -> dict[str, ParamValue]:
    """One widget per parameter of the strategy, side by side; gives their values.

    The container is there without parameters too: a bound widget below it that moved up or down
    would be made anew in the browser, and its later changes would miss the address.
    """
    with st.container(horizontal=True):
        return parameter_widgets(owner_of_split_parameters(strategy.id), strategy.parameters)


def owner_of_split_parameters(split_id: str) -> str:
    """What `parameter_key` takes as their owner; that of an algorithm's parameters is its id."""
    return f"split-{split_id}"


def split_download(spec: RunSpec, *, key: str, label: str) -> None:
    """The button; the archive is made when it is pressed.

    Args:
        spec: Whose split it is; the dataset must be on disk.
        key: The key of the button.
        label: On it.
    """
    st.download_button(
        label,
        partial(split_archive, spec),
        file_name=f"{spec.dataset}-{spec.split}-seed{spec.seed}.zip",
        mime="application/zip",
        icon=":material/download:",
        key=key,
        on_click="ignore",
        help="What is learnt from and what is held out, as CSV, with a README that says how it was "
        "made; another e-fold can import it.",
    )
