"""How often intervals and tests draw: as often as for users, or a few times.

What a run writes, refuses or decides does not depend on it, and 9,999 resamples of every score are
a third of the time of such a run. Tests of statistics are marked ``all_draws``.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

import numpy as np

from pytest_bias.scoring import statistics
from pytest_bias.scoring.statistics import Bounds, Draws, Sampling

ALL: Final = Draws()
FEW: Final = Draws(resamples=199, arrangements=1_000, shuffles=99, partitions=100)
VARIABLE: Final = "TESTS_DRAW_FEW"
"""Says so to processes, as `warm.server` starts them."""


def choose(*, few: bool) -> None:
    """Set what every score is made with, from now on and in processes that are started."""
    statistics.DRAWS = FEW if few else ALL
    if few:
        os.environ[VARIABLE] = "1"
    else:
        os.environ.pop(VARIABLE, None)


@contextmanager
def as_for_users() -> Iterator[None]:
    """Draw as often as for users within a test that draws a few times."""
    before, statistics.DRAWS = statistics.DRAWS, ALL
    yield
    statistics.DRAWS = before


def sampling(
    seed: int = 0, level: float = 0.95, bounds: Bounds = (None, None), **how_often: int
) -> Sampling:
    """Return draws from a seed, as many as for users unless it is said how often."""
    rng = np.random.default_rng(seed)
    return Sampling(rng, level, replace(ALL, **how_often), bounds)


def follow() -> None:
    """Draw as often as the process that started this one."""
    choose(few=VARIABLE in os.environ)


pytest_configure = follow
"""For sessions of pytest that tests start, which load this file as a plugin."""
