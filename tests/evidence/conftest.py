"""A model to tamper with: a real run, published and signed."""

import shutil
from pathlib import Path

import pytest

from own_sigstore import Sigstore
from publications import DEMOS, Repository, measured, source_of
from pytest_bias.records.report import Report
from pytest_bias.reports.folder import REPORT


@pytest.fixture(scope="session")
def sigstore(tmp_path_factory: pytest.TempPathFactory) -> Sigstore:
    return Sigstore(tmp_path_factory.mktemp("sigstore"))


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Return the report of a real run."""
    model = tmp_path_factory.mktemp("models") / "model"
    shutil.copytree(DEMOS / "planted", model)
    return measured(model)


@pytest.fixture(scope="session")
def original(made: Report, sigstore: Sigstore, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository whose owner published and signed the report."""
    root = tmp_path_factory.mktemp("hub") / "model"
    shutil.copytree(DEMOS / "planted", root)
    (root / "README.md").write_text("# A model\n", encoding="utf-8")
    source = source_of(made, tmp_path_factory.mktemp("source"))
    repository = Repository(root, sigstore)
    repository.sign(source / REPORT, "org-a", workflow="org-a/model/.github/workflows/x.yml")
    repository.publish(source)
    return root


@pytest.fixture
def repository(original: Path, sigstore: Sigstore, tmp_path: Path) -> Repository:
    """Return a copy of it to tamper with."""
    return Repository(Path(shutil.copytree(original, tmp_path / "model")), sigstore)
