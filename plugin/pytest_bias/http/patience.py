"""How often a server is asked, and how long is waited: the one loop for what is tried again."""

import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from pytest_bias.http.failures import Failed

T = TypeVar("T")


@dataclass(slots=True)
class Patience:
    """How patiently a server is asked.

    Parameters
    ----------
    attempts : int
        How often, the first one counted.
    backoff_s, jitter_s : float
        Wait after the first attempt, twice as long after each further one; and how much longer at
        most, by chance, so that requests which failed together do not come back together.
    longest_s, left_s : float
        Longest wait between two attempts, and of all of them from now on.
    insists : bool
        Whether a server that asks for a longer wait is asked again after the longest one.
    sleep : callable
        Waits for some seconds.
    """

    attempts: int = 4
    backoff_s: float = 1.0
    jitter_s: float = 0.0
    longest_s: float = 60.0
    left_s: float = math.inf
    insists: bool = False
    sleep: Callable[[float], object] = time.sleep

    def ask(self, attempt: Callable[[], T], retried: Callable[[Failed], object] | None = None) -> T:
        """Return what an attempt returns, which is made anew where it raises that it may be.

        `retried` is called with each failure that another attempt follows.
        """
        made = 0
        while True:
            made += 1
            try:
                return attempt()
            except Failed as failed:
                failed.attempts = made
                wait: float = self.backoff_s * 2 ** (made - 1) + random.uniform(0, self.jitter_s)
                asked = wait if failed.after is None else failed.after
                refuses = failed.after is not None and asked > self.longest_s and not self.insists
                wait = min(asked, self.longest_s)
                if not failed.again or made >= self.attempts or refuses or wait > self.left_s:
                    raise
                self.left_s -= wait
                if retried:
                    retried(failed)
                self.sleep(wait)
