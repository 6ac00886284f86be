import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch.nn.functional import logsigmoid

from ecv_core.models.sampled_net import BPRNet

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
    loss = model.learn(users, items, negatives)
    found = [weight.grad.clone() for weight in model.weights()]

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
    for mine, written in zip(found, model.weights(), strict=True):
        torch.testing.assert_close(mine, written.grad)


def test_score_is_the_product_of_the_vectors_plus_the_bias():
    model = net(np.eye(4, 6, dtype=np.float32))
    users, items, bias = (weight.detach().numpy() for weight in model.weights())
    expected = users[[2, 0]] @ items.T + bias[:, 0]
    np.testing.assert_allclose(model.score(np.array([2, 0])).numpy(), expected, rtol=1e-5)
