"""Null where a list or a table is expected, in every YAML that others write: read or refused."""

import copy
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from made import report, result, score
from pytest_bias.ci.init.found import languages
from pytest_bias.emit.card import model_index
from pytest_bias.emit.card import section as card
from pytest_bias.emit.card.readme import merged, results_of
from pytest_bias.errors import BiasError
from pytest_bias.evidence.lock_file import read_lock
from pytest_bias.evidence.rendered import card_check
from pytest_bias.models import describe
from pytest_bias.reports.limits import read_limits
from pytest_bias.reports.publication_layout import Place, PublicationStatus
from pytest_bias.settings.settings import read_settings
from pytest_bias.suites.files.reading import read_suite

REPORT = report(result(scores=[score()]))
PLACE = Place.beside(REPORT)
INDEX = model_index.entries(REPORT, PLACE)
SUITES = Path(__file__).parents[2] / "examples" / "suites"

CARD = {
    "language": ["en"],
    "base_model": ["org/base"],
    "tags": ["a"],
    "model-index": [
        {
            "name": "theirs",
            "results": [
                {
                    "task": {"type": "fill-mask"},
                    "dataset": {"type": "nyu-mll/crows_pairs", "config": "crows_pairs-en"},
                    "metrics": [{"type": "stereotype_preference", "value": 1.0}],
                    "source": {"url": "https://x.org", "name": "pytest-bias report"},
                }
            ],
        }
    ],
}
SETTINGS = {
    "model": "demo",
    "suites": ["crows_pairs"],
    "languages": ["en"],
    "limits": {"crows_pairs.stereotype_preference": {"max_regression": {"points": 2}}},
    "accept_licences": {"honest": "x"},
    "labels": {"toxicity": {"toxic": "LABEL_1"}},
    "scorers": {"toxicity": "org/name"},
    "texts": {"perturbation": {"file": "a.csv"}},
    "served": {"concurrency": 2},
    "energy": {"pue": 1.2},
    "fleet": {"part": "10m"},
    "context": {"languages": ["en"], "region": "US", "groups": ["gender"]},
}
LOCK = {
    "schema": "pytest-bias/lock/1",
    "models": {"org/name": {"locked": "2026-01-01", "report": {"scores": {}, "suites": []}}},
}


def places(plain: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every value."""
    if isinstance(plain, dict | list):
        for key in plain if isinstance(plain, dict) else range(len(plain)):
            yield (*path, key)
            yield from places(plain[key], (*path, key))


def emptied(plain: Any) -> Iterator[str]:
    """Yield YAML in which each value in turn is nothing, a list of nothing, and another type."""
    for path in places(plain):
        for value in (None, [None], {}, {None: None}, 3):
            changed = copy.deepcopy(plain)
            at = changed
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = value
            yield yaml.safe_dump(changed, sort_keys=False).replace(": null", ":")


def read_or_refused(read: Any, *given: Any) -> Any:
    try:
        return read(*given)
    except BiasError:
        return None


def test_cards_of_models(tmp_path):
    path, section = tmp_path / "README.md", card.section(REPORT, PLACE)
    for text in dict.fromkeys(emptied(CARD)):
        path.write_text(f"---\n{text}---\n# A model\n", encoding="utf-8")
        readme = path.read_bytes()
        if (found := read_or_refused(merged, readme, section, INDEX)) is not None:
            ours = [r for r in results_of(found) if r in INDEX[0]["results"]]
            assert ours == INDEX[0]["results"], text
            assert merged(found, section, INDEX) == found, text
        results_of(readme)
        card_check(tmp_path, REPORT, [PLACE], PublicationStatus())
        assert "None" not in languages(tmp_path.parent, tmp_path.name), text


def test_a_card_whose_results_are_empty_gets_ours():
    readme = b"---\nmodel-index:\n- name: theirs\n  results:\n---\n"
    assert results_of(merged(readme, card.section(REPORT, PLACE), INDEX)) == INDEX[0]["results"]


@pytest.mark.parametrize(
    "head", ["language:\n-\n- fr\nbase_model:\n-\n- org/base\n", "language:\n"]
)
def test_a_model_with_such_a_card_is_described(head, tiny, tmp_path):
    folder = Path(shutil.copytree(tiny("bert"), tmp_path / "model"))
    (folder / "README.md").write_text(f"---\n{head}---\n", encoding="utf-8")
    about = describe(str(folder))
    assert about.languages == (("fr",) if "fr" in head else ())
    assert about.identity.base_model == ("org/base" if "org" in head else None)


def test_settings(tmp_path):
    path = tmp_path / "pytest-bias.yaml"
    for text in dict.fromkeys(emptied(SETTINGS)):
        path.write_text(text, encoding="utf-8")
        if settings := read_or_refused(read_settings, {"config": path}):
            read_or_refused(read_limits, settings.limits)


@pytest.mark.parametrize("text", ["tool = 3", "tool = [1]", "[tool]\npytest-bias = 3", ""])
def test_a_pyproject_whose_tables_are_none(text, tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    read_or_refused(read_settings, {})


def test_locks(tmp_path):
    path = tmp_path / "pytest-bias.lock"
    for text in dict.fromkeys(emptied(LOCK)):
        path.write_text(text, encoding="utf-8")
        read_or_refused(read_lock, path)


@pytest.mark.by_day("honest_words.bias.yaml", "crows_dutch.bias.yaml")
@pytest.mark.parametrize("name", sorted(p.name for p in SUITES.glob("*.bias.yaml")))
def test_suites_of_ones_own(name, tmp_path):
    plain = yaml.load((SUITES / name).read_text(encoding="utf-8"), yaml.BaseLoader)
    for number, text in enumerate(dict.fromkeys(emptied(plain))):
        path = tmp_path / f"own{number}.bias.yaml"
        path.write_text(text, encoding="utf-8")
        read_or_refused(read_suite, path)
