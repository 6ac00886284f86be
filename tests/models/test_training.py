import math

import pytest
import torch

from ecv_core.models import ALGORITHMS
from ecv_core.models.training import AveragedWeights, run_epochs
from ecv_core.records.errors import Cancelled, RunError
from ecv_core.records.run import no_progress

NEURAL = ["multi-vae", "neu-mf", "bpr-mf", "light-gcn", "ngcf", "triple2vec", "vbcar"]


class Counting:
    """A network whose one weight is the number of epochs it has had."""

    def __init__(self, losses=()):
        self.weight = torch.zeros(1)
        self.weights = [self.weight]
        self.losses = dict(enumerate(losses))

    def train_epoch(self, after_batch):
        after_batch()
        loss = self.losses.get(int(self.weight), 1.0)
        self.weight += 1
        return loss

    def score(self, users):
        return self.weight

    def use_rows_of(self, train):
        pass


class Curve:
    """A validation part on which epoch e scores curve[e]."""

    def __init__(self, *curve):
        self.curve = curve

    def ndcg(self, score):
        return self.curve[int(score(None)) - 1]


def schedule(epochs, patience=2, averaging=0.0):
    return {"epochs": epochs, "patience": patience, "averaging": averaging}


@pytest.mark.parametrize(
    ("curve", "trained", "kept"),
    [
        ((0.1, 0.2, 0.3, 0.4, 0.5, 0.6), 6, 6),  # better to the end
        ((0.1, 0.3, 0.2, 0.2, 0.9, 0.9), 4, 2),  # patience ends before it could get better
        ((0.1, 0.3, 0.2, 0.4, 0.3, 0.3), 6, 4),  # a new best starts patience again
        ((0.3, 0.2, 0.1, 0.0, 0.0, 0.0), 3, 1),  # only worse
    ],
)
def test_stops_when_patience_ends_and_keeps_the_best_epoch(curve, trained, kept):
    net, steps = Counting(), []
    run_epochs("x", net, schedule(6), Curve(*curve), lambda *call: steps.append(call))
    assert net.weight.item() == kept
    # An epoch tells its number from 0 after its one batch, here before it is done.
    assert max(step for _, step, _ in steps[:-1]) in (trained, trained - 1)
    assert steps[-1][1:] == (6, 6)


def test_without_a_validation_part_all_epochs_are_trained():
    net = Counting()
    run_epochs("x", net, schedule(6), None, no_progress)
    assert net.weight.item() == 6


@pytest.mark.parametrize("loss", [math.nan, math.inf])
def test_divergence_names_the_epoch(loss):
    with pytest.raises(RunError, match=r"x diverged in epoch 3 of 6.*lower learning_rate"):
        run_epochs("x", Counting([1.0, 0.5, loss]), schedule(6), None, no_progress)


def test_the_inner_curve_has_a_value_for_every_epoch():
    curve = run_epochs("x", Counting(), schedule(3), Curve(0.1, 0.3, 0.2), no_progress)
    assert curve == [0.1, 0.3, 0.2]


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_average_is_the_weighted_mean_of_the_epochs(share):
    weight = torch.zeros(1)
    average = AveragedWeights([weight], share)
    for value in (3.0, 5.0, 4.0):
        weight.fill_(value)
        average.update()
    expected = (3 * share**2 + 5 * share + 4) / (share**2 + share + 1)
    assert average.means[0].item() == pytest.approx(expected)
    with average.replacing_weights():
        assert weight.item() == pytest.approx(expected)
    assert weight.item() == 4.0


@pytest.mark.parametrize("name", NEURAL)
def test_cancel_takes_effect_between_two_batches(name, lopsided, one_basket_each):
    calls = []

    def cancel_later(phase, step, steps):
        calls.append(step)
        if len(calls) == 3:
            raise Cancelled("enough")

    chosen = ALGORITHMS[name]
    model = chosen.build(dict(chosen.resolve({"batch_size": 1})))
    with pytest.raises(Cancelled):
        chosen.fit(
            model, lopsided, lambda: one_basket_each(lopsided), seed=1, progress=cancel_later
        )
    assert calls == [0, 0, 0]  # still in the first epoch


@pytest.mark.parametrize("name", NEURAL)
def test_a_learning_rate_that_diverges_fails_with_the_epoch(name, lopsided, one_basket_each):
    chosen = ALGORITHMS[name]
    model = chosen.build(dict(chosen.resolve({})))
    history = one_basket_each(lopsided)
    net = model.untrained_net(lopsided, 1, history if chosen.needs.value == "baskets" else None)
    with torch.no_grad():
        net.weights[0].fill_(math.nan)
    model._make = lambda *_: net
    with pytest.raises(RunError, match=f"{name} diverged in epoch 1 of"):
        chosen.fit(model, lopsided, lambda: history, seed=1)


@pytest.mark.parametrize("name", NEURAL)
def test_early_stopping_trains_on_less_and_reports_its_curve(name, checkerboard, one_basket_each):
    chosen = ALGORITHMS[name]
    given = {"early_stopping": True, "patience": 1, "validation_share": 0.2, "epochs": 5}
    model = chosen.build(dict(chosen.resolve(given)))
    calls = []
    chosen.fit(
        model,
        checkerboard,
        lambda: one_basket_each(checkerboard),
        seed=1,
        progress=lambda *call: calls.append(call),
    )
    curve = model.inner_curve
    assert calls[-1] == ("fit", 5, 5)
    assert 1 <= len(curve) <= 5
    assert all(0 <= value <= 1 for value in curve)
