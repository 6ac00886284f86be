"""What scripts/record_protocols.py works out of fits."""

import numpy as np

from scripts.record_protocols import flips, verdicts


def test_verdicts_and_flips_of_three_algorithms():
    rng = np.random.default_rng(3)
    noise = rng.normal(0, 0.01, (3, 400))
    full = np.array([[0.3], [0.2], [0.2]]) + noise
    sampled = np.array([[0.3], [0.4], [0.2]]) + noise
    kept = {f"{name}--values": np.zeros(6) for name in ("ease", "nmf", "popular")}
    for at, name in enumerate(("ease", "nmf", "popular")):
        kept |= {f"{name}--full": full[at], f"{name}--uniN": sampled[at]}
    by_full, by_sample = verdicts(kept, "full"), verdicts(kept, "uniN")
    # popular, ease, nmf in the order of the study
    assert by_full == {("popular", "ease"): -1, ("popular", "nmf"): 0, ("ease", "nmf"): 1}
    assert by_sample == {("popular", "ease"): -1, ("popular", "nmf"): -1, ("ease", "nmf"): -1}
    assert flips(by_full, by_sample) == (1, 1, 0, 1)
