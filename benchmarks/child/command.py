"""The command pytest-bias, and behind its output what it allocated on the GPU at most."""

import sys

from pytest_bias.cli.app import main

if __name__ == "__main__":
    try:
        main()
    finally:
        torch = sys.modules.get("torch")
        peak = torch.cuda.max_memory_allocated() if torch and torch.cuda.is_available() else 0
        print(f"GPU bytes: {peak}")
