"""Users who have so many of all interactions that they are hardly people."""

import numpy as np

from ecv_core.records.arrays import Codes, Mask

_MANY_USERS = 50
_PARTS_OF_ALL = 10
"""Of many users, one with more than a tenth of all interactions is hardly a person."""


def most_interactions_of_a_person(interactions: int, users: int) -> int:
    """How many of all interactions a person may have; of few users each may have all."""
    if users < _MANY_USERS:
        return interactions
    return interactions // _PARTS_OF_ALL


def rows_of_bots(users: Codes, n_users: int) -> Mask:
    """Which rows are of users who have more than a person may have.

    Args:
        users: The code of each row's user; shape (rows,).
        n_users: How many users there are.

    Returns:
        Shape (rows,).
    """
    counts = np.bincount(users, minlength=n_users)
    is_bot = counts > most_interactions_of_a_person(len(users), n_users)
    return is_bot[users]
