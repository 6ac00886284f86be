"""LensKit made ready: its thread pools set up once, and what its compiled part panics at said."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from ecv_core.records.errors import RunError


def load_lenskit(*modules: str) -> None:
    """Import LensKit and these of its modules; set its thread pools up once, torch's stay.

    Left alone LensKit sets torch to one thread, and warns and logs if torch is already in use.
    """
    for module in ("pandas", "lenskit.data", "lenskit.pipeline", *modules):
        import_module(module)
    import torch
    from lenskit.parallel import config

    if config._config is None:
        threads = torch.get_num_threads()
        log = logging.getLogger(config.__name__)
        level = log.level
        log.setLevel(logging.ERROR)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                config.initialize(processes=1, threads=threads, backend_threads=threads)
        finally:
            log.setLevel(level)


@contextmanager
def panics_as(sentence: str) -> Iterator[None]:
    """Turn a panic of LensKit's compiled part, which is no Exception, into a RunError.

    It panics on a singular system.
    """
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise RunError(sentence) from error
