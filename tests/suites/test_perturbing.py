"""Changes of texts: each kind by hand, and what holds of every text of Unicode."""

import re
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bias_suites.robustness.perturbation_kinds import (
    ACCENTS,
    CONFUSIONS,
    LOOKALIKES,
    NEIGHBOURS,
    PERTURBATIONS,
    shape,
)
from bias_suites.robustness.perturbing import SHARES, changes, perturbed
from bias_suites.scope import scope_card

NAMES = sorted(PERTURBATIONS)
SEVERITIES = sorted(SHARES)
EACH = pytest.mark.parametrize("name", NAMES)

# Letters of many scripts, marks, emoji with joiners, text from right to left, lone surrogates.
PIECES = [
    *(
        "don't",
        "It is",
        "we will not",
        "WORD",
        "Straße",
        "İstanbul",
        "ΟΔΟΣ",
        "naïve",
        "nai\u0308ve",
    ),
    *("5", "3.50", "2019", "½", "Ⅳ", "٣", "三", "10am", "COVID-19", "1 000 000", "$5", "a_1"),
    *(
        "שלום",
        "مرحبا",
        "नमस्ते",
        "ᄒ",
        "ᅡᆫ",
        "한국어",
        "你好",
        "👩‍👩‍👧",
        "👍🏽",
        "🇩🇪",
        "e\u0301\u0323",
        "\u200d",
    ),
    *(
        "Mary",
        "New York",
        "not",
        "!",
        "...",
        "?!",
        " ",
        "\n",
        "\t",
        "\u00a0",
        "\u200f",
        "\ud800",
        "’",
    ),
]
ANY = st.text(st.characters(exclude_categories=()), max_size=40)
MIXED = st.lists(st.sampled_from(PIECES) | ANY, max_size=12).map(" ".join) | ANY
ENGLISH = st.lists(st.sampled_from([*PIECES[:4], "lorn", "closed", "away,", "here."]), max_size=9)
TEXTS = MIXED | ENGLISH.map(" ".join)
WORDS = st.lists(
    st.sampled_from(["not", "Mary", "new york", "mary", "!", "WORD", "שלום", "e\u0301\u0323"])
    | ANY,
    max_size=3,
)


def every(text, name):
    """Return what a text may become at the highest share, whatever is drawn."""
    return [
        (text[spot.start : spot.end], spot.news)
        for place in PERTURBATIONS[name].places(text, shape(text))
        for spot in place
    ]


# Each kind by hand


def test_keyboard_takes_a_key_beside_the_right_one():
    assert NEIGHBOURS["a"] == ("q", "s", "w", "z")
    assert NEIGHBOURS["s"] == ("a", "d", "e", "w", "x", "z")
    assert NEIGHBOURS["p"] == ("l", "o")
    assert NEIGHBOURS["M"] == ("J", "K", "N")
    assert all(a in NEIGHBOURS[b] for a, near in NEIGHBOURS.items() for b in near)
    # Inner letters of words with four letters; none has a key for ü.
    assert [old for old, _ in every("the Müller door", "keyboard")] == [*"lle", *"oo"]
    assert [old for old, _ in every("don't", "keyboard")] == ["o", "n"]
    assert perturbed("Open it", "keyboard", 1) in {f"O{n}en it" for n in NEIGHBOURS["p"]} | {
        f"Op{n}n it" for n in NEIGHBOURS["e"]
    }


def test_casing_changes_words_whose_casing_can_be_undone():
    assert every("Red US cat's a", "casing") == [
        ("Red", ("RED", "red")),
        ("US", ("Us", "us")),
        ("cat's", ("CAT'S", "Cat's")),
        ("a", ("A",)),
    ]
    # In capitals it would be STRASSE; the dotless i and the long s have capitals of other letters.
    assert every("Straße", "casing") == [("Straße", ("straße",))]
    assert every("ı ſ", "casing") == []
    assert every("שלום 你好", "casing") == []
    assert every("nai\u0308f", "casing") == [("nai\u0308f", ("NAI\u0308F", "Nai\u0308f"))]


def test_punctuation_changes_marks_at_the_end_of_a_word():
    assert every("Well, it's 3.50 (yes). Really?!", "punctuation") == [
        (",", ("", ",,", " ,")),
        (".", ("", "..", " .")),
    ]
    assert perturbed("Stop!", "punctuation", 1) in {"Stop", "Stop!!", "Stop !"}


