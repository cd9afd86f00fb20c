"""Merging into a README.md: what is not ours stays, and a second time changes nothing."""

import copy
import math
import re
from typing import Any

import pytest
import yaml
from huggingface_hub import ModelCard
from huggingface_hub.repocard_data import model_index_to_eval_results
from hypothesis import given, settings
from hypothesis import strategies as st

from cards import CARDS, FOREIGN, INDENTED, MIXED, OURS, TEXTS, WIDE, front
from pytest_bias.emit.card.readme import BEGIN, END, merged
from pytest_bias.errors import UsageError

SECTION = f"{BEGIN}\n## Social-bias tests\n\n60.5 % — 🤗\n{END}"


def result(dataset: str, config: str, value: float, metric: str) -> dict[str, Any]:
    return {
        "task": {"type": "fill-mask", "name": "Social bias, intrinsic"},
        "dataset": {
            "type": dataset,
            "name": f"{dataset} en",
            "config": config,
            "revision": "12e45",
        },
        "metrics": [{"type": metric, "name": f"{metric}, % (ideal 50)", "value": value}],
        "source": {"url": "https://huggingface.co/org/name/blob/main/bias/x", "name": "r"},
    }


RESULTS = [
    result("nyu-mll/crows_pairs", "crows_pairs-en", 60.5, "stereotype_preference"),
    result("pytest-bias/seat", "seat-en", 0.6, "mean_absolute_effect"),
]
INDEX = [{"name": "org/name", "results": RESULTS}]

KEYS = {("nyu-mll/crows_pairs", "crows_pairs-en"), ("pytest-bias/seat", "seat-en")}


def text_of(readme: bytes) -> str:
    return readme.decode("utf-8").removeprefix("\ufeff")


def metadata(text: str) -> dict[str, Any]:
    found = re.match(r"\s*---(?:\r\n|\n)([\S\s]*?)(?:\r\n|\n)---[ \t]*(?:\r\n|\n|$)", text)
    # With its last line end, which the value of a literal in the last line has.
    data = yaml.safe_load(f"{found[1]}\n") if found else {}
    return data if isinstance(data, dict) else {}


def without_ours(text: str) -> list[str]:
    """Return the lines that are not ours: no section, no result of ours, found on their own."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines(keepends=True):
        inside = inside or line.strip() == BEGIN
        if not inside:
            lines.append(line)
        inside = inside and not line.strip().endswith("pytest-bias:end -->")
    return lines


@pytest.mark.parametrize("name", CARDS)
def test_a_card_is_valid_and_holds_our_scores(name: str) -> None:
    text = text_of(merged(CARDS[name], SECTION, INDEX))
    card = ModelCard(text)
    index = metadata(text)["model-index"]
    found = [r for entry in index for r in model_index_to_eval_results([entry])[1]]
    ours = [r for r in found if (r.dataset_type, r.dataset_config) in KEYS]
    ours = [r for r in ours if not r.metric_type.startswith("kept")]
    assert sorted((r.metric_type, r.metric_value, r.source_url) for r in ours) == sorted(
        (r["metrics"][0]["type"], r["metrics"][0]["value"], r["source"]["url"]) for r in RESULTS
    )
    assert all(r.dataset_revision == "12e45" for r in ours)
    assert card.data.eval_results is not None


@pytest.mark.parametrize("name", CARDS)
def test_a_second_time_changes_nothing(name: str) -> None:
    once = merged(CARDS[name], SECTION, INDEX)
    assert merged(once, SECTION, INDEX) == once


@pytest.mark.parametrize("name", CARDS)
def test_what_is_not_ours_stays(name: str) -> None:
    before = CARDS[name].decode("utf-8")
    after = merged(CARDS[name], SECTION, INDEX).decode("utf-8")
    assert after.startswith("\ufeff") == before.startswith("\ufeff")
    data, now = metadata(before.lstrip("\ufeff")), metadata(after.lstrip("\ufeff"))
    there = {k: v for k, v in data.items() if k != "model-index"}
    assert repr({k: v for k, v in now.items() if k != "model-index"}) == repr(there)
    assert [k for k in now if k in data] == list(data)


OTHER_LINES = (
    "front matter of a blank line",
    "foreign results in brackets",
    "results as json",
    "our older",
    "index ",
    "results empty",
)


@pytest.mark.parametrize(
    "name", [n for n in CARDS if not any(part in n for part in OTHER_LINES) and "several" not in n]
)
def test_every_line_that_was_there_is_there_in_order(name: str) -> None:
    left = iter(text_of(merged(CARDS[name], SECTION, INDEX)).splitlines(keepends=True))
    for line in without_ours(text_of(CARDS[name])):
        # Only a last line without its end gets one.
        assert any(line in (new, new.rstrip("\r\n")) for new in left), repr(line)


@pytest.mark.parametrize(
    "name", [n for n, card in CARDS.items() if b"pytest-bias report" not in card]
)
def test_without_scores_the_front_matter_is_left_alone(name: str) -> None:
    before, after = CARDS[name], merged(CARDS[name], SECTION, [])
    head, _, old = before.partition(b"<!-- pytest-bias:begin -->")
    assert after.startswith(head if b"\nold" in old.replace(b"\r", b"") else before)
    assert merged(after, SECTION, []) == after


@pytest.mark.parametrize("name", [n for n in CARDS if n.startswith("CRLF, ")])
def test_line_ends_are_those_of_the_file(name: str) -> None:
    after = merged(CARDS[name], SECTION, INDEX)
    assert after.count(b"\n") == after.count(b"\r\n")


# The front matter, to the byte


def lines(text: str, column: int, *, indented: bool = False) -> str:
    """Return our two results by hand, dashes in a column."""
    step = "  " if indented else ""
    found = ""
    for r in RESULTS:
        (metric,) = r["metrics"]
        found += f"""\
