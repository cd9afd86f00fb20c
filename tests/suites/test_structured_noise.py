"""Structured noise: pages that hold the words of their text, and ratios by hand."""

import math
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bias_suites.robustness.html_pages import STYLES, page, style_of, words_of
from bias_suites.robustness.structured_noise import SUITE, TEXTS, versions
from bias_suites.wikitext import WIKITEXT
from pytest_bias.data.sources import DataFolder
from pytest_bias.errors import DataMissing
from pytest_bias.models import load
from pytest_bias.models.interface import Passage, SequenceScore
from pytest_bias.suites.sentences import text_file
from stand_ins import Pseudo, Texts, result_of, values

ITEMS = SUITE.configuration("en").load(DataFolder(offline=True)).items
BY_STYLE = pytest.mark.parametrize("style", STYLES)
TEXT = "Fish & chips cost < 5 dollars. They were good! Was it late? Nobody knew the time of it."


class Reader(HTMLParser):
    """Reads what a browser shows, and which tags are open."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.shown: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "link"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert tag == "br"

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        # The numbers of notes are not of the text.
        if "sup" not in self.open:
            self.shown.append(data)


# Pages


@BY_STYLE
def test_a_page_shows_the_words_of_its_text_and_every_tag_is_closed(style):
    for text in (TEXT, *(i.texts["text"] for i in ITEMS if i.by["domain"] == "clean")):
        reader = Reader()
        reader.feed(page(text, style).html)
        reader.close()
        assert "".join(reader.shown).split() == text.split()
        assert reader.open == []


@given(st.text(), st.sampled_from(list(STYLES)))
def test_the_words_of_any_text_stand_where_a_page_says(text, style):
    found = page(text, style)
    there = [found.html[a:b] for a, b in found.words]
    unescaped = [w.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") for w in there]
    assert unescaped == text.split()
    assert [text[a:b] for a, b in words_of(text)] == text.split()


@BY_STYLE
def test_markup_names_no_word_of_its_text(style):
    for item in ITEMS[::2]:
        found = page(item.meta["plain"], style)
        markup = list(found.html)
        for start, end in reversed(found.words):
            markup[start:end] = " "
        long = set(re.findall(r"[a-z]{6,}", item.meta["plain"].lower()))
        assert not long & set(re.findall(r"[a-z]{6,}", "".join(markup).lower())), item.id


def test_styles_take_turns():
    assert [style_of(n) for n in range(5)] == [*STYLES, "article"]


# Items


def test_every_register_has_one_text_of_each_style():
    registers = text_file(TEXTS)["registers"]
    assert len(ITEMS) == 2 * 24
    assert len({i.id for i in ITEMS}) == 48
    assert len({i.cluster for i in ITEMS}) == 24
    for register, passages in registers.items():
        mine = [i for i in ITEMS if i.id.startswith(f"noise/{register}/")]
        assert sorted(i.by["style"] for i in mine) == sorted([*STYLES, *STYLES])
        assert all(60 <= len(text.split()) <= 120 for text in passages), register


def test_bundled_texts_hold_nothing_that_html_writes_otherwise():
    for item in ITEMS:
        assert re.fullmatch(r"[ -~\n]+", item.texts["text"]), item.id
        assert not re.search(r"[&<>]", item.meta["plain"]), item.id


def wikitext(folder: Path, text: str):
    path = folder / WIKITEXT.path
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    return SUITE.configuration("en-wikitext2").load(DataFolder(folder, offline=True))


def test_wikitext_gives_its_long_sentences_without_unknown_words(tmp_path):
    long = "The ship sailed to the north with a cargo of salt ."
    unknown = long.replace("salt", "<unk>")
    loaded = wikitext(tmp_path, f" = Title = \n \n {long} {unknown} Too short . \n {long} \n")
    found = [(i.status, i.reason, i.cluster) for i in loaded.items]
    assert found == [
        *[(None, None, "00002")] * 2,
        ("excluded", "holds <unk>", "00002"),
        *[(None, None, "00003")] * 2,
    ]
    assert loaded.items[0].texts["text"] == long.replace(" .", ".")
    assert [i.by.get("style") for i in loaded.items] == [
        *("article", "article", None, "encyclopedia", "encyclopedia")
    ]
    assert loaded.info.local


def test_texts_of_ones_own_are_read_and_an_empty_one_is_unscored(tmp_path):
    (tmp_path / "t.csv").write_text('body\n"One, two."\n""\nThree four.\n', encoding="utf-8")
    texts = {"structured_noise": {"mine": {"path": str(tmp_path / "t.csv"), "text": "body"}}}
    data = DataFolder(offline=True, texts=texts).of("structured_noise")
    items = SUITE.configuration("own").load(data).items
    assert [(i.id, i.status) for i in items] == [
        ("noise/mine/000000/clean", None),
        ("noise/mine/000000/html", None),
        ("noise/mine/000001/clean", "unscored"),
        ("noise/mine/000001/html", "unscored"),
        ("noise/mine/000002/clean", None),
        ("noise/mine/000002/html", None),
    ]


def test_without_the_file_the_way_to_it_is_named():
    with pytest.raises(DataMissing, match=r"wikitext2/test\.txt"):
        SUITE.configuration("en-wikitext2").load(DataFolder(offline=True))


# Scores


TWO = [*versions("noise/a", "One two three.", 0), *versions("noise/b", "Four five", 1)]
NATS = {"noise/a/clean": 6.0, "noise/a/html": 9.0, "noise/b/clean": 2.0, "noise/b/html": 6.0}
BY_TEXT = {i.texts["text"]: -NATS[i.id] for i in TWO}


class Readers(Texts):
    """A causal model that takes twice the nats for a whole page, and knows its tokens."""

    def score_long(self, passages, *, stride=None):
        found = super().score_long(passages)
        return [
            s if isinstance(p, Passage) or s.reason else SequenceScore(2 * s.total, 50)
            for p, s in zip(passages, found, strict=True)
        ]


@pytest.mark.parametrize("kind", [Readers, Pseudo])
def test_perplexities_are_of_the_words_alone(kind):
    found = result_of(SUITE, kind(BY_TEXT.get), TWO)
    assert [r.value for r in found.records] == [2.0, 3.0, 1.0, 3.0]
    assert all(r.detail["words"] == r.detail["tokens"] for r in found.records)
    # Five words: 8 nats clean, 15 in pages.
    assert found.headline.metric == "perplexity_ratio"
    assert found.headline.value == pytest.approx(math.exp(15 / 5 - 8 / 5))
    assert found.headline.ideal == 1
    assert values(found, "perplexity") == {
        ("clean",): pytest.approx(math.exp(8 / 5)),
        ("html",): pytest.approx(math.exp(15 / 5)),
    }
    # "One two three." has 14 characters, "Four five" 9.
    assert values(found, "nats_per_character") == {
        ("clean",): pytest.approx(8 / 23),
        ("html",): pytest.approx(15 / 23),
    }
    assert found.score("gap").value == pytest.approx(7 / 23)
    assert found.score("perplexity_ratio", style="article").value == pytest.approx(math.exp(1))
    assert found.score("perplexity_ratio", style="encyclopedia").value == pytest.approx(math.exp(2))
    assert (found.headline.p_reason or "").startswith("only 4 arrangements of the groups")


def test_a_causal_model_is_asked_for_the_whole_page_as_well():
    found = result_of(SUITE, Readers(BY_TEXT.get), TWO)
    of_pages = [i.texts["text"] for i in TWO if i.by["domain"] == "html"]
    wanted = 2 * 15 / sum(map(len, of_pages))
    assert found.score("page_nats_per_character").value == pytest.approx(wanted)
    masked = result_of(SUITE, Pseudo(BY_TEXT.get), TWO)
    assert "page_nats_per_character" not in {s.metric for s in masked.scores}


def test_a_text_counts_if_both_versions_were_scored():
    page_of_a = TWO[1].texts["text"]
    found = result_of(SUITE, Readers(lambda t: None if t == page_of_a else BY_TEXT[t]), TWO)
    assert [(r.status, r.reason) for r in found.records] == [
        ("unscored", "its other version: empty text"),
        ("unscored", "empty text"),
        ("scored", None),
        ("scored", None),
    ]
    assert found.status == "inconclusive"


def test_what_is_not_finite_is_unscored():
    page_of_a = TWO[1].texts["text"]
    found = result_of(SUITE, Pseudo(lambda t: math.nan if t == page_of_a else BY_TEXT[t]), TWO)
    assert [r.status for r in found.records] == ["unscored", "unscored", "scored", "scored"]


def test_a_model_that_finds_both_alike_has_a_ratio_of_one():
    found = result_of(SUITE, Pseudo(lambda text: -5.0), TWO)
    assert (found.headline.value, found.headline.p_value) == (1.0, None)
    assert (found.headline.p_reason or "").startswith("no other arrangement of the groups")


@pytest.mark.parametrize("builder", ["gpt2", "bert"])
def test_real_tokens_are_those_of_the_words(builder, tiny):
    model = load(str(tiny(builder)), device="cpu")
    items = [i for i in ITEMS if i.cluster == "noise/guide/01"]
    found = result_of(SUITE, model, items)
    clean, html = found.records
    assert (clean.status, html.status) == ("scored", "scored")
    assert clean.detail["words"] == html.detail["words"] == len(items[0].meta["plain"].split())
    # A page has many times the tokens; those of its words are nearly as many as in the text.
    assert abs(html.detail["tokens"] - clean.detail["tokens"]) < 0.2 * clean.detail["tokens"]