def test_whitespace_changes_single_spaces_before_a_word():
    assert every("So it  is,\nok", "whitespace") == [(" ", ("  ", "\n", ""))]
    # Joined letters of other scripts may be read as one character.
    assert every("ᄒ ᅡ", "whitespace") == [(" ", ("  ", "\n"))]
    assert every("a \u0301b", "whitespace") == []
    assert perturbed("So it", "whitespace", 1) in {"So  it", "So\nit", "Soit"}


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("They do not know.", "They don't know."),
        ("They don't know.", "They do not know."),
        ("They don’t know.", "They do not know."),
        ("It’s red, I cannot say.", "It’s red, I can’t say."),
        ("Won't go.", "Will not go."),
        ("I am here", "I'm here"),
        ("I'm here", "I am here"),
        ("We'll see", "We will see"),
        ("We have it, they've lost", "We have it, they have lost"),
        ("It is not late", "It isn't late"),
        ("I am not late", "I'm not late"),
        ("It is late", "It's late"),
        ("I would go", "I'd go"),
        # More than one full form, no word behind it, a question, all in capitals, a longer word.
        ("It's been long", None),
        ("I'd gone", None),
        ("I know what it is.", None),
        ("Don't you know?", None),
        ("IT IS LATE", None),
        ("It island", None),
        ("iſ not", None),
        ("Kein englischer Satz.", None),
    ],
)
def test_contractions_go_both_ways(text, changed):
    assert perturbed(text, "contractions", 3) == changed


def test_lookalikes_are_cyrillic_letters_of_the_same_shape():
    for latin, (other,) in LOOKALIKES.items():
        assert unicodedata.name(other).startswith("CYRILLIC")
        assert unicodedata.name(latin).startswith("LATIN")
        assert latin.isupper() == other.isupper()
    assert every("Two apes", "lookalikes") == [
        ("T", ("Т",)),
        ("o", ("о",)),
        ("a", ("а",)),
        ("p", ("р",)),
        ("e", ("е",)),
        ("s", ("ѕ",)),
    ]


def test_accents_are_put_on_and_taken_off():
    for letter, news in ACCENTS.items():
        for new in news:
            bases = {unicodedata.normalize("NFD", c)[0] for c in (letter, new)}
            assert len(bases) == 1
            assert len(new) == 1
    assert every("fry Ça né", "accents") == [
        ("Ç", ("C",)),
        ("a", ("á", "à", "â", "ä")),
        ("n", ("ñ",)),
        ("é", ("e",)),
    ]
    # A letter with a mark of its own gets no second one.
    assert every("e\u0301", "accents") == []


def test_ocr_takes_letters_for_others_of_like_shape():
    assert every("burn", "ocr") == [("rn", ("m",))]
    assert every("clam", "ocr") == [
        ("cl", ("d",)),
        ("c", ("e",)),
        ("l", ("1", "I")),
        ("m", ("rn",)),
    ]
    assert perturbed("my", "ocr", 1) == "rny"
    assert all(new != old for old, news in CONFUSIONS.items() for new in news)


def test_a_severity_is_a_share_of_the_places_rounded_up():
    ten = "abcd efgh ijkl mnop qrst uvwx yzab cdef ghij klmn"
    assert [len(changes(ten, "keyboard", s)) for s in SEVERITIES] == [1, 3, 6]
    assert [len(changes(f"{ten} opqr", "keyboard", s)) for s in SEVERITIES] == [2, 4, 7]
    assert [len(changes("abcd", "keyboard", s)) for s in SEVERITIES] == [1, 1, 1]


def test_what_is_drawn_stays_the_same_for_ever():
    text = "We don't close before 10 on Monday, so come and see the garden."
    assert {name: perturbed(text, name, 2) for name in NAMES} == FROZEN


FROZEN = {
    "accents": "We dôn't close befòre 10 on Monday, so come änd see the gárden.",
    "casing": "We Don't close BEFORE 10 On Monday, so come and see the Garden.",
    "contractions": "We do not close before 10 on Monday, so come and see the garden.",
    "keyboard": "We don't close befofe 10 on Monday, so coke and see the garden.",
    "lookalikes": "Wе don't close bеfore 10 on Monday, so comе аnd see the garden.",
    "ocr": "We don't close bcfore 10 on Monday, s0 eome and see the gardcn.",
    "punctuation": "We don't close before 10 on Monday so come and see the garden.",
    "whitespace": "We don't close before 10 on Monday,so come andsee\nthe garden.",
}


# What is protected


def test_protected_words_stay_in_any_casing_and_only_as_whole_words():
    text = "Not a notable note: Mary's New  York, not Maryland."
    for name in NAMES:
        for severity in SEVERITIES:
            found = perturbed(text, name, severity, ["not", "mary", "new york"])
            for kept in ("Not", "Mary", "New  York", "not"):
                assert re.search(rf"(?<!\w){kept}(?!\w)", found or text), (name, found)
    assert "notable" not in (perturbed("notable", "casing", 3, ["not"]) or "")
    assert perturbed("do not", "contractions", 3, ["not"]) is None


def test_digits_in_words_are_numbers():
    for name in NAMES:
        assert perturbed("10am 3D half-2b ٣x ½ Ⅳ 1 000 000", name, 3) in (
            None,
            *(f"10am 3D {half}-2b ٣x ½ Ⅳ 1 000 000" for half in every_half(name)),
        )


