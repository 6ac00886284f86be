"""Where models compute, and how training data gets there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

if TYPE_CHECKING:
    import torch


def best_device() -> torch.device:
    """The GPU when there is one that CUDA can use, else the processor."""
    import torch

    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def profiles(
    train: csr_array, users: NDArray[np.intp], device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    """The items of a block of users, one user after another.

    Args:
        train: shape (users, items).
        users: row numbers of `train`; shape (block,).
        device: where the result lies.
    Returns: (items, starts): item numbers, shape (entries,), and where each user's begin, with
        the end of the last one's, shape (block + 1,); as `embedding_bag` takes them.
    """
    import torch

    rows = train[users]
    return torch.from_numpy(rows.indices).to(device), torch.from_numpy(rows.indptr).to(device)
