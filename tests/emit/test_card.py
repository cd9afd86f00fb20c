"""The section of a model card: what a reader sees, and what no name can do to it."""

import re
import shlex
from dataclasses import replace
from typing import Any

import pytest
from markdown_it import MarkdownIt
from syrupy.assertion import SnapshotAssertion

from made import HOSTILE, endless, mean_effect, report, result, score
from pytest_bias.emit.badges import badges
from pytest_bias.emit.card import section as card
from pytest_bias.emit.card.readme import BEGIN, END, merged
from pytest_bias.records.report import Report, SuiteResult, Withheld
from pytest_bias.reports.publication_layout import Place, PublicationStatus, Rerun
from pytest_bias.suites.catalogue import installed

CROWS = result(
    scores=[
        score(n_unscored=2),
        score(value=71.0, interval=(62, 79), by={"bias_type": "religion"}, headline=False, n=105),
        score(value=55.0, interval=(50, 60), by={"bias_type": "age"}, headline=False, n=87),
    ],
)
CONTROLS = result(
    config="en-controls",
    control_of="en",
    clusters="gender pairs",
    scores=[
        score("control_preference", 38.1, interval=(27, 50), by={"control": "negated"}),
        score("original_preference", 50.8, by={"control": "negated"}),
    ],
)
SEAT = result(
    "seat",
    title="SEAT",
    adapted=True,
    validity="partial",
    sampled=16,
    n_available=2216,
    scores=[mean_effect()],
)
WINO = result(
    "winobias",
    kind="downstream",
    title="WinoBias",
    scores=[score("gap", 4.0, ideal=0, interval=(2.4, 5.8), n=1564)],
)
QUALITY = result(
    "general_quality",
    kind="quality",
    title="General quality",
    scores=[
        score("perplexity", 20.0, ideal=1, unit=""),
        score("repeated", 3.0, ideal=0, headline=False),
    ],
)
SKIPPED = result("honest", "it", title="HONEST", status="skipped", reason="licence | not accepted")
FAILED = result(
    "redditbias",
    status="error",
    title="RedditBias",
    reason="prompts.jsonl is not in /home/ann/bias data/p/prompts.jsonl or C:\\Users\\ann\\x.txt "
    "or /home/ann",
)
UNFIT = result("bbq", status="not_applicable", title="BBQ", reason="needs questions answered")
MADE = report(
    *(CROWS, CONTROLS, SEAT, WINO, QUALITY, SKIPPED, FAILED, UNFIT),
    coverage={
        "languages": ["en"],
        "social_suites": ["crows_pairs", "seat", "winobias", "stereoset", "redditbias"],
    },
)
HUB = Place.on_hub("org/name", MADE)


def shown(made: Report = MADE, **more: Any) -> str:
    """Render to HTML as the Hub would, with HTML passed through."""
    markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
    return markdown.render(card.section(made, Place.on_hub("org/name", made), **more))


