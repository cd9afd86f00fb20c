"""What the actions of GitHub's own do, done on this machine: caches, artifacts, signatures.

Each does what its original does as far as our workflows use it, with a folder ($ACT_STORE) in the
place of GitHub's stores. Run by the action.yml files beside it, under act.
"""

import json
import os
import shutil
import sys
import urllib.request
from pathlib import Path

STORE = Path(os.environ.get("ACT_STORE", "store"))


def given(name: str) -> str:
    """Return an input."""
    return os.environ.get(name, "").strip()


def output(**values: str) -> None:
    """Set outputs."""
    with Path(os.environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as file:
        file.writelines(f"{name.replace('_', '-')}={value}\n" for name, value in values.items())


def copy(source: Path, target: Path) -> None:
    """Copy a file or a folder to a place."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True, symlinks=True)
    else:
        shutil.copy2(source, target)


def checkout() -> None:
    """The product at the commit of its workflow; act itself checks out the caller's repository."""
    copy(Path(os.environ["ACT_PRODUCT"]), Path(given("CHECKOUT_PATH")))


def setup_python() -> None:
    """Note which Python was asked for; that of the machine serves."""
    note("setup-python", given("VERSION"))


def note(name: str, text: str) -> None:
    """Add a line to a file of the store."""
    STORE.mkdir(parents=True, exist_ok=True)
    with (STORE / name).open("a", encoding="utf-8") as file:
        file.write(f"{text}\n")


def restore() -> None:
    """Bring back what was saved under the very key."""
    key = given("KEY")
    kept = STORE / "caches" / key
    note("cache-restore", f"{key} {'hit' if kept.is_dir() else 'miss'}")
    for i, path in enumerate(given("PATHS").splitlines()):
        if (kept / str(i)).exists():
            shutil.rmtree(path, ignore_errors=True)
            copy(kept / str(i), Path(path))
    output(cache_primary_key=key, cache_hit=str(kept.is_dir()).lower())


def save() -> None:
    """Save folders under a key."""
    key = given("KEY")
    note("cache-save", key)
    for i, path in enumerate(given("PATHS").splitlines()):
        (STORE / "caches" / key).mkdir(parents=True, exist_ok=True)
        if Path(path).exists():
            copy(Path(path), STORE / "caches" / key / str(i))


def upload() -> None:
    """Keep files as an artifact: a folder without the paths that begin with an exclamation mark."""
    name, lines = given("NAME"), given("PATHS").splitlines()
    target = STORE / "artifacts" / name
    assert not target.exists(), f"an artifact named {name} is there already"
    left_out = {Path(line[1:]) for line in lines if line.startswith("!")}
    for folder in (Path(line) for line in lines if not line.startswith("!")):
        files = [p for p in folder.rglob("*") if p.is_file()]
        for file in files:
            if not left_out & {file, *file.parents}:
                copy(file, target / file.relative_to(folder))
    assert target.is_dir(), f"no files found: {lines}"
    output(artifact_url=f"https://github.invalid/artifacts/{name}", artifact_id="1")


def download() -> None:
    """Fetch one artifact by its name, or each that fits a pattern into a folder of its name.

    Where one alone fits, the original makes no folder for it.
    """
    path, name = Path(given("DOWNLOAD_PATH")), given("NAME")
    there = STORE / "artifacts"
    if name:
        copy(there / name, path)
        return
    found = sorted(there.glob(given("PATTERN")))
    for folder in found:
        copy(folder, path / folder.name if len(found) > 1 else path)


def attest() -> None:
    """Have a file signed as the workflow that runs, by the Sigstore of the test ($ACT_SIGSTORE).

    Or a statement on the files of a list of checksums, with the predicate that is given.
    """
    if predicate := os.environ.get("PREDICATE"):
        name = os.environ["PREDICATE_TYPE"].split("/")[-2]
        lines = [line.partition("  ") for line in given("CHECKSUMS").splitlines()]
        statement = {
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{"name": n, "digest": {"sha256": digest}} for digest, _, n in lines],
            "predicateType": os.environ["PREDICATE_TYPE"],
            "predicate": json.loads(predicate),
        }
        content = json.dumps(statement).encode()
    else:
        subject = Path(given("SUBJECT"))
        name, content = subject.name, subject.read_bytes()
    address = os.environ["ACT_SIGSTORE"] + ("?statement" if predicate else "")
    with urllib.request.urlopen(address, data=content) as answer:
        bundle = STORE / f"bundle-{name}"
        bundle.write_bytes(answer.read())
    note("attest", name)
    output(bundle_path=str(bundle))


if __name__ == "__main__":
    {
        "checkout": checkout,
        "setup-python": setup_python,
        "restore": restore,
        "save": save,
        "upload": upload,
        "download": download,
        "attest": attest,
    }[sys.argv[1]]()
