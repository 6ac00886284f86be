import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch.nn.functional import logsigmoid

from ecv_core.models.graph_net import Graph, LightGCNNet, NGCFNet, UsersAndItems

pytestmark = pytest.mark.usefixtures("on_the_processor")

HOW = dict(factors=5, regularization=0.3, batch_size=8, negatives=2, learning_rate=0.01)


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
    how = dict(layers=3, **HOW)
    return LightGCNNet(train, how | changes, seed=1)


def test_products_with_the_graph_are_those_with_the_normalised_matrix(lopsided):
    graph = Graph(lopsided, torch.device("cpu"))
    users = torch.rand(13, 4, requires_grad=True)
    items = torch.rand(41, 4, requires_grad=True)
    part = adjacency(lopsided)[:13, 13:]
    sums = graph.neighbour_sums(UsersAndItems(users, items))
    for found, expected in ((sums.users, part @ items), (sums.items, part.T @ users)):
        torch.testing.assert_close(found, expected)
        target = torch.rand(found.shape)
        slopes = torch.autograd.grad((found * target).sum(), items if len(found) == 13 else users)
        same = torch.autograd.grad((expected * target).sum(), items if len(found) == 13 else users)
        torch.testing.assert_close(slopes, same)


def light_gcn_by_the_book(net, train):
    """Mean of the layers, each the normalised adjacency times the one before."""
    layer = torch.cat((net.users, net.items))
    layers = [layer]
    for _ in range(net.params["layers"]):
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


@pytest.mark.parametrize("change", ["an epoch", "a copy"])
def test_scores_follow_every_change_of_the_weights(lopsided, change):
    net = light_gcn(lopsided)
    before = net.score(np.arange(13)).clone()
    if change == "an epoch":
        net.train_epoch(lambda: None)
    else:
        net.users.detach().copy_(net.users.detach() * 2)  # as the averaging of epochs does
    assert not torch.equal(net.score(np.arange(13)), before)


def ngcf(train, **changes):
    how = dict(layers=2, dropout=0.0, **HOW)
    return NGCFNet(train, how | changes, seed=1)


def ngcf_by_the_book(net, train):
    """The paper's messages, from each node to itself and from each of its neighbours, summed."""
    vectors = torch.cat((net.users, net.items))
    edges = adjacency(train)
    layers = [vectors]
    for weight, bias in net._layers:
        first, second = weight.split(net.params["factors"])
        messages = []
        for node, own in enumerate(vectors):
            total = own @ first + bias
            for neighbour in torch.nonzero(edges[node])[:, 0]:
                other = vectors[neighbour]
                message = other @ first + (other * own) @ second
                total = total + edges[node, neighbour] * message
            messages.append(total)
        messages = torch.stack(messages)
        vectors = torch.where(messages > 0, messages, 0.2 * messages)
        layers.append(vectors / vectors.norm(dim=1, keepdim=True))
    return torch.cat(layers, dim=1)


def test_ngcf_scores_are_those_of_the_papers_messages(lopsided):
    net = ngcf(lopsided)
    with torch.no_grad():
        for _, bias in net._layers:
            bias.normal_(generator=torch.Generator().manual_seed(3))
    final = ngcf_by_the_book(net, lopsided).detach()
    torch.testing.assert_close(net.score(np.arange(13)), final[:13] @ final[13:].T)


def test_dropout_of_ngcf_is_for_training_alone(lopsided):
    net, without = ngcf(lopsided, dropout=0.5), ngcf(lopsided)
    torch.testing.assert_close(net.score(np.arange(13)), without.score(np.arange(13)))
    everybody = UsersAndItems(torch.arange(13), torch.arange(41))
    trained = [torch.cat(net.final_vectors(everybody)) for _ in range(2)]
    assert not torch.equal(*trained)
    # Half of a node's mixed values, and none of its own.
    zeros = (trained[0][:, 5:] == 0).float().mean()
    assert 0.4 < zeros < 0.6
    assert (trained[0][:, :5] != 0).all()


def test_every_weight_of_ngcf_learns(lopsided):
    net = ngcf(lopsided, dropout=0.1, regularization=0.1)
    before = [weight.detach().clone() for weight in net.weights]
    net.train_epoch(lambda: None)
    for old, new in zip(before, net.weights, strict=True):
        assert not torch.equal(old, new)


@pytest.mark.parametrize("name", ["light-gcn", "ngcf"])
def test_slopes_are_those_of_the_loss_of_the_paper(lopsided, name):
    make, book = {
        "light-gcn": (light_gcn, light_gcn_by_the_book),
        "ngcf": (ngcf, ngcf_by_the_book),
    }[name]
    net = make(lopsided)
    users = torch.tensor([0, 1, 1, 12])
    items = torch.tensor([2, 5, 5, 0])
    negatives = torch.tensor([[1, 9], [5, 7], [8, 8], [3, 2]])
    loss = net.backpropagate(users, items, negatives)
    found = [weight.grad.clone() for weight in net.weights]

    net._optimizers[0].zero_grad()
    final = book(net, lopsided)
    user, item, other = final[users], final[13 + items], final[13 + negatives]
    ranking = -logsigmoid((user * item).sum(1, keepdim=True) - (user[:, None] * other).sum(2))
    own = net.users[users].square().sum() + net.items[items].square().sum()
    length = own + net.items[negatives].square().sum() / 2
    (ranking.mean() + 0.3 / 2 * length / 4).backward()
    torch.testing.assert_close(loss, ranking.mean().detach())
    for mine, written in zip(found, net.weights, strict=True):
        torch.testing.assert_close(mine, written.grad)
