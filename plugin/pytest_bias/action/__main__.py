"""``python -m pytest_bias.action STEP``: one step, all it needs from the environment."""

import sys

from pytest_bias.ci.github.steps import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