- task:
    type: fill-mask
    name: Social bias, intrinsic
  dataset:
    type: {r["dataset"]["type"]}
    name: {r["dataset"]["name"]}
    config: {r["dataset"]["config"]}
    revision: '12e45'
  metrics:
  {step}- type: {metric["type"]}
  {step}  name: {metric["name"]}
  {step}  value: {metric["value"]}
  source:
    url: {r["source"]["url"]}
    name: r
"""
    return "".join(f"{' ' * column}{line}\n" for line in found.splitlines())


def merged_front(metadata_text: str) -> str:
    text = merged(front(metadata_text).encode(), SECTION, INDEX).decode()
    assert text.startswith("---\n")
    return text[4:].partition("\n---\n")[0] + "\n"


def test_new_results_stand_at_the_end_of_the_front_matter() -> None:
    expected = f"license: mit  # c\nmodel-index:\n- name: org/name\n  results:\n{lines('', 2)}"
    assert merged_front("license: mit  # c\n") == expected


@pytest.mark.parametrize(
    ("there", "column", "indented"),
    [(FOREIGN, 2, False), (INDENTED.partition("license")[0], 6, True), (WIDE, 4, False)],
    ids=["PyYAML", "indented", "wide"],
)
def test_new_results_follow_those_of_others_in_their_indentation(
    there: str, column: int, indented: bool
) -> None:
    found = merged_front(f"{there}\n# more\ntags: [a]\n")
    assert found == f"{there}{lines('', column, indented=indented)}\n# more\ntags: [a]\n"


def test_our_older_result_makes_room_where_it_stands() -> None:
    first, second = lines("", 2).split("  - task:\n")[1:]
    begin, _, rest = OURS.partition("      name: Social bias, intrinsic\n")
    begin = begin.removesuffix("  - task:\n      type: fill-mask\n")
    _, mark, rest = rest.partition("  # measured by hand\n")
    others, tags, end = rest.partition("tags:")
    expected = f"{begin}  - task:\n{first}{mark}{others}  - task:\n{second}{tags}{end}"
    assert merged_front(OURS) == expected


def test_the_metrics_of_others_in_one_result_with_ours_stay() -> None:
    first, second = (f"  - task:\n{part}" for part in lines("", 2).split("  - task:\n")[1:])
    cut = MIXED.replace("    - type: stereotype_preference\n      value: 66.6\n", "")
    before, task, after = cut.rpartition("  - task:\n")
    assert merged_front(MIXED) == f"{before}{first}{task}{after}{second}"


def test_a_result_of_ours_that_is_there_twice_is_there_once() -> None:
    name = "our older results, twice"
    assert TEXTS[name].count("crows_pairs-en") == 2
    assert merged(CARDS[name], SECTION, INDEX).count(b"crows_pairs-en") == 1


def test_nothing_is_written_if_the_scores_are_there_in_another_style() -> None:
    flow = yaml.safe_dump(INDEX, default_flow_style=True, sort_keys=False, width=math.inf)
    there = front(f"# mine\nmodel-index: {flow}# and mine\n").encode()
    after = merged(there, SECTION, INDEX)
    assert after.startswith(there)


def test_a_list_in_brackets_keeps_what_it_says() -> None:
    found = yaml.safe_load(merged_front(TEXTS["results as json"][4:].partition("---\n")[0]))
    (entry,) = found["model-index"]
    assert entry["results"][0]["dataset"] == {"type": "d", "name": "yes"}
    assert entry["results"][1:] == RESULTS


MARKED = copy.deepcopy(RESULTS)
for one in MARKED:
    one["dataset"]["args"] = {"made_by": "pytest-bias", "report": "sha256:1", "date": "2026-11-27"}
    del one["source"]
SEAT_ALONE = [{"name": "org/name", "results": MARKED[1:]}]
BY_LINK = copy.deepcopy(RESULTS[0])
BY_LINK["source"]["name"] = "pytest-bias report"
BY_WORDS = {k: v for k, v in copy.deepcopy(RESULTS[0]).items() if k != "source"}
BY_WORDS["metrics"][0]["name"] = "stereotype preference, % (ideal 50, 95 % interval 58 – 63, n 9)"


def card_with(*results: Any) -> bytes:
    """Return a card whose owner has a result as well, with a comment."""
    theirs = "model-index:\n- name: org/name\n  results:\n  # theirs\n"
    listed = yaml.safe_dump([FOREIGN_RESULT, *results], sort_keys=False)
    return front(theirs + "".join(f"  {line}\n" for line in listed.splitlines())).encode()


FOREIGN_RESULT = {
    "task": {"type": "fill-mask"},
    "dataset": {"type": "glue", "name": "GLUE"},
    "metrics": [{"type": "accuracy", "value": 0.5}],
}


@pytest.mark.parametrize("old", [MARKED[0], BY_LINK, BY_WORDS], ids=["mark", "link", "words"])
def test_a_result_of_ours_that_is_measured_no_longer_is_withdrawn(old: dict[str, Any]) -> None:
    after = merged(card_with(old), SECTION, SEAT_ALONE)
    (entry,) = metadata(text_of(after))["model-index"]
    assert entry["results"] == [FOREIGN_RESULT, MARKED[1]]
    assert b"# theirs" in after
    assert merged(after, SECTION, SEAT_ALONE) == after
    kept = merged(card_with(old), SECTION, SEAT_ALONE, keeps=True)
    (entry,) = metadata(text_of(kept))["model-index"]
    assert entry["results"] == [FOREIGN_RESULT, old, MARKED[1]]
    # Where the report has no scores at all, nothing of ours stays either.
    (entry,) = metadata(text_of(merged(card_with(old), SECTION, [])))["model-index"]
    assert entry["results"] == [FOREIGN_RESULT]


def test_the_last_result_leaves_an_empty_list() -> None:
    readme = merged(front("license: mit\n").encode(), SECTION, SEAT_ALONE)
    after = merged(readme, SECTION, [])
    assert metadata(text_of(after))["model-index"] == [{"name": "org/name", "results": []}]
    assert merged(after, SECTION, SEAT_ALONE) != after
    assert merged(after, SECTION, []) == after


@pytest.mark.parametrize("keeps", [False, True])
def test_metrics_that_are_called_otherwise_now_take_the_place(keeps: bool) -> None:
    new = copy.deepcopy(MARKED[0])
    new["metrics"] = [{"type": "share", "name": "share, % (ideal 50, n 9)", "value": 1.0}]
    index = [{"name": "org/name", "results": [new]}]
    (entry,) = metadata(text_of(merged(card_with(MARKED[0]), SECTION, index, keeps=keeps)))[
        "model-index"
    ]
    assert entry["results"] == [FOREIGN_RESULT, new]


# The section


def test_a_section_takes_the_place_of_the_one_between_the_markers() -> None:
    after = merged(CARDS["our section"], SECTION, []).decode()
    assert after == front("license: mit\n", f"\n# My model\n\n{SECTION}\n\n## Use\n")


@pytest.mark.parametrize(
    ("body", "gap"),
    [("# A", "\n\n"), ("# A\n", "\n"), ("# A\n\n", ""), ("# A\n\n\n", ""), ("", "")],
)
def test_a_new_section_stands_last_below_an_empty_line(body: str, gap: str) -> None:
    assert merged(body.encode(), SECTION, []).decode() == f"{body}{gap}{SECTION}\n"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (f"# A\n{BEGIN}\nold\n", "begin in line 2."),
        (f"# A\n\nold\n{END}\n", "end in line 4."),
        (f"{END}\n{BEGIN}\n", "end in line 1, begin in line 2."),
        (f"{BEGIN}\n{END}\n\r\n{BEGIN}\n{END}\n", "begin in line 4, end in line 5."),
    ],
)
def test_markers_that_are_no_pair_are_an_error(body: str, words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)) as caught:
        merged(body.encode(), SECTION, INDEX)
    assert "<!-- pytest-bias:begin -->" in str(caught.value.hint)


@pytest.mark.parametrize(
    "section", ["", "text", BEGIN, f"{END}\n{BEGIN}", f"{BEGIN}\n{END}\n{BEGIN}\n{END}"]
)
def test_a_section_without_its_markers_is_refused(section: str) -> None:
    with pytest.raises(ValueError, match="one pair of markers"):
        merged(b"", section, [])


# What cannot be merged


@pytest.mark.parametrize(
    ("there", "words"),
    [
        (
            "license: mit\nmodel-index:\n- name: a\n  results: []\nmodel-index: []\n",
            "lines 3 and 6",
        ),
        ("a: 1\nmodel-index: 5\n", "line 3 of README.md is no list"),
        ("model-index: {name: a}\n", "line 2 of README.md is no list"),
        ("model-index:\n- results: []\n", "line 3 of README.md needs one name"),
        ("model-index:\n- name: a\n", "line 3 of README.md needs one name"),
        ("model-index:\n- 5\n", "line 3 of README.md needs one name"),
        ("a: [1\nb: 2\n", "not well-formed YAML, line 3"),
        ("license:\tmit\n", "not well-formed YAML, line 2"),
        ("a: b: c\n", "not well-formed YAML, line 2"),
        ("a: *no\n", "undefined alias"),
        ("\ta: 1\n", "not well-formed YAML, line 2"),
        ("a: \x07\n", "not well-formed YAML"),
        ("- a\n- b\n", "is no mapping"),
        ("just words\n", "is no mapping"),
        ("{license: mit}\n", "written in braces"),
        ("license: mit\n...\n", "cannot be changed"),
        ("x: !mine 5\n", "not well-formed YAML, line 2"),
        ("model-index: [{name: a, results: []}]  # c\n", "comments and is in brackets"),
        ("model-index: [&e {name: a, results: []}]\nmore: *e\n", "has anchors"),
        ("r: &r []\nmodel-index:\n- {name: a, results: *r}\n", "anchors, aliases"),
        ("d: &d\n  model-index: []\n<<: *d\n", "merged mapping"),
    ],
)
def test_what_cannot_be_merged_is_said(there: str, words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)) as caught:
        merged(front(there).encode(), SECTION, INDEX)
    assert caught.value.hint


def test_a_result_of_ours_that_others_refer_to_is_not_taken_away() -> None:
    there = OURS.replace("dataset:\n      type: nyu", "dataset: &d\n      type: nyu") + "use: *d\n"
    assert there.count("&d") == 1
    with pytest.raises(UsageError, match="undefined alias"):
        merged(front(there).encode(), SECTION, INDEX)


@pytest.mark.parametrize(
    "text", ["---\nlicense: mit\n...\n# A\n", "---\nlicense: mit\n\n# A\n", "---"]
)
def test_front_matter_without_an_end_is_said(text: str) -> None:
    with pytest.raises(UsageError, match="begins with --- in line 1"):
        merged(text.encode(), SECTION, INDEX)
    assert merged(text.encode(), SECTION, []).startswith(text.encode())


def test_another_encoding_is_said() -> None:
    with pytest.raises(UsageError, match="not UTF-8: byte 2 is 0xe9"):
        merged("# é".encode("latin-1"), SECTION, [])


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_no_number_is_refused(value: float) -> None:
    index = copy.deepcopy(INDEX)
    index[0]["results"][0]["metrics"][0]["value"] = value  # type: ignore[index]
    with pytest.raises(ValueError, match="not a score"):
        merged(b"", SECTION, index)


# Anything


PIECES = [
    *("license: mit\n", "# c\n", "\n", "tags:\n- a\n", "tags: [a]\n", "about: |\n  x\n\n  y\n"),
    *(FOREIGN, INDENTED.partition("license")[0], WIDE, OURS.partition("tags")[0], MIXED),
    *("model-index: []\n", "z: &z {a: 1}\n", "y: 'q'  # c\n"),
]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES), max_size=5, unique=True),
    st.text(st.sampled_from("#-ab \n`<!>é🤗"), max_size=40),
    st.sampled_from(["\n", "\r\n"]),
)
def test_whatever_is_merged_stays_merged(pieces: list[str], body: str, end: str) -> None:
    readme = front("".join(pieces), body).replace("\n", end).encode()
    try:
        once = merged(readme, SECTION, INDEX)
    except UsageError:
        assert sum("model-index" in piece for piece in pieces) > 1
        return
    assert merged(once, SECTION, INDEX) == once
    assert ModelCard(once.decode()).data.eval_results
