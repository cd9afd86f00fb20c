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

from cards import CARDS, FOREIGN, INDENTED, JSON, MIXED, OURS, TEXTS, WIDE, front
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


BLOCK = re.compile(r"^ *model-index:.*\n(?:(?:\r?\n)*(?!---)[ \-\[\]].*\n)*", re.MULTILINE)
MARKED_PART = re.compile(
    r"^<!-- pytest-bias:begin -->.*?^<!-- +pytest-bias:end -->", re.MULTILINE | re.DOTALL
)


def outside(text: str) -> str:
    """Return a card without what is ours: no section, no block ``model-index``."""
    return BLOCK.sub("", MARKED_PART.sub("", text))


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


@pytest.mark.parametrize("name", [n for n in CARDS if n != "front matter of a blank line"])
def test_every_byte_outside_of_the_block_stays(name: str) -> None:
    before, after = CARDS[name].decode("utf-8"), merged(CARDS[name], SECTION, INDEX).decode("utf-8")
    left, kept = outside(after), outside(before)
    if not re.match(r"\ufeff?\s*---", before):
        # There was no front matter.
        found = re.fullmatch(r"(\ufeff?)---(\r?\n)---\2\2(.*)", left, re.DOTALL)
        assert found is not None
        left = found[1] + found[3]
    if not MARKED_PART.search(before):
        # The section stands last, below an empty line.
        assert left.startswith(kept)
        assert left.rstrip("\r\n") == kept.rstrip("\r\n")
        kept = left
    assert left == kept


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


def lines(column: int = 2) -> str:
    """Return our two results by hand, dashes in a column."""
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
  - type: {metric["type"]}
    name: {metric["name"]}
    value: {metric["value"]}
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
    expected = f"license: mit  # c\nmodel-index:\n- name: org/name\n  results:\n{lines()}"
    assert merged_front("license: mit  # c\n") == expected


PLAIN = FOREIGN.replace("   # not the raw one", "")
PLAIN_INDENTED = """\
model-index:
- name: my-model
  results:
  - task:
      type: text-generation
    dataset:
      type: ai2_arc
      name: "AI2 Reasoning Challenge (25-Shot)"
      config: ARC-Challenge
      split: test
      args:
        num_few_shot: 25
    metrics:
    - type: acc_norm
      value: 59.81
      name: normalized accuracy
    source:
      url: https://huggingface.co/spaces/open-llm-leaderboard
      name: Open LLM Leaderboard
  - task: {type: text-generation}
    dataset: {type: hellaswag, name: HellaSwag}
    metrics: [{type: acc_norm, value: !!float '80'}]
"""
PLAIN_WIDE = """\
model-index:
- name: my-model
  results:
  - task:
      type: text-classification
    dataset:
      type: glue
      name: GLUE
      config: mnli
    metrics:
    - type: accuracy
      value: 0.83
"""


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        (FOREIGN, PLAIN),
        (INDENTED.partition("license")[0], PLAIN_INDENTED),
        (WIDE, PLAIN_WIDE),
        # What reads otherwise in other readers of YAML is written as it was.
        *(
            (PLAIN_WIDE.replace("0.83", value), PLAIN_WIDE.replace("0.83", value))
            for value in ("1e-5", "0123", "1_0", "'5'", "12.50", "~", "no", ".nan", "2024-01-01")
        ),
    ],
)
def test_new_results_follow_those_of_others(there: str, expected: str) -> None:
    found = merged_front(f"{there}\n# more\ntags: [a]\n")
    assert found == f"{expected}{lines()}\n# more\ntags: [a]\n"


@pytest.mark.parametrize(
    ("there", "before", "after"),
    [
        ("model-index:   # c\n# d\n- {name: org/name, results: []}\n", "   # c\n# d", ""),
        ("model-index:   # c\n- name: org/name\n  results:  # e\n# f\n", "   # c", "# f\n"),
        ("model-index: null   # c\n\n", "   # c", "\n"),
        ("model-index:   # c\n\n", "   # c", "\n"),
        ("model-index:\n# c\n", "", "# c\n"),
        ("model-index: [{name: org/name, results: []}]  # c\n", "  # c", ""),
        ("model-index: [{name: org/name, # d\n  results: []}\n  ]  # c\n", "  # c", ""),
        ("model-index:\n  []\n", "", ""),
        ("model-index: !!seq []\n", "", ""),
    ],
)
def test_comments_on_the_key_and_below_the_block_stay(there: str, before: str, after: str) -> None:
    for more in ("", "tags: [a]\n"):
        block = f"model-index:{before}\n- name: org/name\n  results:\n{lines()}{after}"
        assert merged_front(f"license: mit\n{there}{more}") == f"license: mit\n{block}{more}"


