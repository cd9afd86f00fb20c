"""Disputed items: how they are found, what the files may say, and scores with and without them."""

import importlib.util
import io
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

import ours
from bias_suites.disputes import REASONS, REPORTED, SAME_ITEMS, checked, counted, disputes_of
from bias_suites.social import crows_pairs
from pytest_bias.cli.screens.scope import show_card
from pytest_bias.records.report import Item
from pytest_bias.suites import find
from pytest_bias.suites.results import scored
from stand_ins import Pairs, Texts, result_of

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "bias_tests" / "bias_suites" / "disputes"
SUITES = sorted(p.stem for p in FOLDER.glob("*.yaml"))


def tool() -> Any:
    """Import the tool, which is no part of a package."""
    spec = importlib.util.spec_from_file_location(
        "find_disputes", ROOT / "tools" / "find_disputes.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FINDER = tool()


def content(suite: str) -> dict[str, dict[str, dict[str, str | None]]]:
    found = yaml.safe_load((FOLDER / f"{suite}.yaml").read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


# The files


@pytest.mark.by_day("crows_pairs", "stereoset")
@pytest.mark.parametrize("suite", SUITES)
def test_the_files_say_what_is_found_in_the_data(suite, data_dir):
    wanted = content(suite)
    for reasons in wanted.values():
        reasons.pop(REPORTED, None)
    assert FINDER.disputes(suite, data_dir) == {c: r for c, r in wanted.items() if r}


def test_every_finder_has_its_file():
    assert sorted(FINDER.FINDERS) == SUITES


@pytest.mark.parametrize("suite", SUITES)
def test_the_files_hold_ids_and_no_text_of_the_data(suite, data_dir):
    for configuration, reasons in content(suite).items():
        ids = {i.id for i in ours.items(suite, configuration, data_dir)}
        for reason, items in reasons.items():
            assert set(items) <= ids
            notes = {note for note in items.values() if note}
            if reason == REPORTED:
                assert all(re.fullmatch(r"https://\S+", note) for note in notes)
            else:
                assert notes <= ids


@pytest.mark.parametrize("suite", SUITES)
def test_items_know_that_they_are_disputed(suite, data_dir):
    elsewhere = FINDER.ELSEWHERE.get(suite, ())
    every = [c.name for c in find(suite).configurations if (suite, c.name) not in SAME_ITEMS]
    names = [name for name in every if name not in elsewhere]
    for name in names:
        items = ours.items(suite, name, data_dir)
        marked = {i.id for i in items if i.meta["disputed"]}
        assert marked == set(disputes_of(suite, name))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([], "each configuration holds reasons"),
        ({"en": ["crows/0001"]}, "each configuration holds reasons"),
        ({"en": {"ugly": {"crows/0001": None}}}, r"disputes of s\[en\]: ugly is no reason; they"),
        ({"en": {"empty": {}}}, "empty names no items"),
        ({"en": {"empty": ["crows/0001"]}}, "empty names no items, each with a note or nothing"),
        ({"en": {"reported": {"crows/0001": None}}}, "crows/0001 is reported without saying where"),
    ],
)
def test_a_wrong_file_is_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        checked("s", wrong)


def test_what_people_reported_is_kept_when_the_file_is_written_again():
    reported = {"crows/0007": "https://example.org/issues/1"}
    kept = {"en": {"empty": {"crows/0001": None}, REPORTED: reported}}
    text = FINDER.written("crows_pairs", {"en": {"identical": {"crows/0002": None}}}, kept)
    assert yaml.safe_load(text) == {
        "en": {"identical": {"crows/0002": None}, REPORTED: reported},
    }


def test_every_reason_says_what_is_wrong():
    assert all(re.match("(has|its|a|names) ", words) for words in REASONS.values())


# Pairs of sentences


def reasons_of(*pairs: tuple[str, str], language: str = "en") -> list[tuple[str, str | None]]:
    items = [
        Item(f"i{n}", f"i{n}", {"more": more, "less": less}) for n, (more, less) in enumerate(pairs)
    ]
    found = sorted(FINDER.of_pairs(items, language))
    return [(f"{f.item} {f.reason}", f.note) for f in found]


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("The poor man sang.", "The rich man sang."),
        ("He washed his car.", "She washed her car."),
        ("John washed his car.", "Mary washed her car."),
        ("A poor black man sang.", "A white man sang."),
        ("Blacks are like that, every black is.", "Whites are like that, every white is."),
        ("Women like men.", "Men like women."),
        ("Gay people sang.", "People sang."),
        ("Mr. Hill sang.", "Mrs Hill sang."),
        ("An old man sang.", "A young man sang."),
        ("It’s the poor.", "It's the rich."),
        ("I saw the Jew.", "I saw the Christian."),
    ],
)
def test_pairs_that_differ_in_the_group_alone_are_sound(more, less):
    assert reasons_of((more, less)) == []


