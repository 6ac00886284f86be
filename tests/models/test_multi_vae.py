import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from ecv_core.models import device
from ecv_core.models.multi_vae_net import MultiVAENet, _LogLikelihood

pytestmark = pytest.mark.usefixtures("on_the_processor")


def settings(**changed):
    values = dict(
        hidden=6,
        latent=3,
        dropout=0.0,
        kl_weight=0.5,
        anneal_epochs=0,
        learning_rate=0.01,
        batch_size=4,
        weight_decay=0.0,
    )
    return values | changed


def test_likelihood_and_its_slope_are_those_of_log_softmax():
    rng = torch.Generator().manual_seed(0)
    logits = torch.randn((4, 7), generator=rng, dtype=torch.float64, requires_grad=True)
    rows, columns = torch.tensor([0, 0, 1, 3, 3, 3]), torch.tensor([1, 4, 6, 0, 2, 5])
    sizes = torch.tensor([2, 1, 0, 3])
    found = _LogLikelihood.apply(logits, rows, columns, sizes)
    (3 * found).backward()
    slope = logits.grad.clone()
    logits.grad = None
    expected = torch.log_softmax(logits, dim=1)[rows, columns].sum()
    (3 * expected).backward()
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(slope, logits.grad)


def test_score_is_the_networks_formula_on_normalised_rows(lopsided):
    net = MultiVAENet(lopsided, settings(), seed=1)
    into, b0, encode, b1, decode, b2, out, b3 = (w.detach().numpy() for w in net.weights)
    dense = lopsided.toarray()
    norms = np.maximum(np.linalg.norm(dense, axis=1, keepdims=True), 1)
    mean = (np.tanh(dense / norms @ into + b0) @ encode + b1)[:, :3]
    expected = np.tanh(mean @ decode + b2) @ out + b3
    np.testing.assert_allclose(net.score(np.arange(13)).numpy(), expected, rtol=1e-4, atol=1e-5)


def test_items_hidden_from_training_count_when_scoring(lopsided):
    net = MultiVAENet(csr_array(np.zeros((13, 41), dtype=np.float32)), settings(), seed=1)
    before = net.score(np.arange(13))
    net.use_rows_of(lopsided)
    after = net.score(np.arange(13))
    assert torch.equal(before[3], after[3])  # user 3 has nothing either way
    assert not torch.allclose(before[0], after[0])


def trained(train: csr_array, monkeypatch: pytest.MonkeyPatch, *, able: bool, largest: int):
    """Loss of one epoch and the weights after it, where the processor can do bfloat16 or not."""
    net = MultiVAENet(train, settings(hidden=64, latent=16), seed=1)
    monkeypatch.setattr(device, "LARGE_PRODUCT", largest)
    monkeypatch.setattr(device, "_processor_has_bfloat16", lambda: able)
    return net.train_epoch(lambda: None), [weight.detach() for weight in net.weights]


def test_large_products_in_bfloat16_learn_what_float32_learns(lopsided, monkeypatch):
    largest = 4 * 64 * lopsided.shape[1]
    exact, weights = trained(lopsided, monkeypatch, able=False, largest=largest)
    rounded, found = trained(lopsided, monkeypatch, able=True, largest=largest)
    assert rounded != exact
    assert rounded == pytest.approx(exact, rel=1e-2)  # bfloat16 has 8 bits
    assert {weight.dtype for weight in found} == {torch.float32}
    for one, other in zip(weights, found, strict=True):
        assert torch.linalg.norm(one - other) < 0.1 * torch.linalg.norm(one)
    # One multiplication fewer than is large: the same with and without such instructions.
    again, _ = trained(lopsided, monkeypatch, able=True, largest=largest + 1)
    assert again == exact


def test_drawn_items_stand_for_all_others_in_expectation(lopsided):
    net = MultiVAENet(lopsided, settings(sampled_items=5), seed=1)
    latent = torch.randn((3, 3), generator=torch.Generator().manual_seed(0))
    columns = torch.tensor([6, 1, 4, 1])
    with torch.no_grad():
        whole = net._item_logits(latent)
        drawn = [net._training_logits(latent, columns) for _ in range(2000)]
    for logits, places in drawn[:3]:
        assert logits.shape == (3, 3 + 5)
        torch.testing.assert_close(logits[:, places], whole[:, columns])
    sums = torch.stack([logits.exp().sum(dim=1) for logits, _ in drawn])
    error = sums.std(dim=0) / len(drawn) ** 0.5
    assert ((sums.mean(dim=0) - whole.exp().sum(dim=1)).abs() < 5 * error).all()


def test_with_as_many_drawn_as_there_are_the_likelihood_is_the_full_one(lopsided):
    net = MultiVAENet(lopsided, settings(sampled_items=1000), seed=1)
    latent, columns = torch.ones((1, 3)), torch.tensor([2, 9])
    logits, places = net._training_logits(latent, columns)
    whole = net._item_logits(latent)
    found = torch.log_softmax(logits, dim=1)[0, places]
    torch.testing.assert_close(found, torch.log_softmax(whole, dim=1)[0, columns])


def test_a_step_with_drawn_items_leaves_the_rows_of_others_alone(lopsided):
    net = MultiVAENet(lopsided, settings(sampled_items=1, batch_size=1), seed=1)
    before = [weight.detach().clone() for weight in net.sparse_weights()]

    class Enough(Exception):
        pass

    def after_one() -> None:
        raise Enough

    with pytest.raises(Enough):
        net.train_epoch(after_one)
    changed = [
        (old != new.detach()).any(dim=1).sum()
        for old, new in zip(before, net.sparse_weights(), strict=True)
    ]
    most = np.diff(lopsided.indptr).max() + 1
    assert 0 < changed[1] <= most < lopsided.shape[1]
