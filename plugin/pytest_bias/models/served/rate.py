"""A limit of the number of requests per minute."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Rate:
    """Spaces requests of several threads evenly.

    Parameters
    ----------
    per_minute : float or None
        Maximum number of requests; None for no limit.
    wait : callable
        Waits for so many seconds, or raises if there is nothing to wait for any more.
    """

    per_minute: float | None
    wait: Callable[[float], object] = time.sleep

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._next = 0.0

    def keep(self) -> None:
        """Wait until a request is allowed."""
        if self.per_minute is None:
            return
        with self._lock:
            now = time.monotonic()
            begin = max(now, self._next)
            self._next = begin + 60 / self.per_minute
        self.wait(begin - now)
