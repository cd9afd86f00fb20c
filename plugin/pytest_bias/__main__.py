"""``python -m pytest_bias``: the command ``pytest-bias``."""

from pytest_bias.cli.app import main

if __name__ == "__main__":
    main()
