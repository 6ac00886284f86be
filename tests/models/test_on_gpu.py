"""What a GPU computes is what the processor computes; skipped where there is none."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from ecv_core.models import algorithm

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")

SEVERAL = 7
"""Pairs of a batch; some users and items repeat."""


NETWORKS = ["bpr-mf", "neu-mf", "light-gcn", "ngcf", "multi-vae", "triple2vec", "vbcar"]


@pytest.fixture(params=NETWORKS)
def both(request, lopsided, one_basket_each):
    """The same network with the same weights, on the processor and on the GPU."""
    chosen = algorithm(request.param)
    can_drop = "dropout" in {parameter.name for parameter in chosen.parameters}
    params = chosen.resolve({"dropout": 0.0} if can_drop else {})
    made = []
    for there in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(torch.cuda, "is_available", lambda there=there: there)
            network = chosen.build(dict(params))
            made.append(network.untrained_net(lopsided, 1, one_basket_each(lopsided)))
    random = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for here, there in zip(*(net.weights for net in made), strict=True):
            here.normal_(0.0, 0.3, generator=random)
            there.copy_(here)
    return made


def test_scores_are_those_of_the_processor(both):
    here, there = (net.score(np.arange(13)) for net in both)
    assert there.is_cuda
    torch.testing.assert_close(there.cpu(), here, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "both", ["bpr-mf", "neu-mf", "light-gcn", "ngcf", "triple2vec"], indirect=True
)
def test_slopes_of_a_batch_are_those_of_the_processor(both, monkeypatch):
    """In float32, and of those whose loss draws nothing at random but negatives."""
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: False)
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, size, SEVERAL) for size in (13, 41, 41)]
    losses = []
    for net in both:
        rows = [torch.as_tensor(column, device=net.device) for column in columns]
        if hasattr(net, "_draw_negatives"):
            net._draw_negatives = lambda weights: torch.arange(5, device=weights.device)
        else:
            rows[2] = torch.stack((rows[2], rows[2].flip(0), rows[1].flip(0)), dim=1)
        losses.append(net.backpropagate(*rows))
    here, there = losses
    torch.testing.assert_close(there.cpu(), here, rtol=1e-4, atol=1e-5)
    for slow, fast in zip(*(net.weights for net in both), strict=True):
        torch.testing.assert_close(fast.grad.cpu(), slow.grad, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("name", ["ease", "nmf"])
def test_same_seed_gives_the_same_scores_whatever_ran_before(name, lopsided):
    chosen = algorithm(name)
    found = []
    for _ in range(2):
        model = chosen.build(dict(chosen.resolve({})))
        model.fit(lopsided, seed=4)
        found.append(model.score(np.arange(13)))
    assert found[0].is_cuda
    assert torch.equal(*found)


def test_memory_that_runs_out_is_one_sentence_that_names_the_gpu():
    program = """
import torch
from ecv_core.fold.computing import run_fold
from ecv_core.fold.spec import make_spec
from ecv_core.jobs.executors import failure_sentence

torch.cuda.set_per_process_memory_fraction(1e-4)
try:
    run_fold(make_spec(dataset="synthetic", algorithm="bpr-mf", params={"factors": 512}), 0)
except Exception as error:
    print(failure_sentence(error))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("the GPU's memory ran out in this fold"), done.stdout