def cells(html: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", html, re.DOTALL)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]


# What it shows


def test_it_stands_between_the_markers() -> None:
    lines = card.section(MADE, HUB).split("\n")
    assert (lines[0], lines[-1]) == (BEGIN, END)
    assert not re.search(r"\n\n\n|[ \t]\n", card.section(MADE, HUB))


CONTEXT = {
    "languages": ["en", "it"],
    "region": "EU",
    "intended_use": "a help *desk*",
    "groups": ["religion"],
}
PINNED = replace(MADE, model=replace(MADE.model, revision="a" * 40, weights_sha256="b" * 64))
SEALED = report(
    result(status="withheld"),
    result("seat", title="SEAT", status="withheld"),
    withheld=Withheld(f"sha256:{'1' * 64}", finite=True),
)
STATES = {
    "all": (PINNED, {"context": CONTEXT, "standing": PublicationStatus(stale=True)}),
    "nothing downstream": (report(CROWS), {}),
    "withheld": (SEALED, {}),
    "nothing": (report(), {}),
}


@pytest.mark.parametrize("state", STATES)
def test_all_that_a_report_says_is_in_its_card(state: str, snapshot: SnapshotAssertion) -> None:
    made, more = STATES[state]
    text = card.section(made, Place.on_hub("org/name", made), **more)
    assert len(made.digest) == 71
    for digest, word in ((made.digest, "DIGEST"), (made.digest[7:19], "SHORT")):
        text = text.replace(digest, word)
    assert text == snapshot


def test_every_badge_is_a_link_to_the_report_and_says_its_words() -> None:
    html = shown()
    report_at = f"https://huggingface.co/org/name/blob/main/bias/{MADE.digest[7:19]}/report.json"
    found = re.findall(r'<a href="(.*?)"><img src="(.*?)" alt="(.*?)" /></a>', html)
    root = "https://huggingface.co/org/name/resolve/main/bias/badges"
    expected = [
        (report_at, f"{root}/{b.name}.svg", f"{b.label}: {b.message}") for b in badges(MADE)
    ]
    assert len(expected) >= 5
    assert found == expected


def test_of_many_suites_six_have_a_badge() -> None:
    many = [
        result(name, "en", [score()], title=name)
        for name in [s.name for s in installed() if s.name != "structure"][:9]
    ]
    text = card.section(report(*many), HUB)
    assert text.count("[![") == 2 + 6
    assert "and 3 more in the tables below" in text


def test_no_path_of_its_author_is_in_it() -> None:
    text = card.section(MADE, HUB)
    assert "prompts.jsonl is not in" in text
    assert not re.search(r"ann|home|Users", text.partition("Not measured")[2].partition("BBQ")[0])


# What holds of it now


def test_commands_name_no_model_of_the_hub_for_a_folder() -> None:
    """By the name of the folder readers would ask about somebody else's model."""
    made = replace(MADE, model=replace(MADE.model, reference="model"))
    for place in (Place.in_repository(made), Place.beside(made)):
        text = card.section(made, place)
        assert "\npytest-bias verify .\npytest-bias reproduce .\n" in text
        assert "# and in the folder of the model" in text


@pytest.mark.parametrize(
    ("rerun", "words"),
    [
        (
            Rerun("org-b", 6, 6, signed=True),
            "Re-run by org-b, who is neither author nor owner of the model: 6 of 6 suites agree "
            "within the tolerance of their measures.",
        ),
        (
            Rerun("org-b", 4, 6, 2),
            "Re-run by org-b, whose identity is not verified: 4 of 6 suites agree within the "
            "tolerance of their measures, 2 more, of sampled texts, within a stated margin.",
        ),
    ],
)
def test_what_came_of_a_second_run(rerun: Rerun, words: str) -> None:
    assert words in shown(standing=PublicationStatus(rerun=rerun))
    assert "alidated" not in shown(standing=PublicationStatus(rerun=replace(rerun, signed=False)))


# What the model is for


def remarks(html: str) -> dict[str, str]:
    return {re.sub("<.*?>", " ", row[0]).split("  ")[0].strip(): row[-1] for row in cells(html)}


def in_context(suites: tuple[SuiteResult, ...] = (), **context: Any) -> str:
    return shown(report(*(suites or (CROWS, WINO))), context=context)


def test_the_context_of_the_run_is_taken_where_none_is_given() -> None:
    made = replace(MADE, run={**MADE.run, "context": {"region": "EU"}})
    assert "<li>Region: EU</li>" in shown(made)
    assert "<li>Region: US</li>" in shown(made, context={"region": "US"})


def test_who_is_responsible_and_why_these_suites_is_said() -> None:
    people = [{"name": "Ann | Example", "role": "testing"}, {"name": "Bo", "role": "<b>law</b>"}]
    html = in_context(
        system="AdvertCheck", version="2.1", responsible=people, why={"winobias": "It fits."}
    )
    for line in (
        "System: AdvertCheck",
        "Version of the system: 2.1",
        "Responsible for the tests: Ann | Example (testing); Bo (&lt;b&gt;law&lt;/b&gt;)",
        "Why these suites: winobias: It fits.",
    ):
        assert f"<li>{line}</li>" in html
    assert "<li>Why these suites: They fit.</li>" in in_context(why="They fit.")


STRANGE = ({"responsible": [5, {"role": "x"}, None, {"name": []}], "why": [{}]}, {"why": {"a": {}}})


@pytest.mark.parametrize(
    "context", [5, "en", [], {"languages": 5, "groups": None}, {"x": {}}, *STRANGE]
)
def test_a_context_that_is_none_does_no_harm(context: Any) -> None:
    shown(replace(MADE, run={**MADE.run, "context": context}))


def test_a_suite_in_another_language_is_marked() -> None:
    found = remarks(in_context(languages=["it"]))
    assert (
        found["CrowS-Pairs en"]
        == "contested, 2 unscored, outside this model's context: language en"
    )
    assert "outside" not in remarks(in_context(languages=["en-GB"]))["CrowS-Pairs en"]
    assert "outside" not in remarks(in_context(region="EU"))["CrowS-Pairs en"]


@pytest.mark.parametrize(
    ("groups", "name", "outside"),
    [
        (["religion"], "winobias", True),
        (["religion"], "crows_pairs", False),
        (["gender"], "winobias", False),
        (["religion", "Gender"], "winobias", False),
        (["religion"], "redditbias", False),
        (["sexual orientation"], "redditbias", False),
        (["race"], "crows_pairs", False),
        (["nationality"], "choenni_stereotypes", False),
        (["caste"], "hatecheck", False),
        (["caste"], "winobias", True),
        (["left-handed people"], "winobias", False),
        (["left-handed people", "religion"], "winobias", False),
        (["religion"], "realtoxicityprompts", False),
        (["religion"], "not_installed", False),
    ],
)
def test_a_suite_about_other_groups_is_marked_where_that_can_be_told(
    groups: list[str], name: str, outside: bool
) -> None:
    html = in_context((result(name, title="T", scores=[score()]),), groups=groups)
    assert ("outside this model's context: other groups" in remarks(html)["T en"]) == outside


def test_a_group_that_no_suite_here_is_about_is_named() -> None:
    html = in_context(groups=["gender", "caste", "left-handed people"])
    assert "<strong>Groups without a suite here: caste.</strong>" in html


# Names that are not to be trusted


EVIL = {
    **HOSTILE,
    "end marker": f"x\n{END}\n{BEGIN}",
    "link": "[a](https://evil.example) ![b](https://evil.example/x.svg) <https://evil.example>",
    "bare link": "see https://evil.example and www.evil.example",
    "fence": "```\n\n# out\n\n```",
    "cell": "a | b || c \\| d",
    "details": "</details></summary></td></table>",
    "shell": "org/name; rm -rf ~ `id` $(id) '\"",
}


@pytest.mark.parametrize("name", EVIL)
def test_hostile_names_stay_words(name: str) -> None:
    text = EVIL[name]
    hostile = result(
        title=text,
        validity=text,
        clusters=text,
        scores=[
            score(text, unit=text),
            *(score(text, v, by={text: f"{v}{text}"}, headline=False, unit=text) for v in (1, 2)),
        ],
    )
    failed = result("seat", status="error", title=text, reason=text)
    made = report(
        *(hostile, failed),
        model=text,
        tool={"name": text, "version": text},
        coverage={"languages": [text], "social_suites": ["crows_pairs", "seat", text]},
        run={"created": text, "context": {k: [text] for k in ("languages", "region", "groups")}},
        sealed=text,
    )
    made = replace(made, model=replace(made.model, revision=text, dtype=text, weights_sha256=text))
    place = Place.on_hub(text, made)
    standing = PublicationStatus(stale=True, rerun=Rerun(text, 1, 1))
    section = card.section(made, place, standing)
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(section)
    tags = set(re.findall(r"<\s*([a-zA-Z/!][\w-]*)", html))
    known = {"h2", "h3", "p", "a", "strong", "em", "blockquote", "ul", "li", "pre", "code"}
    known |= {"table", "thead", "tbody", "tr", "th", "td", "details", "summary"}
    assert {t.strip("/") for t in tags} <= {*known, "br", "img", "!--"}
    hosts = set(re.findall(r'(?:href|src)="(\w+://[^/"]*|[^"/]*)', html))
    assert hosts == {"https://huggingface.co"}
    assert html.count("<details>") == html.count("</details>")
    assert re.findall(r"<h[23]>(.*?)</h[23]>", html)[0] == "Social-bias tests"
    assert "out" not in re.findall(r"<h\d>(.*?)</h\d>", html)
    widths = {len(row) for row in cells(html)}
    assert widths == {6}
    # The one pair of markers, so that it can be merged.
    after = merged(b"# A\n", section, [])
    assert merged(after, section, []) == after
    command = re.search(r"^pytest-bias verify (.*)$", section, re.MULTILINE)
    assert command
    assert len(shlex.split(command[1])) == 1


def test_it_has_an_end_whatever_there_is() -> None:
    made = endless(300, 2000)
    section = card.section(made, Place.on_hub("org/name", made))
    assert len(section.encode()) < 400_000
    assert "more in report.json" in section