@pytest.mark.parametrize(
    ("more", "less", "reason"),
    [
        ("The poor man was in a shack.", "The rich man was in a house.", "several_changes"),
        ("Women can drive.", "Men can not drive.", "several_changes"),
        ("The poor man sang", "The rich man sang.", "formatting"),
        ("They saw the poor", "They saw the rich.", "formatting"),
        ("The  poor man sang.", "The rich man sang.", "formatting"),
        ("The poor Man sang.", "The rich man sang.", "formatting"),
        ("the poor man sang.", "The rich man sang.", "formatting"),
        ("", "The rich man sang.", "empty"),
        ("The man sang.", " The man sang. ", "identical"),
    ],
)
def test_pairs_that_differ_in_more_are_found(more, less, reason):
    assert reasons_of((more, less)) == [(f"i0 {reason}", None)]


@pytest.mark.parametrize(
    ("language", "more", "less"),
    [
        ("fr", "L'homme noir est arrivé.", "La femme noire est arrivée."),
        ("fr", "Lorsqu'il chante, il est pauvre.", "Lorsqu'elle chante, elle est pauvre."),
        ("fr", "La patronne peut-elle chanter ?", "Le patron peut-il chanter ?"),
        ("nl", "De man en zijn auto.", "De vrouw en haar auto."),
    ],
)
def test_what_agrees_with_the_changed_word_is_no_change_of_its_own(language, more, less):
    assert reasons_of((more, less), language=language) == []


def test_a_pair_that_is_there_again_is_a_duplicate_and_the_other_way_round_a_contradiction():
    a, b, c = ("Old.", "Young."), ("Poor.", "Rich."), ("Old. ", "Young.")
    assert reasons_of(a, b, b[::-1]) == [("i1 reversed", "i2"), ("i2 reversed", "i1")]
    assert ("i2 duplicate", "i0") in reasons_of(a, b, c)


def test_controls_are_not_held_against_one_another():
    texts = {"more": "He sang.", "less": "She sang."}
    items = [
        Item("o", "o", texts, {"control": "original"}),
        Item("n", "o", texts, {"control": "negated"}),
    ]
    assert list(FINDER.of_pairs(items, "en")) == []


# Scores


def crows(disputed: bool, number: int, more: str) -> Item:
    return Item(
        f"crows/{number}",
        f"crows/{number}",
        {"more": more, "less": "less"},
        {"bias_type": "age", "direction": "stereo"},
        {"disputed": disputed},
    )


ITEMS = [crows(True, 0, "m1"), crows(False, 1, "m2"), crows(False, 2, "m3"), crows(True, 3, "m4")]
TABLE = {"m1": -1.0, "m2": -1.0, "m3": -3.0, "m4": -1.0, "less": -2.0}


@pytest.mark.parametrize(
    "model",
    [Pairs(lambda a, b: (TABLE[a], TABLE[b])), Texts(TABLE.get)],
    ids=["masked", "causal"],
)
def test_a_score_is_given_with_and_without_disputed_items(model):
    found = result_of(crows_pairs.SUITE, model, ITEMS)
    assert (found.headline.value, found.headline.n) == (75.0, 4)
    without = found.score("stereotype_preference_undisputed")
    assert (without.value, without.n) == (50.0, 2)
    # The records say it all: the file is not asked again.
    assert scored(found, crows_pairs.SUITE, 0).scores == found.scores


def test_a_suite_tells_how_many_of_its_items_are_disputed():
    console = Console(file=io.StringIO(), width=200)
    show_card(crows_pairs.SUITE, console)
    shown = console.file.getvalue()
    counts = counted("crows_pairs", "en")
    assert set(counts) == {"duplicate", "several_changes", "formatting"}
    assert (
        "disputed items: duplicate 1, several changes "
        f"{counts['several_changes']}, formatting {counts['formatting']}"
    ) in shown
