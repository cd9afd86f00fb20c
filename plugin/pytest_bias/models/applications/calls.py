"""Applications that are functions: calls in threads of their own, each with a limit of time.

A thread cannot be ended from outside. One whose call takes too long is left to itself: threads are
daemons, so it does not delay the end of the process. A coroutine is cancelled.
"""

import asyncio
import contextlib
import inspect
import queue
import sys
import threading
import time
import weakref
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import CancelledError
from functools import partial
from typing import Any, Final, TypeAlias

from pytest_bias.models.applications.function import SIGNATURE, Function, words_of
from pytest_bias.models.applications.transport import NOT_AWAITED, NoAnswer, Prompt, Transport
from pytest_bias.models.served.questions import Answer
from pytest_bias.models.served.rate import Rate
from pytest_bias.models.served.settings import RequestSettings

Outcome: TypeAlias = tuple[Any, BaseException | None]
"""What a call returned, and what it raised."""

_Task: TypeAlias = tuple[Callable[[], Any], "queue.SimpleQueue[Outcome]"]

STUCK_S: Final = 1.0
"""Seconds without a sign of life after which a loop of events is taken for blocked."""

_HERE = threading.local()
"""Whether the present thread runs code of an application."""


class LateAnswer(Exception):
    """A call takes longer than is allowed."""


class Caller:
    """Calls functions in threads that are used again, since code may keep things by thread.

    Coroutines of all calls run in one loop of events, as clients that they share require.

    Parameters
    ----------
    timeout : float
        Seconds that a call may take.
    """

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self._idle: queue.SimpleQueue[queue.SimpleQueue[_Task | None]] = queue.SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()

    def call(self, work: Callable[[], Any]) -> Any:
        """Return what a function returns, and raise what it raises.

        Raises
        ------
        LateAnswer
            If it takes too long.
        """
        end = time.monotonic() + self.timeout
        tasks, done = self._worker(), queue.SimpleQueue[Outcome]()
        tasks.put((work, done))
        try:
            found, error = done.get(timeout=self.timeout)
        except queue.Empty:
            # Its thread is never used again.
            tasks.put(None)
            raise LateAnswer from None
        self._idle.put(tasks)
        if error is None and inspect.isawaitable(found):
            found, error = self._awaited(found, end - time.monotonic())
        if error is not None:
            raise error
        return found

    def _worker(self) -> "queue.SimpleQueue[_Task | None]":
        with contextlib.suppress(queue.Empty):
            return self._idle.get_nowait()
        tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        threading.Thread(target=_work, args=(tasks,), daemon=True).start()
        weakref.finalize(self, tasks.put, None)
        return tasks

    def _awaited(self, found: Awaitable[Any], seconds: float) -> Outcome:
        """Wait for an awaitable in the loop."""
        with self._lock:
            loop = self._loop = self._loop or _new_loop(self)
        waiting = asyncio.run_coroutine_threadsafe(_outcome(found), loop)
        try:
            return waiting.result(max(0.0, seconds))
        except TimeoutError:
            waiting.cancel()
            with self._lock:
                if self._loop is loop and not _lives(loop):
                    self._loop = None
            raise LateAnswer from None
        except CancelledError as error:
            return None, error


class Calls(Transport):
    """An application that is asked by calls of a function.

    Parameters
    ----------
    function : Function
        The function, as found.
    asking : RequestSettings
        Limit of time of a call, and number of calls per minute.
    """

    advice = f"Give it a parameter of this name: {SIGNATURE}"

    def __init__(self, function: Function, asking: RequestSettings) -> None:
        self.function, self.accepts = function, function.accepts
        self._caller = Caller(asking.timeout)
        self._ended = threading.Event()
        self._rate = Rate(asking.requests_per_minute, self._ended.wait)

    def stop(self) -> None:
        """Begin no further call."""
        self._ended.set()

    def ask(self, prompt: Prompt) -> Answer:
        """Call the function once; see `Transport.ask`.

        A call that raises is not made again: the function may be paid for each, and knows better
        what is worth another attempt.
        """
        self._rate.keep()
        if self._ended.is_set():
            return {"reason": NOT_AWAITED}
        given = {"system": prompt.system, "seed": prompt.seed}
        keywords = {k: v for k, v in given.items() if k in self.accepts}
        try:
            found = self._caller.call(partial(self.function.call, prompt.text, **keywords))
        except LateAnswer:
            why = f"no answer within {self._caller.timeout:g} s"
            raise NoAnswer(why, is_late=True) from None
        except BaseException as error:
            raise NoAnswer(f"the application raises {words_of(error)}") from None
        if found is None:
            raise NoAnswer("the application returns None, not a text")
        if not isinstance(found, str):
            kind = _article(type(found).__name__)
            raise NoAnswer(f"the application returns {kind}, not a text (str)")
        return {"text": str(found), "n_tokens": None}


def _article(noun: str) -> str:
    return f"{'an' if noun[0].lower() in 'aeiou' else 'a'} {noun}"


def _work(tasks: "queue.SimpleQueue[_Task | None]") -> None:
    _HERE.calls = True
    while task := tasks.get():
        work, done = task
        # Neither what was asked nor the answer may live until the next call.
        del task
        done.put(_tried(work))
        del work, done


def _tried(work: Callable[[], Any]) -> Outcome:
    try:
        return work(), None
    except BaseException as error:
        return None, error


async def _outcome(found: Awaitable[Any]) -> Outcome:
    try:
        return await found, None
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        return None, error


def _new_loop(owner: Caller) -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()

    def run() -> None:
        _HERE.calls = True
        try:
            loop.run_forever()
        finally:
            loop.close()

    threading.Thread(target=run, daemon=True).start()
    weakref.finalize(owner, _end, loop)
    return loop


def _end(loop: asyncio.AbstractEventLoop) -> None:
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(loop.stop)


def _lives(loop: asyncio.AbstractEventLoop) -> bool:
    sign = threading.Event()
    loop.call_soon_threadsafe(sign.set)
    return sign.wait(STUCK_S)


class _Stdout:
    """Standard output, but standard error for threads that run code of an application."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        is_theirs = getattr(_HERE, "calls", False)
        return getattr(sys.stderr if is_theirs else self._stream, name)


@contextlib.contextmanager
def prints_apart() -> Iterator[None]:
    """Let what an application prints go to standard error, as long as the block lasts."""
    before = sys.stdout
    sys.stdout = own = _Stdout(before)
    try:
        yield
    finally:
        # A display of progress may have put its own in the place meanwhile.
        if sys.stdout is own:
            sys.stdout = before
