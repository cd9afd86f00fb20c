"""Devices by name and in words. torch is not needed for that."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

ALL: Final = "all"


def listed(devices: str) -> tuple[str, ...]:
    """Return the devices that a text such as ``cuda:0,cuda:1`` names, in its order."""
    return tuple(devices.replace(",", " ").split())


def in_words(devices: Mapping[str, str]) -> str:
    """Name devices for people: ``2 x NVIDIA H100`` of ``{"cuda:0": "NVIDIA H100", …}``."""
    counted = Counter(devices.values())
    return ", ".join(f"{n} x {name}" if n > 1 else name for name, n in counted.items())
