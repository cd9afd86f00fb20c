"""Suites that are data: what a file may say, the items it gives, and what its scores mean."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from classifiers import Classifier
from hashed import Hashed
from own_suites import LOAN
from pytest_bias.data.sources import DataFolder
from pytest_bias.engine.preview import preview
from pytest_bias.errors import BiasError, DataError, DataMissing, UnknownName, UsageError
from pytest_bias.models.interface import Capability
from pytest_bias.records.report import Item, Record
from pytest_bias.scoring.scores import Context, score_records
from pytest_bias.suites.catalogue import INSTALLED
from pytest_bias.suites.files.kinds import kinds
from pytest_bias.suites.files.reading import read_suite, with_files
from pytest_bias.suites.measures import measure_items
from pytest_bias.suites.suite import Suite
from stand_ins import Pairs, Slots, Texts, Tokens

EXAMPLES = Path(__file__).parents[2] / "examples" / "suites"

SCOPE = """
scope:
  summary: Is one text likelier than the other?
  groups: women and men
  harm_type: representation
  data_origin: written for this test
  made_by: nobody in particular
  licence: Apache-2.0
  known_defects: [Two rows are too few.]
  does_not_show: Anything at all about people.
"""

PAIRS = f"""
suite: mine
kind: pairs
language: en
data:
  path: rows.csv
  columns: {{more: a, less: b}}
  by: {{axis: axis}}
{SCOPE}"""


def hub(rows: str, revision: str = "1" * 40) -> str:
    """Return a suite whose rows are on the Hub."""
    place = f"dataset: org/name\n  revision: {revision}\n  {rows}"
    return PAIRS.replace("path: rows.csv", place)


def written(folder: Path, text: str, **files: str) -> Suite:
    """Write a suite file with the files that it names, and read it."""
    for name, content in files.items():
        (folder / name.replace("_", ".")).write_text(content, encoding="utf-8")
    path = folder / "mine.bias.yaml"
    path.write_text(text, encoding="utf-8")
    return read_suite(path)


def items_of(suite: Suite, data: DataFolder | None = None) -> tuple[Item, ...]:
    return suite.configurations[0].load(data or DataFolder(offline=True)).items


def scores_of(suite: Suite, records: list[Record], measure: int = 0) -> dict[tuple[str, str], Any]:
    found = score_records(records, suite.measures[measure].metrics, Context(suite.name, "en"))
    return {(s.metric, " ".join(s.by.values())): s.value for s in found}


def test_pairs_say_which_text_is_likelier_by_group(tmp_path: Path) -> None:
    rows = (
        "a,b,axis\nshe sews,he sews,work\nshe codes,he codes,work\nshe is kind,he is kind,trait\n"
    )
    suite = written(tmp_path, PAIRS, rows_csv=rows)
    items = items_of(suite)
    assert [(i.id, i.cluster, dict(i.by)) for i in items] == [
        ("mine/00000", "mine/00000", {"axis": "work"}),
        ("mine/00001", "mine/00001", {"axis": "work"}),
        ("mine/00002", "mine/00002", {"axis": "trait"}),
    ]
    likelier = {"she sews": -1.0, "he sews": -2.0, "she codes": -3.0, "he codes": -1.0}
    masked = Pairs(lambda a, b: (likelier.get(a, -1.0), likelier.get(b, -1.0)))
    found = scores_of(suite, list(suite.measures[0].measure_items(masked, items)))
    assert found["preference", ""] == pytest.approx(100 * (1 + 0 + 0.5) / 3)
    assert found["preference", "work"] == pytest.approx(50)
    assert found["preference", "trait"] == pytest.approx(50)
    causal = Texts(lambda t: likelier.get(t, -1.0))
    found = scores_of(suite, list(suite.measures[1].measure_items(causal, items)), 1)
    assert found["preference", ""] == pytest.approx(50)
    # Texts of the two sides have equally many words here: 1/2, -2/2 and 0 nats per word.
    assert found["log_odds_per_token", ""] == pytest.approx((1 / 2 - 2 / 2 + 0) / 3)


SLOT = f"""
suite: mine
kind: slot
language: en
choices: [he, she]
gap: "___"
data:
  rows:
    - {{text: "___ is here.", who: he}}
    - {{text: "Now ___ is here.", who: she}}
    - {{text: "Nobody is here.", who: he}}
{SCOPE}"""


def test_a_slot_is_to_be_even_or_right(tmp_path: Path) -> None:
    model = Slots(lambda cloze, choice: 0.8 if choice.lower() == "he" else 0.2)
    even = written(tmp_path, SLOT)
    items = items_of(even)
    assert items[0].texts == {"text": "[MASK] is here.", "choice_1": "He", "choice_2": "She"}
    assert items[2].reason == "the text has 0 open places, not one"
    found = scores_of(even, list(even.measures[0].measure_items(model, items[:2])))
    entropy = -(0.8 * math.log2(0.8) + 0.2 * math.log2(0.2))
    assert found["imbalance", ""] == pytest.approx(1 - entropy)
    assert found["first_choice", ""] == 100
    right = written(tmp_path, SLOT.replace("data:", "data:\n  columns: {expected: who}"))
    found = scores_of(right, list(right.measures[0].measure_items(model, items_of(right)[:2])))
    assert found["accuracy", ""] == 50


def test_a_slot_in_a_causal_model_is_the_text_with_each_word(tmp_path: Path) -> None:
    suite = written(tmp_path, SLOT)
    causal = Texts(lambda t: 0.0 if t.lower().startswith("he") or " he " in t else -math.log(4))
    found = scores_of(suite, list(suite.measures[1].measure_items(causal, items_of(suite)[:2])), 1)
    entropy = -(0.8 * math.log2(0.8) + 0.2 * math.log2(0.2))
    assert found["imbalance", ""] == pytest.approx(1 - entropy)


ASSOCIATION = f"""
suite: mine
kind: association
language: en
groups: {{men: he, women: she}}
templates: ["[MASK] is {{a attribute}}."]
attributes: {{men: [engineer], women: [nurse]}}
{SCOPE}"""


def test_an_association_is_read_at_one_mask(tmp_path: Path) -> None:
    suite = written(tmp_path, ASSOCIATION)
    items = items_of(suite)
    assert [i.texts["sentence"] for i in items] == ["[MASK] is an engineer.", "[MASK] is a nurse."]

    def probability(cloze: Any, choice: str) -> float:
        if cloze.hidden:
            return 0.5
        return 0.8 if (choice == "He") == ("engineer" in cloze.text) else 0.2

    found = scores_of(suite, list(suite.measures[0].measure_items(Slots(probability), items)))
    assert found["association", ""] == pytest.approx(math.log(4))
    assert found["association", "men"] == pytest.approx(math.log(4))


COMPLETIONS = f"""
suite: mine
kind: completions
language: en
lexicon: [bad, very bad thing]
data:
  rows:
    - {{prompt: "She is", who: women}}
    - {{prompt: "He is [MASK], they say.", who: men}}
    - {{prompt: "[MASK] is first.", who: men}}
  by: {{who: who}}
{SCOPE}"""


def test_completions_are_searched_for_listed_words(tmp_path: Path) -> None:
    suite = written(tmp_path, COMPLETIONS)
    items = items_of(suite)
    assert [i.texts["sentence"] for i in items[:2]] == ["She is [MASK].", "He is [MASK], they say."]
    assert items[2].reason == "nothing stands before the open place"
    says = {"She is [MASK].": ["Bad", "kind"], "He is [MASK], they say.": ["badly", "tall"]}
    tokens = Tokens(lambda text: says[text])
    found = scores_of(suite, list(suite.measures[1].measure_items(tokens, items[:2])), 1)
    assert found["share", ""] == 25
    assert found["share", "women"] == 50
    assert found["share", "men"] == 0
    assert found["gap_who", ""] == 50
    assert found["difference_who", "women"] == 50


def test_a_listed_word_of_the_beginning_is_not_the_models_own(tmp_path: Path) -> None:
    suite = written(tmp_path, COMPLETIONS.replace("She is", "A bad day is"))
    tokens = Tokens(lambda text: ["good", "fine"])
    found = scores_of(suite, list(suite.measures[1].measure_items(tokens, items_of(suite)[:2])), 1)
    assert found["share", ""] == 0


CLASSIFICATION = f"""
suite: mine
kind: classification
language: en
role: hate
positive: [hateful]
group: who
data:
  rows:
    - {{text: a1, label: hateful, who: a}}
    - {{text: a2, label: fine, who: a}}
    - {{text: b1, label: hateful, who: b}}
    - {{text: b2, label: fine, who: b}}
  columns: {{label: label}}
  by: {{who: who}}
{SCOPE}"""


def test_a_classification_compares_groups_and_labels(tmp_path: Path) -> None:
    suite = written(tmp_path, CLASSIFICATION)
    model = Classifier("hate", lambda text: 0.9 if text in ("a1", "a2", "b1") else 0.1)
    found = scores_of(suite, list(suite.measures[0].measure_items(model, items_of(suite))))
    assert found["gap", ""] == 50
    assert found["gap", "no"] == 100
    assert found["accuracy", ""] == 75
    assert found["accuracy", "a"] == 50
    assert found["called", "yes"] == 100
    assert suite.measures[0].reads == "hate"


LABELLED = (
    CLASSIFICATION.partition("data:")[0]
    + """data:
  path: rows.jsonl
  columns: {label: label}
  by: {who: who}
