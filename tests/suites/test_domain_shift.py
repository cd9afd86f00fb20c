"""Domain shift: ratios by hand, and what the settings have to name."""

import json
import math
from pathlib import Path

import pytest

from bias_suites.robustness.domain_shift import SUITE
from pytest_bias.data.sources import DataFolder
from pytest_bias.errors import UsageError
from pytest_bias.models import load
from stand_ins import Pseudo, Texts, result_of, values
from tiny_architectures import SEQ2SEQ, head

HOME = ["a b", "c d e", "f"]
FORUM = ["g h i j", "k l"]
MAIL = ["m n o", "p q r"]


def write(folder: Path, name: str, lines: list[str]) -> str:
    path = folder / name
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def data(**sources: object) -> DataFolder:
    return DataFolder(offline=True, texts={"domain_shift": sources}).of("domain_shift")


def loaded(folder: Path):
    found = data(
        home={"path": write(folder, "home.txt", HOME), "in_domain": True},
        forum={"path": write(folder, "forum.txt", FORUM)},
        mail={"path": write(folder, "mail.txt", MAIL)},
    )
    return SUITE.configuration("own").load(found)


# Nats: in domain 2 a word, forum 3, mail 4.
A_WORD = {**dict.fromkeys(HOME, 2), **dict.fromkeys(FORUM, 3), **dict.fromkeys(MAIL, 4)}


def nats(text: str) -> float:
    return -A_WORD[text] * len(text.split()) - (0.5 if text == "f" else 0)


@pytest.mark.parametrize("kind", [Texts, Pseudo])
def test_ratios_and_perplexities_by_hand(tmp_path, kind):
    found = result_of(SUITE, kind(nats), loaded(tmp_path).items, config="own")
    home = 12.5 / 6
    away = (6 * 3 + 6 * 4) / 12
    assert found.headline.metric == "perplexity_ratio"
    assert found.headline.value == pytest.approx(math.exp(away - home))
    assert (found.headline.ideal, found.headline.n, found.headline.n_clusters) == (1, 7, 7)
    assert values(found, "perplexity_ratio") == {
        (): pytest.approx(math.exp(away - home)),
        ("forum",): pytest.approx(math.exp(3 - home)),
        ("mail",): pytest.approx(math.exp(4 - home)),
    }
    assert values(found, "perplexity") == {
        ("home",): pytest.approx(math.exp(home)),
        ("forum",): pytest.approx(math.exp(3)),
        ("mail",): pytest.approx(math.exp(4)),
    }
    # Characters: 3 + 5 + 1 in domain, 7 + 3 and 5 + 5 out of it.
    assert found.score("gap").value == pytest.approx(42 / 20 - 12.5 / 9)
    assert values(found, "nats_per_character")["mail",] == pytest.approx(24 / 10)
    # Seven texts, three of them in domain: no other choice of three is as far.
    assert found.headline.p_value == pytest.approx(1 / 35)
    assert found.headline.test == "exact permutation of groups"


def test_a_text_is_a_cluster_and_empty_ones_are_unscored(tmp_path):
    rows = [{"t": "a b"}, {"t": ""}, {"t": None}]
    path = write(tmp_path, "home.jsonl", [json.dumps(row) for row in rows])
    away = write(tmp_path, "away.txt", FORUM)
    found = data(home={"path": path, "text": "t", "in_domain": True}, away={"path": away})
    items = SUITE.configuration("own").load(found).items
    assert [(i.id, i.status, i.reason) for i in items] == [
        ("domain/home/000000", None, None),
        ("domain/home/000001", "unscored", "empty text"),
        ("domain/home/000002", "unscored", "empty text"),
        ("domain/away/000000", None, None),
        ("domain/away/000001", None, None),
    ]
    assert len({i.cluster for i in items}) == 5


def test_the_report_names_sources_and_no_path(tmp_path):
    info = loaded(tmp_path).info
    assert info.source == "texts of the user's own: home, forum, mail"
    assert (info.n_items, info.local) == (7, True)


@pytest.mark.parametrize(("in_domain", "lacks"), [(True, "out of"), (False, "in")])
def test_one_side_alone_is_refused_with_the_lines_to_write(tmp_path, in_domain, lacks):
    path = write(tmp_path, "a.txt", HOME)
    found = data(a={"path": path, "in_domain": in_domain})
    with pytest.raises(UsageError, match=f"none is {lacks} domain") as caught:
        SUITE.configuration("own").load(found)
    assert "in_domain: true}" in (caught.value.hint or "")


def test_no_source_at_all_is_refused_with_the_lines_to_write():
    with pytest.raises(UsageError, match="texts of your own") as caught:
        SUITE.configuration("own").load(data())
    assert "domain_shift" in (caught.value.hint or "")


def test_texts_without_spaces_have_a_gap_and_no_word_perplexity(tmp_path):
    far = {"home": "h" * 900, "away": "a" * 900}
    found = data(
        home={"path": write(tmp_path, "h.txt", [far["home"]] * 2), "in_domain": True},
        away={"path": write(tmp_path, "a.txt", [far["away"]] * 2)},
    )
    items = SUITE.configuration("own").load(found).items
    result = result_of(
        SUITE, Texts(lambda t: -3.0 * len(t) if "a" in t else -2.0 * len(t)), items, config="own"
    )
    assert result.headline.value is None
    assert "few spaces" in (result.headline.note or "")
    assert result.score("gap").value == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["gpt2", "bert"])
def test_long_texts_are_read_in_windows(tmp_path, tiny, name):
    found = data(
        home={"path": write(tmp_path, "h.txt", ["he works as a nurse " * 60]), "in_domain": True},
        away={"path": write(tmp_path, "a.txt", ["the judge is late " * 60])},
    )
    items = SUITE.configuration("own").load(found).items
    result = result_of(SUITE, load(str(tiny(name)), device="cpu"), items, config="own")
    assert [r.status for r in result.records] == ["scored", "scored"]
    assert all(int(r.detail["tokens"]) > 128 for r in result.records)


def test_a_seq2seq_model_says_that_a_text_is_too_long(tmp_path):
    model = load(str(head(SEQ2SEQ, "t5", tmp_path / "t5")), device="cpu")
    model.body.tokens.max_length = 64
    long = "he works as a nurse " * 600
    found = data(
        home={"path": write(tmp_path, "h.txt", ["he works", long]), "in_domain": True},
        away={"path": write(tmp_path, "a.txt", ["the judge"])},
    )
    items = SUITE.configuration("own").load(found).items
    result = result_of(SUITE, model, items, config="own")
    reasons = {r.item: r.reason for r in result.records}
    assert reasons["domain/home/000000"] is None
    assert "the model takes" in (reasons["domain/home/000001"] or "")
