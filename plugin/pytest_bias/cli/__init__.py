"""The command ``pytest-bias``."""

from pytest_bias.cli.app import main

__all__ = ["main"]
