"""Parallel execution of tasks in daemon threads."""

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Task = TypeVar("Task")
Done = TypeVar("Done")


def in_parallel(
    tasks: Sequence[Task], work: Callable[[Task], Done], n_threads: int
) -> Iterator[tuple[int, Done]]:
    """Yield the number and result of every task, as they are completed.

    The first exception is raised here, and no further task is started. Threads are daemons: those
    of an executor would delay the end of the process for as long as a server does not answer.
    """
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[int, Done | None, BaseException | None]] = queue.SimpleQueue()
    stopped = threading.Event()
    for number in range(len(tasks)):
        waiting.put(number)

    def take() -> None:
        while not stopped.is_set():
            try:
                number = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                done.put((number, work(tasks[number]), None))
            except BaseException as error:
                done.put((number, None, error))
                return

    for _ in range(min(n_threads, len(tasks))):
        threading.Thread(target=take, daemon=True).start()
    try:
        for _ in tasks:
            number, found, error = done.get()
            if error is not None:
                raise error
            yield number, found  # type: ignore[misc]
    finally:
        stopped.set()
