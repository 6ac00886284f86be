"""Chapter 6: the rule, fold by fold, on one recorded run; alpha moves in the browser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from ecv_core.figures.palette import Step
from ecv_core.figures.threshold import threshold_figure
from ecv_core.figures.words import alpha_text
from ecv_core.records.parameters import percent_text, score_text
from ecv_core.records.run import Moment
from ecv_core.stopping import PAPERS_RULE, EFold, axis_of, moments
from ecv_core.stopping.efold import least_alpha, least_alpha_after_folds
from ecv_core.stopping.interval import difference_percent
from pages.learn.material.recorded_runs import CONFIDENCE, moments_in_order, stops_at
from pages.learn.parts import Guide, SliderNumbers, guide, save_chart
from pages.shared.charts.plot import plot
from pages.shared.widgets.sliders import USUAL_ALPHA, draw_alpha_slider, show_numbers_of_slider

SLIDER = "learn-alpha"
KEY = "lesson_alpha"
ALPHAS = list(axis_of(PAPERS_RULE).steps)
_HEIGHT = 390
_LABELS = [
    ("Interval width", "c_n"),
    ("x its last change", "|c_(n-1) - c_n|"),
    ("= product", "c_n x |c_(n-1) - c_n|"),
    ("against alpha", "The line; it has the unit of the score squared"),
]


def show() -> None:
    """The slider, the rule in numbers, the falling points."""
    guide_run = guide()
    all_moments = moments_in_order(guide_run.scores, range(guide_run.k))
    draw_alpha_slider(ALPHAS, USUAL_ALPHA, key=KEY, name=SLIDER)
    # The browser gets the numbers of every alpha and shows those of the slider's: a sentence above
    # the picture, and numbers below it. So nothing here needs to know at which alpha it stands.
    numbers = _rule_numbers(all_moments)
    show_numbers_of_slider(SLIDER, key="learn-rule-numbers-said", sentences=numbers.sentences)
    _draw_picture(guide_run, all_moments, numbers.sentences)
    show_numbers_of_slider(
        SLIDER,
        key="learn-rule-numbers-counted",
        labels=_LABELS,
        values=numbers.values,
        notes=numbers.notes,
    )
    st.caption(
        f"{guide_run.note} The rule stops after fold n if c_n x |c_(n-1) - c_n| is at most alpha, "
        "where c_n is the width of the interval after n folds. Fold 3 is the first that can stop. "
        "With the usual alpha of 1e-4, which is 0.0001, it stops once an interval 0.05 wide "
        "changes by no more than 0.002, as 0.05 x 0.002 is 0.0001."
    )


def _draw_picture(
    guide_run: Guide, all_moments: Sequence[Moment], sentences: Sequence[str]
) -> None:
    """Width times change after each fold, against the line alpha; a figure for every alpha.

    Args:
        guide_run: The run.
        all_moments: Its moments, whatever the alpha.
        sentences: What happens at each alpha.
    """
    folds = guide_run.run.folds_in_order
    # The axis is the same in all figures. It spans every alpha, and the interval's width times its
    # last change after each fold.
    axis_numbers = [ALPHAS[0], ALPHAS[-1]]
    for product in least_alpha_after_folds(all_moments):
        if product is not None:
            axis_numbers.append(product)

    def draw(*, dark: bool) -> list[go.Figure]:
        figures = []
        for alpha in ALPHAS:
            moments_at_alpha = moments(EFold(alpha=alpha), folds, CONFIDENCE)
            # The figure takes the spec of a run that the paper's rule has judged at this alpha.
            spec = replace(guide_run.run.spec, rule=PAPERS_RULE, rule_params=(("alpha", alpha),))
            figures.append(
                threshold_figure(
                    moments_at_alpha, spec, dark=dark, height=_HEIGHT, numbers_on_axis=axis_numbers
                )
            )
        return figures

    alpha_texts = [f"alpha {alpha_text(alpha)}" for alpha in ALPHAS]

    def steps() -> list[Step]:
        by_alpha = []
        for number, (sentence, text) in enumerate(zip(sentences, alpha_texts, strict=True)):
            by_alpha.append(Step(figure=number, alt=sentence, note=text))
        return by_alpha

    plot(
        draw,
        cache_key=guide_run.cache_key,
        key="learn-products",
        name="the rule fold by fold",
        alt="Interval width times its last change after each fold, against the line alpha.",
        slider_name=SLIDER,
        steps=steps,
    )
    save_chart(
        "rule",
        draw,
        subtitle=f"{guide_run.note} {guide_run.metric}, k = {guide_run.k}",
        sentences=sentences,
        step_names=alpha_texts,
        initial_step=ALPHAS.index(USUAL_ALPHA),
    )


def _rule_numbers(all_moments: Sequence[Moment]) -> SliderNumbers:
    """The numbers of the rule where it stops, or after the last fold, at each alpha."""
    numbers = SliderNumbers()
    # At each alpha, this is the number of folds after which the rule stops, or that of all folds.
    stops = stops_at(all_moments, np.array(ALPHAS)).tolist()
    for alpha, stop in zip(ALPHAS, stops, strict=True):
        text_of_alpha = alpha_text(alpha)
        # The first moment is that after fold 1, with the index 0.
        width_before = _width(all_moments[stop - 2])
        width = _width(all_moments[stop - 1])
        # The rule compares the width times its last change with alpha. If it does not stop even
        # after the last fold, the product is still above alpha.
        product = least_alpha(width_before, width)
        comparison = "is still above alpha"
        decision = "go on"
        if product <= alpha:
            comparison = "is at most alpha"
            decision = "stop"
        numbers.values.append(
            [
                score_text(width),
                score_text(abs(width_before - width)),
                alpha_text(float(f"{product:.1e}")),
                text_of_alpha,
            ]
        )
        numbers.notes.append(
            [f"after fold {stop}", f"from {score_text(width_before)}", comparison, decision]
        )
        numbers.sentences.append(_stop_sentence(all_moments, stop, text_of_alpha))
    return numbers


def _stop_sentence(all_moments: Sequence[Moment], stop: int, alpha: str) -> str:
    """What the rule saves and how far its mean is from that of all folds.

    Args:
        all_moments: All moments of the run.
        stop: The fold after which the rule stops.
        alpha: As it is written.
    """
    k = len(all_moments)
    if stop == k:
        return f"With alpha {alpha}, the rule needs all {k} folds, and nothing is saved."
    percent = difference_percent(all_moments[stop - 1].mean, all_moments[-1].mean)
    difference = percent_text(percent / 100, ".1f")
    return (
        f"With alpha {alpha}, the rule stops after fold {stop} and saves {k - stop} of {k} folds. "
        f"Its mean differs by {difference} from the mean of all {k}."
    )


def _width(moment: Moment) -> float:
    """Of the interval; every moment from the second on has one."""
    assert moment.interval is not None  # the rule stops after three folds at the earliest
    return moment.interval.width
