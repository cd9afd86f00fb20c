"""Where the action installs pytest-bias, and which downloads can be cached.

It runs as a script, before anything is installed and with any Python 3: it uses the standard
library only and syntax that old versions can parse, so that it can report one that is too old.
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
"""PyTorch without CUDA: without a GPU the gigabytes of PyPI's wheels are of no use."""
OLDEST = (3, 11)
ROOT = Path(__file__).resolve().parents[4]


def main() -> int:
    """Create an environment and pass its path to later steps; returns the exit code."""
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
    """Print an error as an annotation."""
    text = message.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    sys.stdout.write(f"::error title=pytest-bias::{text}\n")
    return 2


def environment() -> str:
    """Return the Python to install into: the one given, if it is in a virtual environment.

    Otherwise a new environment is created, which sees the packages of the one given, such as a
    torch for the runner's GPU, and changes none of them.
    """
    if sys.prefix != sys.base_prefix:
        return sys.executable
    folder = Path(os.environ["RUNNER_TEMP"]) / "pytest-bias-python"
    made = [sys.executable, "-m", "venv", "--system-site-packages", str(folder)]
    subprocess.run(made, check=True)
    return str(folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))


def torch_index(python: str) -> str:
    """Return the index that torch is installed from first; empty for pip's own."""
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
    """Return the cache key of the downloads: system, Python, requirements, torch index."""
    asked = (ROOT / "pyproject.toml").read_bytes() + f"{extras} {index}".encode()
    wanted = hashlib.sha256(asked)
    return f"pytest-bias-pip-{sysconfig.get_platform()}-{version}-{wanted.hexdigest()[:16]}"


if __name__ == "__main__":
    sys.exit(main())
