"""The examples in the docstrings of public names give what they say."""

from __future__ import annotations

import doctest

import pytest

import ecv_core as ecv

EXAMPLES = []
for public in ecv.__all__:
    docstrings = doctest.DocTestFinder(recurse=False).find(getattr(ecv, public), public)
    EXAMPLES += [docstring for docstring in docstrings if docstring.examples]


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.name for example in EXAMPLES])
def test_an_example_gives_what_it_says(example: doctest.DocTest) -> None:
    differences: list[str] = []
    runner = doctest.DocTestRunner(verbose=False)  # also where pytest's arguments have -v
    runner.run(example, out=differences.append)
    assert not differences, "".join(differences)


@pytest.mark.parametrize("name", ["evaluate", "select", "tune", "metrics", "gate", "Fixed"])
def test_what_is_used_first_has_an_example(name: str) -> None:
    assert name in [example.name for example in EXAMPLES]
