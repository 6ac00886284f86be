import numpy as np
import pytest
import torch

from ecv_core.models import pair_net
from ecv_core.models.pair_net import NeuMFNet

pytestmark = pytest.mark.usefixtures("on_the_processor")


@pytest.fixture
def net(lopsided):
    network = dict(factors=4, hidden=6, dropout=0.0)
    training = dict(batch_size=8, negatives=2, learning_rate=0.01, weight_decay=0.0)
    made = NeuMFNet(lopsided, network | training, seed=1)
    random = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for weight in made.weights:  # biases too, which start at 0
            weight.normal_(generator=random)
    return made


def textbook_score(net, user, item):
    """The paper's network for one pair: the perceptron gets both vectors end to end."""
    gu, gi, mu, mi, wu, wi, b1, w2, b2, og, om, ob = (w.detach().numpy() for w in net.weights)
    first = np.concatenate((mu[user], mi[item])) @ np.concatenate((wu, wi)) + b1
    second = np.maximum(first, 0) @ w2 + b2
    return (gu[user] * gi[item]) @ og + np.maximum(second, 0) @ om + ob[0]


def test_scores_of_blocks_are_those_of_single_pairs(net, monkeypatch):
    monkeypatch.setattr(pair_net, "CELLS", 3 * 41 * 6)  # three users at once
    users = [12, 0, 5, 5, 3]
    expected = [[textbook_score(net, user, item) for item in range(41)] for user in users]
    np.testing.assert_allclose(net.score(np.array(users)).numpy(), expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("pairs", [2, 60])  # tables looked up before or after the product
def test_loss_is_the_mean_logistic_loss_of_the_pairs(net, pairs):
    users = torch.arange(pairs) % 13
    items = torch.arange(pairs) % 41
    negatives = torch.stack([(items + 1) % 41, (items + 7) % 41], dim=1)
    found = net.backpropagate(users, items, negatives)
    losses = []
    for user, item, others in zip(users, items, negatives, strict=True):
        losses.append(np.log1p(np.exp(-textbook_score(net, user, item))))
        losses += [np.log1p(np.exp(textbook_score(net, user, other))) for other in others]
    np.testing.assert_allclose(float(found), np.mean(losses), rtol=1e-4)
