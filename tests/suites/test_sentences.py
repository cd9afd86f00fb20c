"""Bundled texts: every file states what it must, every template fills, every id is unique."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest
import yaml

import ours
from bias_suites import SUITES
from bias_suites.social.template_association import text_of_group
from pytest_bias.data.sources import DataFolder
from pytest_bias.errors import DataError, DataMissing
from pytest_bias.models.interface import GAP
from pytest_bias.records.report import Item
from pytest_bias.suites import sentences
from pytest_bias.suites.sentences import (
    REQUIRED,
    TextFile,
    agreeing,
    article,
    at_gap,
    bundled_info,
    fill,
    pair,
)
from pytest_bias.suites.suite import Configuration, LoadedData, Suite

ROOT = Path(str(files("bias_templates")))
YAML_FILES = sorted(str(p.relative_to(ROOT)) for p in ROOT.rglob("*.yaml"))
CONFIGURATIONS = [
    pytest.param(s, c, id=f"{s.name}[{c.name}]")
    for s in SUITES
    for c in s.configurations
    if not c.own_texts
]
# The sample of BBQ has the sentences of its authors.
BUNDLED = [p for p in CONFIGURATIONS if not p.values[1].files and p.values[0].name != "bbq"]


def written(items: Sequence[Item]) -> list[Item]:
    """Return items as they were written: what a suite made of their texts is left out."""
    plain = [i for i in items if i.by.get("domain", "clean") == "clean"]
    return [replace(i, texts={k: v for k, v in i.texts.items() if k != "perturbed"}) for i in plain]


AN = [
    "accountant",
    "electrician",
    "educator",
    "actor",
    "engineer",
    "architect",
    "officer",
    "inspector",
    "American",
    "umpire",
    "hour",
    "honest",
    "heir",
    "heiress",
    "uncle",
    "usher",
    "unimportant",
    "undertaker",
    "administrator",
]
A = [
    "plumber",
    "nurse",
    "user",
    "university",
    "union",
    "unicorn",
    "uniform",
    "unit",
    "useful",
    "European",
    "eulogist",
    "one-off",
    "hairdresser",
    "hygienist",
    "historian",
    "Muslim",
    "year",
    "wise",
]


@pytest.mark.parametrize(
    ("word", "expected"), [*((w, "an") for w in AN), *((w, "a") for w in A)], ids=str
)
def test_the_article_fits_the_sound(word, expected):
    assert article(word) == expected


def test_every_bundled_occupation_has_the_right_article():
    occupations = sentences.text_file("words/en/occupations.yaml")["women_percent"]
    with_an = {o for o in occupations if article(o) == "an"}
    assert with_an == {
        *("electrician", "inspector", "engineer", "architect", "officer", "administrator"),
        *("accountant", "educator"),
    }


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("[MASK] is {a job}.", "[MASK] is an engineer."),
        ("[MASK] is {job}, {job}!", "[MASK] is engineer, engineer!"),
        ("{job} {other}", "engineer {job}"),
        ("nothing to fill", "nothing to fill"),
    ],
)
def test_filling_a_template(template, expected):
    assert fill(template, {"job": "engineer", "other": "{job}"}) == expected


def test_a_field_without_a_word_is_an_error():
    with pytest.raises(KeyError, match="job"):
        fill("{a job}", {"occupation": "nurse"})


@pytest.mark.parametrize(
    ("text", "word", "expected"),
    [
        (f"{GAP} is tall.", "he", "He"),
        (f"The {GAP} is tall.", "man", "man"),
        (f"{GAP} arbeitet.", "über", "Über"),
        (f"{GAP}. Smith", "Mr", "Mr"),
        (f"The {GAP} dish", "Chinese", "Chinese"),
    ],
)
def test_a_word_takes_a_capital_where_the_sentence_begins(text, word, expected):
    assert at_gap(text, word) == expected


def test_a_pair_is_male_first():
    assert pair("he/she") == ("he", "she")


@pytest.mark.parametrize("path", YAML_FILES)
def test_every_bundled_file_states_where_it_comes_from(path):
    file = sentences.text_file(path)
    assert set(REQUIRED) <= file.content.keys()
    assert file["made_by"]
    assert file["language"].partition("-")[0] == Path(path).parts[1]
    assert file.draft == (file["reviewed_by"] is None)


def test_the_packages_hold_the_files_that_are_needed():
    assert len(YAML_FILES) >= 8
    assert "sentences/en/gendered_pairs.yaml" in YAML_FILES


def test_a_file_is_digested_without_its_line_ends(tmp_path, monkeypatch):
    texts = ["language: en\nmade_by: me\nreviewed_by: me\nstatus: reviewed\n"]
    texts.append(texts[0].replace("\n", "\r\n"))
    monkeypatch.setattr(sentences, "files", lambda package: tmp_path)
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.yaml").write_bytes(text.encode())
    assert sentences.text_file("0.yaml").sha256 == sentences.text_file("1.yaml").sha256


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"language": ...}, "bad.yaml does not state language"),
        ({"made_by": ..., "reviewed_by": ...}, "does not state made_by, reviewed_by"),
        ({"status": "final"}, "status is 'final', not one of"),
        ({"status": "reviewed", "reviewed_by": None}, "is marked reviewed but names no reviewer"),
    ],
    ids=str,
)
def test_a_file_that_does_not_state_it_is_refused(tmp_path, monkeypatch, changes, message):
    content = {"language": "en", "made_by": "me", "reviewed_by": "you", "status": "reviewed"}
    content = {k: v for k, v in (content | changes).items() if v is not ...}
    (tmp_path / "bad.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    monkeypatch.setattr(sentences, "files", lambda package: tmp_path)
    sentences.text_file.cache_clear()
    with pytest.raises(DataError, match=re.escape(message)):
        sentences.text_file("bad.yaml")


def test_bundled_texts_are_described_by_the_files_used():
    one, two = TextFile("a", {}, "1" * 64), TextFile("b", {}, "2" * 64)
    info = bundled_info([one, two], 5)
    assert info == bundled_info([two, one], 5)
    assert info != bundled_info([one], 5)
    assert (info.n_items, info.local, info.licence) == (5, False, "Apache-2.0")


def items_of(suite: Suite, configuration: Configuration, folder: Path | None) -> Sequence[Item]:
    data = DataFolder(folder, offline=True, accepted=ours.LICENCES)
    try:
        loaded: LoadedData = configuration.load(data)
    except DataMissing as error:
        if all((folder / f.path).exists() for f in configuration.files if folder):
            raise
        pytest.skip(str(error))
    assert loaded.info.n_items == len(loaded.items) > 0
    assert loaded.info.sha256
    return loaded.items


@pytest.mark.nightly
@pytest.mark.parametrize(("suite", "configuration"), CONFIGURATIONS)
def test_every_item_has_an_id_of_its_own_and_the_same_in_every_run(data_dir, suite, configuration):
    if any(file.hub for file in configuration.files):
        pytest.skip("its data are on the Hub alone")
    items = items_of(suite, configuration, data_dir)
    assert [i for i, n in Counter(i.id for i in items).items() if n > 1] == []
    assert items_of(suite, configuration, data_dir) == items
    assert all(i.cluster for i in items)
    assert all((i.status is None) == (i.reason is None) for i in items)


@pytest.mark.parametrize(("suite", "configuration"), BUNDLED)
def test_bundled_sentences_are_whole(suite, configuration):
    for item in written(items_of(suite, configuration, None)):
        sentence = item.texts.get("sentence")
        if sentence is not None:
            assert sentence.count(GAP) == 1, item.id
        for text in item.texts.values():
            assert text == text.strip(), item.id
            assert not re.search(r"[{}]|\s\s", text), item.id
        assert item.status is None or (suite.name, item.status) == ("perturbation", "excluded")


# The structural checks share their sentences, on purpose.
@pytest.mark.parametrize(
    ("suite", "configuration"), [p for p in BUNDLED if p.values[0].kind != "structure"]
)
def test_no_bundled_sentence_comes_twice(suite, configuration):
    items = written(items_of(suite, configuration, None))
    if suite.name == "perturbation":
        # Each sentence is there once for every change of it.
        items = list({i.cluster: i for i in items}.values())
    seen = Counter((*i.texts.items(), i.by.get("test")) for i in items)
    assert [texts for texts, n in seen.items() if n > 1] == []


@pytest.mark.parametrize(("suite", "configuration"), BUNDLED)
def test_an_attribute_stands_once_in_the_sentence_of_every_group(suite, configuration):
    if suite.name != "template_association":
        pytest.skip("no attributes")
    for item in items_of(suite, configuration, None):
        for group in item.meta["groups"]:
            sentence, attribute = (
                text_of_group(item, what, group) for what in ("sentence", "attribute")
            )
            assert sentence.count(attribute) == sentence.count(GAP) == 1, item.id


@pytest.mark.parametrize(
    ("words", "gender", "expected"),
    [
        ("infirmier/infirmière", "masculine", "infirmier"),
        ("infirmier/infirmière", "feminine", "infirmière"),
        ("pilote", "feminine", "pilote"),
        # Where groups have no grammatical gender, a slash is a slash.
        ("and/or", None, "and/or"),
    ],
)
def test_a_word_agrees_with_the_gender_of_its_group(words, gender, expected):
    assert agreeing(words, gender) == expected


def test_a_gender_without_a_form_is_an_error():
    with pytest.raises(KeyError, match="neuter"):
        agreeing("infirmier/infirmière", "neuter")
