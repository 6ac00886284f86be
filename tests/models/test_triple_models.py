import numpy as np
import pytest
import torch
from torch.distributions import Normal, kl_divergence

from ecv_core.models.triple_net import Triple2vecNet, VBCARNet
from ecv_core.records.errors import DatasetError
from ecv_core.records.interactions import History

pytestmark = pytest.mark.usefixtures("on_the_processor")

HOW = dict(factors=4, learning_rate=0.01, batch_size=8, negatives=3, noise_popularity=0.5)


def triple2vec(train, history, **changes):
    return Triple2vecNet(train, HOW | changes, seed=1, history=history)


def vbcar(train, history, **changes):
    how = HOW | dict(hidden=6, kl_weight=0.0)
    return VBCARNet(train, how | changes, seed=1, history=history)


@pytest.fixture(params=[triple2vec, vbcar])
def net(request, lopsided, one_basket_each):
    made = request.param(lopsided, one_basket_each(lopsided))
    random = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for bias in made.undecayed_weights():
            bias.normal_(generator=random)
    return made


def log_sigmoid(x):
    return -np.log1p(np.exp(-x))


def test_loss_of_triple2vec_is_that_of_the_three_conditional_probabilities(
    lopsided, one_basket_each, monkeypatch
):
    net = triple2vec(lopsided, one_basket_each(lopsided))
    with torch.no_grad():
        for bias in net.undecayed_weights():
            bias.normal_(generator=torch.Generator().manual_seed(5))
    drawn = iter([[3, 9, 9], [4, 40, 1], [2, 2, 8]])
    monkeypatch.setattr(net, "_draw_negatives", lambda weights: torch.tensor(next(drawn)))
    triples = [(0, 2, 5), (12, 5, 1), (12, 7, 7)]
    found = net.backpropagate(*(torch.tensor(column) for column in zip(*triples, strict=True)))

    user_bias, item_bias, h, p, q = (weight.detach().numpy() for weight in net.weights)
    total = 0.0
    for user, first, second in triples:
        for own, table, bias, others, context in (
            (user, h, user_bias, [3, 9, 9], p[first] + q[second]),
            (first, p, item_bias, [4, 40, 1], h[user] + q[second]),
            (second, q, item_bias, [2, 2, 8], h[user] + p[first]),
        ):
            total -= log_sigmoid(table[own] @ context + bias[own])
            wrong = [log_sigmoid(-(table[other] @ context) - bias[other]) for other in others]
            total -= 3 * np.mean(wrong)
    assert float(found) == pytest.approx(total / 3, rel=1e-5)


def test_score_is_what_both_places_of_an_item_say_of_the_user(net):
    users, items = net.scoring_vectors(torch.tensor([12, 3]))
    expected = users @ items.T + 2 * net.undecayed_weights()[1]
    torch.testing.assert_close(net.score(np.array([12, 3])), expected.detach())
    if isinstance(net, Triple2vecNet):
        torch.testing.assert_close(items, net._firsts + net._seconds)


def test_biases_alone_do_not_decay(lopsided, one_basket_each):
    net = triple2vec(lopsided, one_basket_each(lopsided), learning_rate=0.001, weight_decay=900.0)
    with torch.no_grad():
        net.undecayed_weights()[1].fill_(5.0)
    before = net._firsts.detach().clone()
    next(iter(net.backpropagated_batches()))
    net._optimizers[0].step()
    torch.testing.assert_close(net._firsts.detach(), 0.1 * before, atol=0.002, rtol=0)
    torch.testing.assert_close(
        net.undecayed_weights()[1].detach(), torch.full((41,), 5.0), atol=0.002, rtol=0
    )


def test_vbcar_draws_from_the_distributions_that_it_learns(lopsided, one_basket_each):
    net = vbcar(lopsided, one_basket_each(lopsided))
    table, (weight, bias) = net._user_encoder
    both = torch.tanh(table[5]) @ weight + bias
    mean, deviation = both[:4].detach(), (both[4:].detach() / 2).exp()
    rows = torch.full((20_000,), 5)
    with torch.no_grad():
        users = net.training_vectors(rows, rows, rows)[0][0]
    torch.testing.assert_close(users.mean(dim=0), mean, atol=0.05, rtol=0)
    torch.testing.assert_close(users.std(dim=0), deviation, rtol=0.05, atol=0)
    torch.testing.assert_close(net.scoring_vectors(torch.tensor([5]))[0][0].detach(), mean)


def test_vbcars_own_loss_is_the_divergence_from_a_standard_normal(lopsided, one_basket_each):
    net = vbcar(lopsided, one_basket_each(lopsided), kl_weight=0.3)
    rows = [torch.tensor([0, 12]), torch.tensor([3, 40]), torch.tensor([7, 7])]
    expected = 0.0
    encoders = net._user_encoder, net._item_encoder, net._item_encoder
    for row, (table, (weight, bias)) in zip(rows, encoders, strict=True):
        mean, log_variance = (torch.tanh(table[row]) @ weight + bias).chunk(2, dim=1)
        learnt = Normal(mean, (log_variance / 2).exp())
        expected += kl_divergence(learnt, Normal(0.0, 1.0)).sum(dim=1).mean()
    torch.testing.assert_close(net.training_vectors(*rows)[1], 0.3 * expected)


def test_without_two_items_in_any_basket_there_is_one_sentence(lopsided):
    history = History(baskets=np.arange(lopsided.nnz))
    with pytest.raises(DatasetError, match=r"no basket of the training data holds two items; .*"):
        triple2vec(lopsided, history)
