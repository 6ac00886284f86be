import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch.nn.functional import logsigmoid

from ecv_core.models.graph_net import Graph
from ecv_core.models.light_gcn_net import LightGCNNet


def adjacency(train):
    """D^-1/2 A D^-1/2 of the papers: users first, then items; nodes without edges stay alone."""
    dense = torch.from_numpy(train.toarray())
    users, items = dense.shape
    edges = torch.zeros(users + items, users + items)
    edges[:users, users:] = dense
    edges[users:, :users] = dense.T
    scale = edges.sum(dim=1).clamp(min=1).rsqrt()
    return scale[:, None] * edges * scale


def light_gcn(train, **changes):
    how = dict(factors=5, layers=3, regularization=0.3, batch_size=8, negatives=2)
    return LightGCNNet(train, seed=1, learning_rate=0.01, **how | changes)


def test_products_with_the_graph_are_those_with_the_normalised_matrix(lopsided):
    graph = Graph(lopsided, torch.device("cpu"))
    users = torch.rand(13, 4, requires_grad=True)
    items = torch.rand(41, 4, requires_grad=True)
    part = adjacency(lopsided)[:13, 13:]
    for found, expected in (
        (graph.to_users(items), part @ items),
        (graph.to_items(users), part.T @ users),
    ):
        torch.testing.assert_close(found, expected)
        target = torch.rand(found.shape)
        slopes = torch.autograd.grad((found * target).sum(), items if len(found) == 13 else users)
        same = torch.autograd.grad((expected * target).sum(), items if len(found) == 13 else users)
        torch.testing.assert_close(slopes, same)


def light_gcn_by_the_book(net, train):
    """Mean of the layers, each the normalised adjacency times the one before."""
    layer = torch.cat((net.users, net.items))
    layers = [layer]
    for _ in range(net.layers):
        layers.append(adjacency(train) @ layers[-1])
    return torch.stack(layers).mean(dim=0)


def test_light_gcn_averages_the_powers_of_the_graph(lopsided):
    net = light_gcn(lopsided)
    final = light_gcn_by_the_book(net, lopsided).detach()
    expected = final[:13] @ final[13:].T
    torch.testing.assert_close(net.score(np.arange(13)), expected)
    torch.testing.assert_close(net.score(np.array([12, 3, 3])), expected[[12, 3, 3]])


def test_hand_worked_light_gcn():
    # One user with one item of two: the edge weighs 1, so that one layer swaps their vectors.
    net = light_gcn(csr_array(np.array([[1, 0]], dtype=np.float32)), factors=1, layers=1)
    with torch.no_grad():
        net.users.fill_(2.0)
        net.items.copy_(torch.tensor([[6.0], [3.0]]))
    # User (2 + 6) / 2, first item (6 + 2) / 2, second item 3 / 2.
    torch.testing.assert_close(net.score(np.array([0])), torch.tensor([[16.0, 6.0]]))


def test_slopes_of_light_gcn_are_those_of_the_loss_of_the_paper(lopsided):
    net = light_gcn(lopsided)
    users = torch.tensor([0, 1, 1, 12])
    items = torch.tensor([2, 5, 5, 0])
    negatives = torch.tensor([[1, 9], [5, 7], [8, 8], [3, 2]])
    loss = net.learn(users, items, negatives)
    found = [weight.grad.clone() for weight in net.weights()]

    net._optimizer.zero_grad()
    final = light_gcn_by_the_book(net, lopsided)
    user, item, other = final[users], final[13 + items], final[13 + negatives]
    ranking = -logsigmoid((user * item).sum(1, keepdim=True) - (user[:, None] * other).sum(2))
    own = net.users[users].square().sum() + net.items[items].square().sum()
    length = own + net.items[negatives].square().sum() / 2
    (ranking.mean() + 0.3 / 2 * length / 4).backward()
    torch.testing.assert_close(loss, ranking.mean().detach())
    for mine, written in zip(found, net.weights(), strict=True):
        torch.testing.assert_close(mine, written.grad)


@pytest.mark.parametrize("change", ["an epoch", "a copy"])
def test_scores_follow_every_change_of_the_weights(lopsided, change):
    net = light_gcn(lopsided)
    before = net.score(np.arange(13)).clone()
    if change == "an epoch":
        net.epoch(lambda: None)
    else:
        net.users.detach().copy_(net.users.detach() * 2)  # as the averaging of epochs does
    assert not torch.equal(net.score(np.arange(13)), before)
