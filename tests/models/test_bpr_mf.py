import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch.nn.functional import logsigmoid

from ecv_core.models import pair_net
from ecv_core.models.pair_net import BPRNet

pytestmark = pytest.mark.usefixtures("on_the_processor")


def net(dense, **more):
    training = dict(batch_size=8, negatives=3, learning_rate=0.6)
    how = dict(factors=5, regularization=0.1, **training, **more)
    return BPRNet(csr_array(dense), how, seed=1)


@pytest.mark.parametrize(
    ("more", "of_users", "of_items"),
    # Tied: slopes of 0.6 / 20 and 0.6 / 200 times a vector are those of half of it squared.
    [({}, 0.1, 0.1), ({"tied_regularization": True}, 0.03 / 2, 0.003 / 2)],
)
def test_gradients_by_hand_are_those_of_the_written_loss(lopsided, more, of_users, of_items):
    model = net(lopsided.toarray(), **more)
    users = torch.tensor([0, 1, 1, 12])
    items = torch.tensor([2, 5, 5, 0])
    negatives = torch.tensor([[1, 1, 9], [5, 6, 7], [8, 2, 2], [3, 40, 2]])
    bias = model._bias
    with torch.no_grad():
        bias.normal_(generator=torch.Generator().manual_seed(3))
    loss = model.backpropagate(users, items, negatives)
    found = [weight.grad.clone() for weight in model.weights]

    model._optimizers[0].zero_grad()
    user, item, other = model._users[users], model._items[items], model._items[negatives]
    own = (user * item).sum(1) + bias[items, 0]
    rest = (user[:, None] * other).sum(2) + bias[negatives, 0]
    ranking = -logsigmoid(own[:, None] - rest).mean()
    size = of_users * user.square().sum() + of_items * (
        item.square().sum()
        + other.square().sum()
        + bias[items].square().sum()
        + bias[negatives].square().sum()
    ) / (1 + negatives.shape[1])
    (ranking + size / len(users)).backward()
    torch.testing.assert_close(loss, ranking.detach())
    for mine, written in zip(found, model.weights, strict=True):
        torch.testing.assert_close(mine, written.grad)


def test_score_is_the_product_of_the_vectors_plus_the_bias():
    model = net(np.eye(4, 6, dtype=np.float32))
    users, items, bias = (weight.detach().numpy() for weight in model.weights)
    expected = users[[2, 0]] @ items.T + bias[:, 0]
    np.testing.assert_allclose(model.score(np.array([2, 0])).numpy(), expected, rtol=1e-5)


@pytest.mark.parametrize("with_bias", [True, False])
def test_compiled_slopes_are_those_that_a_gpu_adds_up(with_bias):
    random = torch.Generator().manual_seed(5)
    batch = pair_net.SampledBatch(
        users=torch.randint(7, (50,), generator=random),
        positives=torch.randint(9, (50,), generator=random),
        negatives=torch.randint(9, (50, 3), generator=random),
    )
    slopes = torch.rand((3, 50), generator=random)
    users = torch.randn((7, 32), generator=random)
    items = torch.randn((9, 32), generator=random)
    bias = torch.randn(9, generator=random)
    added = []
    for add in (pair_net.add_gradients, pair_net.add_gradients_compiled):
        of_users = pair_net.Vectors(values=users, gradients=torch.ones_like(users))
        of_items = pair_net.Vectors(values=items, gradients=torch.ones_like(items))
        if with_bias:
            biases = dict(biases=bias, bias_gradients=torch.ones_like(bias))
            of_items = pair_net.Vectors(values=items, gradients=torch.ones_like(items), **biases)
        add(of_users, of_items, batch, slopes, pair_net.Decay(0.02, 0.03))
        added.append((of_users.gradients, of_items.gradients, of_items.bias_gradients))
    torch.testing.assert_close(added[1], added[0])