@pytest.mark.parametrize(
    "there",
    [
        "r: &r []\nmodel-index:\n- {name: a, results: *r}\nmore: *r\n",
        "i: &i\n- name: a\n  results: []\nmodel-index: *i\nmore: *i\n",
        "i: &i [{name: a, results: []}]\nmodel-index: *i  # c\n",
        "t: &t {type: x}\nmodel-index:\n- name: a\n  results:\n  - {task: *t, dataset: *t}\n"
        "  - task:\n      <<: *t\n      name: b\nmore: *t\n",
        "model-index:\n- name: a\n  results:\n  - dataset: &d {type: x}\n    task: *d\n",
    ],
)
def test_anchors_and_aliases_keep_their_values(there: str) -> None:
    before, after = yaml.safe_load(there), yaml.safe_load(merged_front(there))
    added = [r for entry in after["model-index"] for r in entry["results"] if r in RESULTS]
    assert added == RESULTS
    for entry in after["model-index"]:
        entry["results"] = [r for r in entry["results"] if r not in RESULTS]
    assert repr(after) == repr(before)
    assert BLOCK.sub("", merged_front(there)) == BLOCK.sub("", there)


def test_metrics_of_a_merged_mapping_make_room() -> None:
    name = "our older results shared with others"
    (entry,) = metadata(TEXTS[name])["model-index"]
    shared = yaml.safe_dump({"m": {"metrics": entry["results"][0]["metrics"]}})
    there = f"{shared.replace('m:', 'm: &m', 1)}model-index:\n- name: org/name\n  results:\n"
    there += "  - <<: *m\n    dataset: {type: nyu-mll/crows_pairs, config: crows_pairs-en}\n"
    (entry,) = yaml.safe_load(merged_front(there))["model-index"]
    assert [m["value"] for m in entry["results"][0]["metrics"]] == [1, 2]
    assert entry["results"][1:] == RESULTS


@pytest.mark.parametrize("style", ["|", "|+", "|-", ">", ">+", ">-"])
def test_a_text_of_lines_at_the_end_keeps_its_lines(style: str) -> None:
    there = f"{PLAIN}      name: {style}\n        two\n\n        lines\n\n\n"
    for more in ("", "# c\n", "license: mit\n"):
        found = merged_front(there + more)
        (entry,) = yaml.safe_load(found)["model-index"]
        (theirs,) = yaml.safe_load(there)["model-index"]
        assert entry["results"] == [*theirs["results"], *RESULTS]
        assert found.endswith(f"{lines()}\n\n{more}")


def test_our_older_result_makes_room_where_it_stands() -> None:
    first, second = (f"  - task:\n{part}" for part in lines().split("  - task:\n")[1:])
    begin, wikitext, _, other = OURS.split("  - task:\n")
    other, tags, end = other.partition("tags:")
    expected = f"{begin}  - task:\n{wikitext}{first}  - task:\n{other}{second}{tags}{end}"
    assert merged_front(OURS) == expected


def test_the_metrics_of_others_in_one_result_with_ours_stay() -> None:
    first, second = (f"  - task:\n{part}" for part in lines().split("  - task:\n")[1:])
    cut = MIXED.replace("    - type: stereotype_preference\n      value: 66.6\n", "")
    before, task, after = cut.replace("   # by hand", "").rpartition("  - task:\n")
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
    theirs = "model-index:\n# theirs\n- name: org/name\n  results:\n"
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
        ("model-index: [&e {name: a, results: []}]\nmore: *e\n", "undefined alias"),
        ("e: &e 1\nmodel-index: [&e {name: a, results: []}]\nmore: *e\n", "second occurrence"),
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
    *("model-index: []\n", "z: &z {a: 1}\n", "y: 'q'  # c\n", f"model-index: {JSON}  # c\n"),
    "r: &r {task: {type: t}, dataset: {type: d, name: D}, metrics: []}\nmodel-index:  # d\n"
    "  - {name: my, results: [*r]}\n",
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
    if any(piece.strip() for piece in pieces):
        left, kept = (outside(text.decode()) for text in (once, readme))
        assert left.startswith(kept)
        assert left[len(kept) :].strip() == ""
    # Scores that are gone leave what is not ours.
    assert outside(merged(once, SECTION, []).decode()) == outside(once.decode())