def every_half(name):
    """Return what may become of the one word beside the numbers."""
    words = set()
    for place in PERTURBATIONS[name].places("half", "aaaa"):
        for start, end, news in place:
            words |= {"half"[:start] + new + "half"[end:] for new in news}
    return words


def tokens(text):
    """Return the words and other signs of a text: what a protected token is compared as."""
    kinds = shape(text)
    return [text[m.start() : m.end()] for m in re.finditer("[amn]+|[^amnsw]", kinds)]


@given(TEXTS, st.sampled_from(NAMES), st.sampled_from(SEVERITIES))
def test_numbers_stay_whole_and_in_order(text, name, severity):
    def numbers(of):
        return [t for t in tokens(of) if any(c.isnumeric() for c in t)]

    old = numbers(text)
    found = iter(numbers(perturbed(text, name, severity) or text))
    # OCR makes new tokens with digits, beside those that were there.
    assert all(any(token == new for new in found) for token in old)


@given(TEXTS, st.sampled_from(NAMES), st.sampled_from(SEVERITIES), WORDS)
def test_protected_words_stay_whole_and_in_order(text, name, severity, words):
    protected = {w.lower() for w in words if tokens(w) == [w]}
    old = [t for t in tokens(text) if t.lower() in protected]
    found = iter(tokens(perturbed(text, name, severity, words) or text))
    assert all(any(token == new for new in found) for token in old)


# Every text of Unicode


@given(TEXTS, st.sampled_from(NAMES), WORDS)
def test_changes_are_reproducible_nested_and_all_that_changes(text, name, words):
    all_severities = [changes(text, name, s, words) for s in SEVERITIES]
    assert all_severities == [changes(text, name, s, words) for s in SEVERITIES]
    for lower, higher in pairwise(all_severities):
        assert set(lower) <= set(higher)
    for severity, found in zip(SEVERITIES, all_severities, strict=True):
        result = perturbed(text, name, severity, words)
        assert result != text
        assert (result is None) <= (not found or name in ("punctuation", "whitespace"))
        back, at = [], 0
        for start, end, new in found:
            assert at <= start < end <= len(text)
            assert new != text[start:end]
            back += [text[at:start], new]
            at = end
        assert "".join([*back, text[at:]]) == (result or text)


@given(TEXTS, st.sampled_from(NAMES), st.sampled_from(SEVERITIES))
def test_the_result_is_valid_unicode_and_no_mark_changes_its_letter(text, name, severity):
    result = perturbed(text, name, severity) or text
    surrogates = [c for c in text if unicodedata.category(c) == "Cs"]
    assert [c for c in result if unicodedata.category(c) == "Cs"] == surrogates
    if not surrogates:
        result.encode()
    found = iter(clusters(result))
    # A letter with its marks, an emoji with its joiners: none is taken apart or joined.
    kept = [c.casefold() for c in clusters(text)]
    assert all(any(c == new.casefold() for new in found) for c in kept)


def clusters(text):
    """Return the characters of a text that have marks or joiners, with what they stand on."""
    return re.findall(r".[\u0300-\u036f\u200d\ufe0f]+", text, re.DOTALL)


@given(TEXTS, st.sampled_from(SEVERITIES))
def test_kinds_change_what_they_say_and_nothing_else(text, severity):
    def without(pattern, of):
        return re.sub(pattern, "", of)

    cased = perturbed(text, "casing", severity) or text
    assert cased.casefold() == text.casefold()
    spaced = perturbed(text, "whitespace", severity) or text
    assert without("[ \n]", spaced) == without("[ \n]", text)
    marked = perturbed(text, "punctuation", severity) or text
    assert without("[ .,;:!?]", marked) == without("[ .,;:!?]", text)
    typed = perturbed(text, "keyboard", severity) or text
    assert len(typed) == len(text)
    assert all(a == b or b in NEIGHBOURS[a] for a, b in zip(text, typed, strict=True))
    alike = perturbed(text, "lookalikes", severity) or text
    assert alike.translate({ord(b): a for a, (b,) in LOOKALIKES.items()}) == text.translate(
        {ord(b): a for a, (b,) in LOOKALIKES.items()}
    )


def test_a_long_text_takes_no_longer_than_its_length():
    text = "x" * 20_000 + " 5 " + "水" * 20_000
    for name in NAMES:
        perturbed(text, name, 3, ["x", "not"])


@EACH
def test_a_text_without_a_place_has_no_changes(name):
    assert perturbed("", name, 3) is None
    assert perturbed("42", name, 3) is None
    assert perturbed("👩‍👩‍👧", name, 3) is None
    assert changes("42", name, 3) == ()


@EACH
def test_each_kind_says_what_it_stands_for_here_and_in_the_scope_card(name):
    assert len(PERTURBATIONS[name].scope.split()) > 10
    assert any(d.startswith(f"{name} - ") for d in scope_card("perturbation")["decisions"])
