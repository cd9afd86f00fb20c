"""``python -m pytest_bias`` is the command ``pytest-bias``."""

from pytest_bias.cli import main

if __name__ == "__main__":
    main()
