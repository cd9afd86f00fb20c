"""What the environment says, and names that files of a user's have by convention."""

import os
from typing import Final

OFF: Final = ("", "0", "false", "no", "off")


FILE_NAME: Final = "pytest-bias.yaml"


SUITE_FILE: Final = ".bias.yaml"
"""Ending of a file that defines a suite."""


def is_offline(asked: bool) -> bool:
    """Whether the network must not be used: asked for, or by ``HF_HUB_OFFLINE``."""
    return asked or os.environ.get("HF_HUB_OFFLINE", "").lower() not in OFF
