"""Training matrices on the device where models compute: the GPU when there is one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Self

import numpy as np

from ecv_core.records.arrays import Indices

if TYPE_CHECKING:
    import torch
    from scipy.sparse import csr_array
    from torch import Tensor


def best_device() -> torch.device:
    """The GPU when there is one that CUDA can use, else the processor."""
    import torch

    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


LARGE_PRODUCT = 800_000_000
"""Multiplications in a product of a step from which a processor does it in bfloat16.

Below, a fold takes seconds to a few minutes, and processors with and without such instructions
differ by the rounding of float32 alone. Of the catalogue's datasets amazon-apps alone is above.
"""


def low_precision(device: torch.device, *, multiplications: int = 0) -> torch.autocast:
    """Matrix products of training in bfloat16 on a GPU or processor that has it.

    Weights, their gradients and the sums of losses stay float32.

    Args:
        device: Where the products are.
        multiplications: How many the largest product of a step has; a processor changes to
            bfloat16 from `LARGE_PRODUCT`. Without instructions for it nothing changes.
    """
    import torch

    if device.type == "cuda":
        enabled = torch.cuda.is_bf16_supported()
    else:
        enabled = multiplications >= LARGE_PRODUCT and _processor_has_bfloat16()
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=enabled)


@cache
def _processor_has_bfloat16() -> bool:
    import torch

    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name, False) for name in ("avx512_bf16", "amx_bf16"))


@contextmanager
def threads(count: int, *, when: bool = True) -> Iterator[None]:
    """Keep torch to so many threads: one for small steps, and a number for sums that they share.

    A BPR epoch takes three times as long on two cores as on one, and any small step many times as
    long when something else uses one of them: each waits for the slowest.
    """
    import torch

    if not when:
        yield
        return
    usual_count = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(usual_count)


@dataclass(frozen=True, kw_only=True, eq=False)
class BinaryMatrix:
    """A sparse matrix of ones on a device, as CSR without its data: the columns of each row.

    `columns` has shape (entries,) and `starts` (rows + 1,): row r has columns[starts[r] :
    starts[r + 1]]; both int32, as `embedding_bag` takes them.
    """

    columns: Tensor
    starts: Tensor

    @classmethod
    def from_csr(cls, matrix: csr_array, device: torch.device) -> Self:
        """The stored entries of a matrix, on a processor in its own memory: never write to them."""
        import torch

        return cls(
            columns=torch.from_numpy(matrix.indices.astype(np.int32, copy=False)).to(device),
            starts=torch.from_numpy(matrix.indptr.astype(np.int32, copy=False)).to(device),
        )

    @property
    def row_sizes(self) -> Tensor:
        """Entries in each row; shape (rows,)."""
        return self.starts.diff()

    @property
    def row_of_entry(self) -> Tensor:
        """The row of each entry; shape (entries,)."""
        import torch

        rows = torch.arange(len(self.starts) - 1, device=self.starts.device)
        return rows.repeat_interleave(self.row_sizes, output_size=len(self.columns))

    def take_rows(self, rows: Tensor | Indices) -> Self:
        """These rows, in this order; repeats are fine."""
        import torch

        rows = torch.as_tensor(rows, device=self.starts.device)
        sizes = self.row_sizes[rows]
        starts = torch.zeros(len(rows) + 1, dtype=torch.int32, device=self.starts.device)
        torch.cumsum(sizes, 0, out=starts[1:])
        entry_count = int(starts[-1])
        # An entry of the whole matrix is this much further on than the same entry of the rows
        # taken.
        shift_of_row = self.starts[rows] - starts[:-1]
        shift_of_entry = shift_of_row.repeat_interleave(sizes, output_size=entry_count)
        entries = torch.arange(entry_count, dtype=torch.int32, device=starts.device)
        return type(self)(columns=self.columns[entries + shift_of_entry], starts=starts)

    def times(
        self, table: Tensor, weights: Tensor | None = None, *, sparse: bool = False
    ) -> Tensor:
        """The product of the matrix and a dense one: for each row the sum of the table's rows at
        its columns.

        Args:
            table: Shape (columns of the matrix, width).
            weights: What the entries are instead of ones; shape (entries,).
            sparse: Whether the gradient of the table is sparse.

        Returns:
            Shape (rows, width).
        """
        from torch.nn.functional import embedding_bag

        return embedding_bag(
            self.columns,
            table,
            self.starts,
            mode="sum",
            include_last_offset=True,
            sparse=sparse,
            per_sample_weights=weights,
        )

    def batches(self, size: int) -> Iterator[Self]:
        """Consecutive parts of `size` rows; the last may be shorter."""
        row_count = len(self.starts) - 1
        # Copied once: to read a number from a GPU is to wait for all that it has still to do.
        starts_in_memory = self.starts.cpu()
        for first_row in range(0, row_count, size):
            end_row = min(first_row + size, row_count)
            first_entry = int(starts_in_memory[first_row])
            end_entry = int(starts_in_memory[end_row])
            yield type(self)(
                columns=self.columns[first_entry:end_entry],
                starts=self.starts[first_row : end_row + 1] - first_entry,
            )
