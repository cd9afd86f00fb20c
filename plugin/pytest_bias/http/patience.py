"""Retries of requests: the number of attempts and the waits between them."""

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
    """Retry policy for requests to a server.

    Parameters
    ----------
    attempts : int
        Number of attempts, including the first.
    backoff_s, jitter_s : float
        Wait after the first attempt, doubled after each further one; and maximum random addition,
        so that requests that failed together are not retried together.
    longest_s, left_s : float
        Longest wait between two attempts, and total wait that is left.
    insists : bool
        Whether to retry after the longest wait if the server asks for a longer one.
    sleep : callable
        Waits for a number of seconds.
    """

    attempts: int = 4
    backoff_s: float = 1.0
    jitter_s: float = 0.0
    longest_s: float = 60.0
    left_s: float = math.inf
    insists: bool = False
    sleep: Callable[[float], object] = time.sleep

    def ask(self, attempt: Callable[[], T], retried: Callable[[Failed], object] | None = None) -> T:
        """Return the result of an attempt, repeated while it raises failures that may pass.

        `retried` is called with each failure that is followed by another attempt.
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
