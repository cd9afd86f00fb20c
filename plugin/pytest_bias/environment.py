"""Environment variables, and conventional names of the user's files."""

import os
from typing import Final

OFF: Final = ("", "0", "false", "no", "off")


FILE_NAME: Final = "pytest-bias.yaml"


SUITE_FILE: Final = ".bias.yaml"
"""Suffix of files that define a suite."""


def is_offline(asked: bool) -> bool:
    """Whether the network must not be used, by request or by ``HF_HUB_OFFLINE``."""
    return asked or os.environ.get("HF_HUB_OFFLINE", "").lower() not in OFF
