"""llama-cpp-python's own server against llama.cpp, where a Python with both is named."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
VARIABLE = "PYTEST_BIAS_LLAMA_PYTHON"
PYTHON = os.environ.get(VARIABLE)


@pytest.mark.slow
@pytest.mark.skipif(not PYTHON, reason=f"no interpreter with llama_cpp is named by {VARIABLE}")
def test_the_server_gives_what_the_logits_give(smollm2: Path, data_dir: Path) -> None:
    command = [sys.executable, ROOT / "benchmarks" / "llama_server.py", "--python", str(PYTHON)]
    command += ["--model", smollm2, "--pairs", "4"]
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, timeout=900
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 scored of 4" in done.stdout
    assert "0 pairs differ" in done.stdout
    (line,) = [one for one in done.stdout.splitlines() if one.startswith("largest")]
    assert float(line.split()[1]) < 1e-3
