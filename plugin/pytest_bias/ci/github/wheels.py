"""Where the action installs pytest-bias, and what of the downloads can be kept.

Run as a file, before anything is installed and by whatever Python 3 there is: the standard library
only, in words that an old one can read, so that it can be told that it is too old.
"""

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

CPU_WHEELS = "https://download.pytorch.org/whl/cpu"
"""PyTorch without CUDA: on a runner without a GPU the wheels of PyPI are gigabytes for nothing."""
OLDEST = (3, 11)
ROOT = Path(__file__).resolve().parents[4]


def main() -> int:
    """Make an environment, and say to later steps where it is; returns the exit code."""
    version = ".".join(map(str, sys.version_info[:2]))
    if sys.version_info < OLDEST:
        return refuse(
            f"pytest-bias needs Python 3.11 or newer, and {sys.executable} is {version}. "
            "Give the input `python-version`, for instance 3.12."
        )
    extras = os.environ.get("INPUT_EXTRAS", "").strip()
    if not re.fullmatch("([a-z]+([ ,]+[a-z]+)*)?", extras):
        return refuse(
            f"the input `extras` is {extras[:100]!r}: it holds names such as models, signatures."
        )
    try:
        python = environment()
    except (OSError, subprocess.CalledProcessError):
        return refuse(
            f"{sys.executable} cannot make a virtual environment: on Debian and Ubuntu "
            "`apt install python3-venv`, or give the input `python-version`, for instance 3.12."
        )
    index = torch_index(python)
    values = {
        "python": python,
        "extras": f"[{','.join(re.findall('[a-z]+', extras))}]" if extras else "",
        "torch-index": index,
        "pip-cache": pip_cache(python),
        "key": key(version, extras, index),
    }
    if any("\n" in value for value in values.values()):
        return refuse("a path of this runner, or the input `torch-index`, has a line break.")
    with Path(os.environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as file:
        file.writelines(f"{name}={value}\n" for name, value in values.items())
    return 0


def refuse(message: str) -> int:
    """Say what is wrong, as the runner shows it."""
    text = message.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    sys.stdout.write(f"::error title=pytest-bias::{text}\n")
    return 2


def environment() -> str:
    """Return the Python to install into: the one given, if it is of a virtual environment.

    Else one of our own is made, which sees the packages of the one given, such as a torch for the
    runner's GPU, and changes none of them.
    """
    if sys.prefix != sys.base_prefix:
        return sys.executable
    folder = Path(os.environ["RUNNER_TEMP"]) / "pytest-bias-python"
    made = [sys.executable, "-m", "venv", "--system-site-packages", str(folder)]
    subprocess.run(made, check=True)
    return str(folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))


def torch_index(python: str) -> str:
    """Return the index that torch is installed from first; empty if pip's own is good."""
    asked = os.environ.get("INPUT_TORCH_INDEX", "auto").strip()
    if asked != "auto":
        return asked
    finds = "import importlib.util as u, sys; sys.exit(u.find_spec('torch') is None)"
    there = subprocess.run([python, "-c", finds], check=False).returncode == 0
    has_gpu = shutil.which("nvidia-smi") or Path("/dev/nvidia0").exists()
    comes_with_cuda = sys.platform == "linux" and platform.machine() == "x86_64"
    return CPU_WHEELS if comes_with_cuda and not there and not has_gpu else ""


def pip_cache(python: str) -> str:
    """Return pip's folder of downloads."""
    asked = [python, "-m", "pip", "cache", "dir"]
    ran = subprocess.run(asked, check=False, stdout=subprocess.PIPE)
    return ran.stdout.decode("utf-8", "replace").strip()


def key(version: str, extras: str, index: str) -> str:
    """Return the key of the cached downloads: system, Python, what is asked for, which torch."""
    asked = (ROOT / "pyproject.toml").read_bytes() + f"{extras} {index}".encode()
    wanted = hashlib.sha256(asked)
    return f"pytest-bias-pip-{sysconfig.get_platform()}-{version}-{wanted.hexdigest()[:16]}"


if __name__ == "__main__":
    sys.exit(main())
