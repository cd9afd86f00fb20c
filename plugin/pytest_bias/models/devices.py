"""Names of devices. Does not need torch."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

ALL: Final = "all"


def listed(devices: str) -> tuple[str, ...]:
    """Return the devices in a text such as ``cuda:0,cuda:1``, in order."""
    return tuple(devices.replace(",", " ").split())


def in_words(devices: Mapping[str, str]) -> str:
    """Return a readable list: ``2 x NVIDIA H100`` for ``{"cuda:0": "NVIDIA H100", …}``."""
    counted = Counter(devices.values())
    return ", ".join(f"{n} x {name}" if n > 1 else name for name, n in counted.items())