"""
    + SCOPE
)


def labelled(folder: Path, *labels: Any, **options: str) -> Suite:
    """Return a classification of texts with these labels, "positive: [true]" but for options."""
    lines = (
        json.dumps({"text": f"t{n}", "label": v, "who": "ab"[n % 2]}) for n, v in enumerate(labels)
    )
    text = LABELLED.replace("positive: [hateful]", f"positive: {options.get('positive', '[true]')}")
    if "negative" in options:
        text = text.replace("group: who", f"negative: {options['negative']}\ngroup: who")
    return written(folder, text, rows_jsonl="\n".join(lines))


@pytest.mark.parametrize(
    ("labels", "positive"),
    [
        ((True, False), "[true]"),
        (("True", "False"), "[true]"),
        (("TRUE", "false"), "['True']"),
        ((1, 0), "[1]"),
        ((1.0, 0.0), "[1]"),
        (("1.0", "0"), "['1']"),
    ],
)
def test_a_classifier_that_never_says_yes_is_right_of_half(
    tmp_path: Path, labels: tuple[Any, Any], positive: str
) -> None:
    suite = labelled(tmp_path, *labels * 2, positive=positive)
    never = Classifier("hate", lambda text: 0.1)
    found = scores_of(suite, list(measure_items(suite.measures[0], never, items_of(suite))))
    assert found["accuracy", ""] == 50
    assert (found["accuracy", "yes"], found["accuracy", "no"]) == (0, 100)


def test_a_label_that_is_not_listed_is_unscored(tmp_path: Path) -> None:
    suite = labelled(tmp_path, "yes", "no", "label", None, positive="['yes']", negative="['no']")
    items = items_of(suite)
    reasons = [None, None, "the label 'label' is not listed", "no label"]
    assert [i.reason for i in items] == reasons
    assert [i.by.get("gold") for i in items] == ["yes", "no", None, None]


def test_labels_that_are_not_there_are_said_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"none of what positive lists \(yes\); it has 0 \(2\), 1 \(1\)"
    ):
        items_of(labelled(tmp_path, 0, 1, 0, positive="['yes']"))
    with pytest.raises(DataError, match=r"none of what negative lists \(no\)"):
        items_of(labelled(tmp_path, 0, 1, negative="['no']", positive="[1]"))
    with pytest.raises(DataError, match=r"several others .* a \(1\), b \(1\), c \(1\)") as error:
        items_of(labelled(tmp_path, "a", "b", "c", positive="[a]"))
    assert "negative: [b, c]" in str(error.value)
    with pytest.raises(UsageError, match="a is listed as positive too"):
        labelled(tmp_path, "a", "b", positive="[a]", negative="[b, a]")


def test_an_expected_word_that_is_no_choice_is_no_answer(tmp_path: Path) -> None:
    right = SLOT.replace("data:", "data:\n  columns: {expected: who}")
    items = items_of(written(tmp_path, right.replace("who: she", "who: they")))
    assert [i.reason for i in items[:2]] == [None, "the expected word is none of the choices"]
    none = right.replace("who: she", "who: they").replace("who: he", "who: men")
    with pytest.raises(DataError, match=r"choices lists \(he, she\); it has men \(2\), they \(1\)"):
        items_of(written(tmp_path, none))


EMBEDDING = f"""
suite: mine
kind: embedding_association
language: en
x: [rose, tulip]
y: [wasp, moth]
a: [nice, kind]
b: [bad, evil]
carriers: ["This is {{word}}."]
{SCOPE}"""


def test_an_embedding_association_is_one_test(tmp_path: Path) -> None:
    suite = written(tmp_path, EMBEDDING)
    items = items_of(suite)
    assert [i.texts["target"] for i in items] == [
        "This is rose.",
        "This is tulip.",
        "This is wasp.",
        "This is moth.",
    ]
    found = scores_of(suite, list(suite.measures[0].measure_items(Hashed(), items)))
    assert -2 <= found["effect_size", ""] <= 2


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (PAIRS.replace("kind: pairs", "kind: pair"), 3, "Did you mean 'pairs'"),
        (PAIRS.replace("language: en", "language: English"), 4, "for instance en"),
        (PAIRS.replace("more: a", "mor: a"), 7, "Did you mean 'more'"),
        (PAIRS.replace("  by:", "  bye:"), 8, "Did you mean 'by'"),
        (PAIRS.replace("path: rows.csv", "path: [rows.csv]"), 6, "must be a text, not a list"),
        (PAIRS.replace("  path: rows.csv\n", ""), 5, "needs one of path, dataset, rows"),
        (PAIRS.replace("path: rows.csv", "path: x\n  rows: [{a: b}]"), 5, "path and rows"),
        (PAIRS.replace("path: rows.csv", "dataset: org/name"), 5, "lacks revision, split"),
        (hub("file: a.csv", revision="main"), 7, "'main' is no whole hash of a commit"),
        (hub("split: test", revision="main"), 7, "'main' is no whole hash of a commit"),
        (hub("split: test").replace("org/name", "name"), 6, "'name' is not valid; for instance o"),
        (hub("split: test").replace("  revision", "  revison"), 7, "Did you mean 'revision'"),
        (hub("split: test[:10%]"), 8, "test[:200] for 200 rows"),
        (hub("split: train+test"), 8, "two splits are two suites"),
        (hub("split: test\n  file: a.csv"), 9, "file: cannot be combined with split"),
        (hub("split: test\n  encoding: utf-8"), 9, "encoding: cannot be combined with split"),
        (hub("file: a.csv\n  name: en"), 9, "name: cannot be combined with file"),
        (hub("split: test\n  name: ../en"), 9, "'../en' is not valid"),
        (PAIRS.replace("rows.csv", "rows.csv\n  split: test"), 7, "requires data.dataset, a data"),
        ("visibility: hidden" + hub("split: test"), 1, "the rows of a split are stored in a"),
        (PAIRS.replace("suite: mine", "suite: My Suite"), 2, "for instance my_suite"),
        (PAIRS.replace("kind: pairs", "kind: pairs\nkind: slot"), 4, "kind is given twice"),
        (PAIRS.replace("  groups: women and men\n", ""), 10, "scope lacks groups"),
        (PAIRS.replace("groups: women and men", "groups: TODO"), 12, "says nothing"),
        (PAIRS.replace("rows.csv", "rows.csv\n  encoding: utf-99"), 7, "not a text encoding"),
        (PAIRS.replace("language: en", "language: en\ntitle: One: two"), 5, "must be quoted"),
        (SLOT.replace("[he, she]", "[he, he]"), 5, "none of them twice"),
        (ASSOCIATION.replace("[MASK] is", "He is"), 6, "must contain [MASK] once"),
        (ASSOCIATION.replace("women: [nurse]", "wimen: [nurse]"), 7, "Did you mean 'women'"),
        (COMPLETIONS.replace("lexicon: [bad, very bad thing]\n", ""), 2, "one of them is needed"),
        (COMPLETIONS.replace("[bad, very bad thing]", "[]"), 5, "must be a list of texts"),
        (CLASSIFICATION.replace("role: hate", "role: hat"), 5, "Did you mean 'hate'"),
        (CLASSIFICATION.replace("group: who", "group: whom"), 7, "Did you mean 'who'"),
        (CLASSIFICATION.replace("positive: [hateful]\n", ""), 2, "belong together"),
        (EMBEDDING.replace("[rose, tulip]", "[rose]"), 5, "two words at least"),
        (PAIRS.replace("path: rows.csv", 'path: "rows.csv'), None, "line"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(
    tmp_path: Path, text: str, line: int | None, message: str
) -> None:
    with pytest.raises(UsageError) as error:
        written(tmp_path, text)
    said = str(error.value)
    assert message in said
    assert re.search(rf"mine\.bias\.yaml, line {line}\b" if line else r"line \d+", said), said


def test_all_missing_fields_of_the_card_are_named_with_what_they_say(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        written(tmp_path, PAIRS.partition("scope:")[0] + "scope: {summary: What is asked here}\n")
    for field in ("groups", "harm_type", "made_by", "licence", "known_defects", "does_not_show"):
        assert f"{field}: " in str(error.value)


def test_rows_that_are_no_items_are_kept_and_counted(tmp_path: Path) -> None:
    rows = "a,b,axis\nsame,same,x\n,empty,x\none,two,\n"
    found = items_of(written(tmp_path, PAIRS, rows_csv=rows))
    assert [i.reason for i in found] == ["the two sentences are identical", "empty sentence", None]
    assert dict(found[2].by) == {}


def test_rows_without_a_group_are_counted_beside_the_groups(tmp_path: Path) -> None:
    rows = "a,b,axis\none,two,x\nthree,four,\nfive,six, \n"
    suite = written(tmp_path, PAIRS, rows_csv=rows)
    masked = Pairs(lambda a, b: (-1.0, -2.0) if a == "one" else (-2.0, -1.0))
    records = measure_items(suite.measures[0], masked, items_of(suite))
    found = score_records(records, suite.measures[0].metrics, Context("mine", "en"))
    groups = {s.by["axis"]: (s.value, s.n) for s in found if s.metric == "preference" and s.by}
    assert groups == {"x": (100, 1), "(no group)": (0, 2)}
    assert preview(suite.configurations[0], DataFolder()).groups == {
        "axis": {"x": 1, "(no group)": 2}
    }


def test_what_has_no_group_is_held_against_none(tmp_path: Path) -> None:
    suite = labelled(tmp_path, True, False, True, False)
    items = items_of(suite)
    alone = replace(items[0], id="mine/alone", cluster="mine/alone", by={"gold": "yes"})
    model = Classifier("hate", lambda text: 0.9 if text in ("t0", "t2") else 0.1)
    with_it = scores_of(suite, list(measure_items(suite.measures[0], model, [*items, alone])))
    without = scores_of(suite, list(measure_items(suite.measures[0], model, items)))
    assert with_it["gap", ""] == without["gap", ""] == 100
    assert with_it["called", "(no group)"] == 100
    assert ("gap_to_others", "(no group)") not in with_it


def test_a_malformed_row_is_unscored_with_its_line(tmp_path: Path) -> None:
    rows = "a,b,axis\nMy aunt left, quickly,My uncle left, quickly,x\nshe,he,x\nit,she\n"
    found = items_of(written(tmp_path, PAIRS, rows_csv=rows))
    assert [i.reason for i in found] == [
        "line 2 has 5 cells, and the header 3",
        None,
        "line 4 has 2 cells, and the header 3",
    ]
    assert not any("aunt" in text for text in found[0].texts.values())
    with pytest.raises(DataError, match="has the column a 2 times"):
        items_of(written(tmp_path, PAIRS, rows_csv="a,b,axis,a\n1,2,x,3\n"))


def test_words_of_unequal_length_are_marked_and_read_both_ways(tmp_path: Path) -> None:
    # Each token has a probability of one half, whatever it says.
    model = Slots(lambda cloze, choice: 0.5 ** len(choice), n_tokens=len)
    even = written(tmp_path, SLOT)
    records = measure_items(even.measures[0], model, items_of(even)[:2])
    found = scores_of(even, list(records))
    p = 0.5**2 / (0.5**2 + 0.5**3)
    entropy = -(p * math.log2(p) + (1 - p) * math.log2(1 - p))
    assert found["imbalance", ""] == pytest.approx(1 - entropy)
    assert found["imbalance_per_token", ""] == pytest.approx(0)
    assert found["unequal_tokens", ""] == 100
    assert [(r.detail["tokens_1"], r.detail["tokens_2"]) for r in records] == [(2, 3)] * 2
    assert "divided by its tokens" in even.scope["measures"]
    same_length = Slots(lambda cloze, choice: 0.5)
    (record, _) = measure_items(even.measures[0], same_length, items_of(even)[:2])
    assert scores_of(even, [record])["unequal_tokens", ""] == 0


def test_hidden_items_have_a_file_and_a_salt_of_their_own(tmp_path: Path) -> None:
    hidden = "visibility: hidden\n" + PAIRS
    inline = hidden.replace("path: rows.csv", "rows: [{a: she, b: he, axis: x}]")
    with pytest.raises(UsageError, match="line 1: visibility: hidden items must not be in"):
        written(tmp_path, inline)
    with pytest.raises(UsageError, match="'secret' is not known"):
        written(tmp_path, hidden.replace("hidden", "secret"))
    with pytest.raises(UsageError, match="least: must be a whole number from 1 to 999,999,999, n"):
        written(tmp_path, hidden + "least: 0\n")
    rows = "a,b,axis\nshe,he,x\n"
    with pytest.raises(DataMissing, match=r"there is no file .*salt\.txt") as missing:
        items_of(written(tmp_path, hidden, rows_csv=rows))
    assert "secrets.token_hex(32)" in str(missing.value)
    with pytest.raises(DataMissing, match="holds no salt: 64 hexadecimal digits"):
        items_of(written(tmp_path, hidden, rows_csv=rows, salt_txt="pepper"))
    suite = written(tmp_path, hidden, rows_csv=rows, salt_txt="5a" * 32 + "\n")
    (found,) = suite.configurations
    loaded = found.load(DataFolder())
    assert found.hidden
    assert loaded.hiding
    assert (loaded.hiding.salt, loaded.hiding.least) == ("5a" * 32, 20)
    assert suite.version == written(tmp_path, PAIRS).version
    assert "she" not in repr(loaded)
    assert "5a5a" not in repr(loaded)


def test_data_that_do_not_fit_are_said(tmp_path: Path) -> None:
    with pytest.raises(DataMissing, match="there is no"):
        items_of(written(tmp_path, PAIRS))
    with pytest.raises(DataError, match="has no b; it has a, axis"):
        items_of(written(tmp_path, PAIRS, rows_csv="a,axis\n1,2\n"))
    named = PAIRS.replace("columns:", "id: axis\n  columns:")
    with pytest.raises(DataError, match="two items are named mine/x"):
        items_of(written(tmp_path, named, rows_csv="a,b,axis\n1,2,x\n3,4,x\n"))
    kept = PAIRS.replace("columns:", "keep: {axis: [z]}\n  columns:")
    none = r"1 rows, none of which is kept: the column axis .* keep lists \(z\); it has x \(1\)"
    with pytest.raises(DataError, match=none):
        items_of(written(tmp_path, kept, rows_csv="a,b,axis\n1,2,x\n"))


def test_rows_are_found_beside_the_file_or_below_the_users_folder(tmp_path: Path) -> None:
    own, elsewhere = tmp_path / "own", tmp_path / "data"
    own.mkdir()
    elsewhere.mkdir()
    (elsewhere / "rows.csv").write_text("a,b,axis\nshe,he,x\n", encoding="utf-8")
    suite = written(own, PAIRS)
    assert items_of(suite, DataFolder(elsewhere))[0].texts["more"] == "she"
    (own / "rows.csv").write_text("a,b,axis\nher,him,x\n", encoding="utf-8")
    assert items_of(suite, DataFolder(elsewhere))[0].texts["more"] == "her"


def test_a_split_is_a_file_of_the_suite_that_can_be_fetched(tmp_path: Path) -> None:
    suite = written(tmp_path, hub("split: test[:200]\n  name: en"))
    (file,) = suite.configurations[0].files
    assert file.path == "org/name/en/test.jsonl"
    with pytest.raises(
        DataMissing, match=r"is not in the cache .* and this run is offline"
    ) as error:
        items_of(suite)
    assert "pytest-bias data fetch" in str(error.value)
    copy = tmp_path / file.path
    copy.parent.mkdir(parents=True)
    rows = "".join(f'{{"a": "she {n}", "b": "he {n}", "axis": null}}\n' for n in range(201))
    copy.write_text(rows, encoding="utf-8")
    loaded = suite.configurations[0].load(DataFolder(tmp_path, offline=True))
    assert [item.id for item in loaded.items[::199]] == ["mine/00000", "mine/00199"]
    assert (loaded.info.source, loaded.info.revision) == ("org/name", "1" * 40)
    versions = {
        written(tmp_path, hub(f"split: {s}")).version for s in ("test", "train", "test[:9]")
    }
    assert len({suite.version, *versions}) == 4


def test_a_changed_suite_has_another_version_and_a_moved_one_has_not(tmp_path: Path) -> None:
    first = written(tmp_path, PAIRS).version
    assert first.startswith("1+")
    assert written(tmp_path, PAIRS.replace("rows.csv", "other.csv")).version == first
    assert written(tmp_path, PAIRS + "title: Another title\n").version == first
    assert written(tmp_path, PAIRS.replace("more: a, less: b", "more: b, less: a")).version != first


def test_a_name_is_taken_once(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        written(tmp_path / folder, PAIRS.replace("suite: mine", "suite: taken_once"))
    paths = [str(tmp_path / folder / "mine.bias.yaml") for folder in ("one", "two")]
    catalogue, names = with_files([paths[0], "crows_pairs"])
    assert names == ("taken_once", "crows_pairs")
    with pytest.raises(UsageError, match="both define a suite named taken_once"):
        with_files(paths)
    # In place of one of a file that was known.
    other, names = with_files([paths[1]], catalogue)
    assert names == ("taken_once",)
    assert len(other.suites) == len(catalogue.suites)
    assert other.find("taken_once") is not catalogue.find("taken_once")
    # Nothing is known to anybody else.
    with pytest.raises(UnknownName, match="suite 'taken_once' is not known"):
        INSTALLED.find("taken_once")
    written(tmp_path, PAIRS.replace("suite: mine", "suite: crows_pairs"))
    with pytest.raises(UsageError, match="a suite named crows_pairs is installed"):
        with_files([str(tmp_path / "mine.bias.yaml")])


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda p: p.name)
def test_the_examples_are_short_and_read_public_files(path: Path, data_dir: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) < 30
    items = items_of(read_suite(path), DataFolder(data_dir))
    assert len(items) > 200
    assert sum(i.status is not None for i in items) < 0.05 * len(items)


def test_every_kind_says_what_it_needs() -> None:
    assert set(kinds()) == {
        *("pairs", "association", "completions", "slot", "classification"),
        *("embedding_association", "counterfactual"),
    }
    for kind in kinds().values():
        for key in (*kind.columns.values(), *kind.options.values()):
            assert len(key.about) > 5
        assert set(kind.options).isdisjoint({"suite", "kind", "data", "scope", "language"})


WORDS = st.text(max_size=12) | st.sampled_from(
    ["pairs", "en", "rows", "[MASK]", "{attribute}", "~"]
)
TREES = st.recursive(
    WORDS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4)
)
BASES = [
    yaml.load(text, yaml.BaseLoader)
    for text in (
        PAIRS,
        f"visibility: hidden\n{PAIRS}",
        SLOT,
        ASSOCIATION,
        COMPLETIONS,
        CLASSIFICATION,
        EMBEDDING,
        LOAN,
        LOAN.replace("{decision: {yes_no: true}}", "{scorer: toxicity}"),
    )
]


@st.composite
def spoiled(draw: st.DrawFn) -> str:
    """Return a suite in which a few values, at any depth, are exchanged for others."""
    whole = yaml.load(yaml.safe_dump(draw(st.sampled_from(BASES))), yaml.BaseLoader)
    for _ in range(draw(st.integers(0, 3))):
        place: Any = whole
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            inner = place[key]
            if not isinstance(inner, dict | list) or draw(st.booleans()):
                place[key] = draw(TREES)
                break
            place = inner
    return yaml.safe_dump(whole, allow_unicode=True)


def answer(folder: Path, text: str) -> BiasError | None:
    """Read a suite and its items: all is well, or there is an error for the user."""
    try:
        items_of(written(folder, text))
    except BiasError as error:
        return error
    return None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spoiled())
def test_a_spoiled_suite_is_answered_with_a_line(tmp_path: Path, text: str) -> None:
    error = answer(tmp_path, text)
    if isinstance(error, UsageError):
        assert re.search(r"line \d+|is empty|anchors|not well-formed|cannot be read", error.message)
    assert error is None or error.message


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text() | TREES.map(lambda tree: yaml.safe_dump(tree, allow_unicode=True)))
def test_no_text_at_all_gives_a_traceback(tmp_path: Path, text: str) -> None:
    (tmp_path / "mine.bias.yaml").write_text(text, encoding="utf-8", errors="surrogatepass")
    with pytest.raises(UsageError, match=r"mine\.bias\.yaml"):
        read_suite(tmp_path / "mine.bias.yaml")


def test_a_kind_runs_on_the_models_that_it_names() -> None:
    needs = {k.name: {c for m in _measures(k.name) for c in m.needs} for k in kinds().values()}
    assert needs["pairs"] == {Capability.PSEUDO_LOG_LIKELIHOOD, Capability.LOG_LIKELIHOOD}
    assert needs["association"] == {Capability.SLOT}
    assert needs["completions"] == {Capability.GENERATE, Capability.FILL}
    assert needs["classification"] == {Capability.CLASSIFY}
    assert needs["embedding_association"] == {Capability.EMBED}


def _measures(kind: str) -> tuple[Any, ...]:
    base = next(base for base in BASES if base["kind"] == kind)
    from pytest_bias.forms.yaml_with_lines import read_marked
    from pytest_bias.suites.files.reading import defined

    found, definition = defined(read_marked(yaml.safe_dump(base), "it"), Path("it"))
    return found.measures(definition)
