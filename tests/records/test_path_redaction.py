"""What a report says of a run without saying whose machine it was."""

from pathlib import Path

import pytest

import pytest_bias
from pytest_bias.engine import session
from pytest_bias.engine.planning import describe_for, plan
from pytest_bias.records.path_redaction import without_own_paths
from pytest_bias.settings.settings import Settings


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a.csv is not in /srv/alice/data/a.csv or ~/x", "a.csv is not in --data-dir/a.csv or ~/x"),
        ("give --data-dir DIR with https://host/a/b.csv at DIR/b", None),
        ("in /home/alice/.cache/pytest-bias.", "in ~/.cache/pytest-bias."),
        ("in '/home/alice' and /home/alicent/x", "in '~' and …/x"),
        ("OSError: /opt/acme secret/x/model.bin", "OSError: …/acme secret/x/model.bin"),
        ("No such file: '/opt/acme/m/config.json'", "No such file: '…/config.json'"),
        ("C:\\Users\\alice\\m\\config.json", "…/config.json"),
        ("a word of the pair he/she is s_m / (s_f + s_m)", None),
    ],
)
def test_folders_of_ones_own(monkeypatch, text, told):
    monkeypatch.setattr(Path, "home", lambda: Path("/home/alice"))
    assert without_own_paths(text, Path("/srv/alice/data")) == (told or text)


def test_a_relative_folder_is_named_where_a_path_goes_on():
    found = without_own_paths("data of data/a.csv, my/data/b", Path("data"))
    assert found == "data of --data-dir/a.csv, my/data/b"


def test_a_report_names_no_folder_of_the_machine(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTEST_BIAS_CACHE", str(tmp_path / "cache"))
    settings = Settings(
        suites=("structure", "crows_pairs"),
        languages=("en",),
        offline=True,
        data_dir=tmp_path / "data",
    )
    demo = Path(pytest_bias.__file__).parent / "models" / "demo" / "planted"
    config = (demo / "config.json").read_text("utf-8").replace('"closed_vocabulary": true,', "")
    model = tmp_path / "model"
    model.mkdir()
    for path in demo.iterdir():
        (model / path.name).write_bytes(path.read_bytes())
    (model / "config.json").write_text(config, encoding="utf-8")
    report = session.run(session.Session(plan(describe_for(settings, str(model)), settings)))
    missing = report.suite("crows_pairs", "en")
    assert "is not in --data-dir/" in (missing.reason or "")
    assert str(tmp_path) not in report.to_json()
