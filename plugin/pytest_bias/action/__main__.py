"""``python -m pytest_bias.action STEP``: run one step, which reads its inputs from variables."""

import sys

from pytest_bias.ci.github.steps import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
