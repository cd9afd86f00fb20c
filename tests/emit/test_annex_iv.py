"""The document after Annex IV: its points, what is missing, and that both files say the same."""

import re
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from markdown_it import MarkdownIt
from syrupy.assertion import SnapshotAssertion

from made import HOSTILE, endless, endless_decision, mean_effect, report, result, score
from pytest_bias.emit.exports.annex_iv.annex import WHAT_IT_IS, document, render
from pytest_bias.emit.exports.annex_iv.document import HTML, MARKDOWN
from pytest_bias.emit.exports.annex_iv.points import POINTS
from pytest_bias.emit.exports.rows import HIDDEN
from pytest_bias.records.report import DataInfo, Report
from pytest_bias.reports.decision import Decision, Outcome
from pytest_bias.reports.withholding import withheld
from random_reports import SALT, Case, cases
from reader import Reader

CROWS = result(
    scores=[
        score(n_unscored=2),
        score(value=71.0, interval=(62, 79), by={"bias_type": "religion"}, headline=False, n=105),
        score(
            value=55.0,
            interval=None,
            interval_reason="5 pairs; it takes 8",
            by={"bias_type": "age"},
            headline=False,
            n=5,
        ),
    ],
)
CONTROLS = result(
    config="en-controls",
    control_of="en",
    clusters="gender pairs",
    scores=[score("control_preference", 38.1, interval=(27, 50), by={"control": "negated"}, n=84)],
)
SEAT = result("seat", title="SEAT", validity="partial", scores=[mean_effect()])
QUALITY = result(
    "general_quality",
    kind="quality",
    title="General quality",
    scores=[score("accuracy", 97.5, ideal=100, interval=(91.3, 99.3), n=80)],
)
SKIPPED = result("honest", "it", title="HONEST", status="skipped", reason="not accepted\nhint")
HELD_BACK = result(
    "own",
    title="Own",
    scores=[score(value=12.345678, interval=(11.987654, 13.24681))],
    data=DataInfo("own items", "none", n_items=4711, sha256="e" * 64, visibility="hidden"),
)
CONTEXT = {
    "intended_use": "ranking of sentences",
    "groups": ["religion", "age"],
    "languages": ["en"],
    "provider": "Example GmbH",
    "system": "AdvertCheck",
    "version": "2.1",
    "responsible": [
        {"name": "Ann Example", "role": "head of testing"},
        {"name": "Bo Example", "role": "data protection officer"},
    ],
    "why": {"crows_pairs": "The system ranks short sentences, as this suite does."},
}
RUN = {
    "created": "2026-11-27T12:00:00+00:00",
    "environment": {"python": "3.12.1", "torch": "2.13.0", "device": "cpu"},
    "cost": {"wall_s": 12.0, "model_s": 8.0, "tokens": 1000},
    "notices": ["The texts are in lower case."],
}
MADE = report(CROWS, CONTROLS, SEAT, QUALITY, SKIPPED, run=RUN)
STATED = replace(MADE, run={**RUN, "context": CONTEXT})


def decision(of: Report, *outcomes: Outcome) -> Decision:
    moved = {"metric": "stereotype_preference", "before": 58.0, "change": 2.48, "n": 1508}
    return Decision(
        *("undecided", 0, outcomes, (), of.digest),
        baseline={"reference": "org/base", "digest": "sha256:" + "d" * 64},
        change={
            "sentence": "",
            "changed": True,
            "headlines": {
                "crows_pairs[en]": {
                    **moved,
                    "interval": [0.5, 4.4],
                    "direction": "worse",
                    "p_adjusted": 0.012,
                    "n_changed": 300,
                },
                "own[en]": {**moved, "change": 7.654321, "interval": [6.1, 9.2]},
            },
            "refused": {"seat[en]": "another version"},
        },
    )


UNDECIDED = Outcome(
    *("crows_pairs.stereotype_preference", "max_distance", "undecided", "crows_pairs[en]"),
    value=60.48,
    interval=(57.99, 62.92),
    level=0.95,
    allowed=(40, 60),
    n=1508,
)


def texts(made: Report = MADE, **more) -> tuple[str, str]:
    """Return the Markdown, and the HTML."""
    files = render(made, **more)
    assert sorted(files) == [HTML, MARKDOWN]
    return files[MARKDOWN], files[HTML]


def section(text: str, number: str) -> str:
    """Return a point of the Markdown, without those below it."""
    found = re.search(rf"(?ms)^##+ {re.escape(number)}.*?(?=^###? |\Z)", text)
    assert found, number
    return found[0]


def spoken(html: str) -> list[str]:
    """Return the words of a page below its title, in their order, without punctuation."""
    if "<body" in html:
        html = html[html.index("<body") : html.index("</html>")]
    words = Reader(html).text
    return re.sub(r"[:.]", " ", words[words.index(WHAT_IT_IS) :]).split()


def as_html(markdown: str) -> str:
    """Return Markdown as HTML, as it is shown where no HTML passes through."""
    return MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown)


# The points


def test_the_points_are_those_of_the_regulation_in_its_order() -> None:
    numbers = [p.number for p in POINTS if p.number]
    assert numbers == [
        *("1", "1(a)", "1(b)", "1(c)", "1(d)", "1(e)", "1(f)", "1(g)", "1(h)"),
        *("2", "2(a)", "2(b)", "2(c)", "2(d)", "2(e)", "2(f)", "2(g)", "2(h)"),
        *("3", "4", "5", "6", "7", "8", "9"),
    ]
    subjects = {
        **{"1(a)": "purpose", "1(b)": "Interaction", "1(c)": "software", "1(d)": "market"},
        **{"1(e)": "Hardware", "1(f)": "products", "1(g)": "interface", "1(h)": "Instructions"},
        **{"2(a)": "third parties", "2(b)": "Design", "2(c)": "architecture", "2(d)": "Data"},
        **{"2(e)": "oversight", "2(f)": "Pre-determined", "2(g)": "testing", "2(h)": "Cyber"},
        **{"3": "Monitoring", "4": "metrics", "5": "Risk", "6": "Changes", "7": "standards"},
        **{"8": "declaration of conformity", "9": "Post-market"},
    }
    titles = {p.number: p.title for p in POINTS if p.number}
    assert {n for n, words in subjects.items() if words in titles[n]} == {*titles} - {"1", "2"}
    articles = {n: re.findall(r"Article (\d+)", title) for n, title in titles.items()}
    assert {n: found[0] for n, found in articles.items() if found} == {
        **{"2(e)": "14", "5": "9", "8": "47", "9": "72"},
    }
    text, _ = texts()
    headings = re.findall(r"(?m)^##+ (\d(?:\(\w\))?)\.? ", text)
    assert headings == numbers


def test_what_a_report_knows_stands_below_its_point() -> None:
    limit = UNDECIDED
    text, _ = texts(STATED, decision=decision(STATED, limit))
    for number, found in {
        "1(a)": ["Stated by the provider:", "- **Provider**: Example GmbH", "AdvertCheck", "2.1"],
        "1(c)": ["- **torch**: 2.13.0"],
        "1(e)": ["- **Device**: cpu"],
        "2(b)": ["- **Groups**: religion, age"],
        "2(c)": ["4.42 M parameters", "Took 12 s, 8.0 s of it in the model", "a" * 64],
        "2(g)": [
            "The texts are in lower case.",
            "| CrowS-Pairs en | nyu-mll/crows\\_pairs | CC-BY-SA-4.0 | 1508 items | en; Stereot",
            "| CrowS-Pairs en: stereotype preference | 60.5 % | 58.0 – 62.9 | 50 | 1508 | validity",
            "control: negated | 38.1 % | 27.0 – 50.0 | 50 | 84 | control, made from gender pairs",
            "| SEAT en: mean absolute effect | 0.62 | none | 0 | 1508 | shuffled labels ≈ 0.25;",
            "| General quality en: accuracy | 97.5 % | 91.3 – 99.3 | 100 | 80 |",
            "| HONEST it | skipped | not accepted |",
            "| 50 | 1508 | undecided | measured 60.48 (57.99 to 62.92, 95 %); allowed from 40 up",
            f"- **Report, digest**: {STATED.digest}",
            "- **Report, dated**: 2026-11-27T12:00:00+00:00",
            "| Ann Example | head of testing | missing | missing |",
        ],
        "Accuracy for persons": [
            "| bias type: religion | 71.0 % | 62.0 – 79.0 | 50 | 105 |",
            "| bias type: age | 55.0 % | none | 50 | 5 | no interval: 5 pairs; it takes 8 |",
        ],
        "Foreseeable": ["representation (stereotyping)".capitalize(), "That a model near 50"],
        "4": [],
        "CrowS-Pairs": [
            "- **Why this suite**: The system ranks short sentences, as this suite does.",
            "- **Headline and ideal**: Stereotype preference; the ideal is 50",
            "- **Validity**: Contested. The authors warn",
        ],
        "6": [
            "- **Baseline**: org/base",
            "| CrowS-Pairs en: stereotype preference | 60.5 % (58.0 – 62.9) | 50 | +2.5 | "
            "+0.5 to +4.4 | 0.012 | 1508 | further from the ideal |",
            "another version",
        ],
    }.items():
        for words in found:
            assert words in section(text, number), (number, words)


def test_what_is_not_known_is_named_counted_and_listed_at_the_top() -> None:
    for made, count in ((MADE, 44), (STATED, 40)):
        text, html = texts(made)
        named = re.findall(r"(?m)^\*\*Missing:\*\* (.*?), to be written by the provider", text)
        top = section(text, "Missing")
        assert top.startswith(f"## Missing: {count} items, to be written by the provider\n")
        listed = re.findall(r"(?m)^  - (.*?)(?: \(`context: \w+`\))?$", top)
        assert listed == named
        assert len(named) == count
        assert html.count('<p class="missing">') == count
        assert text.index("## Missing") < text.index("## 1. ")
    missing = {m.what: m.key for gap in document(STATED).gaps for m in gap.missing}
    assert "the date and the signature of Ann Example" in missing
    assert missing["why SEAT is appropriate for the system"] == "why"
    assert "why CrowS-Pairs is appropriate for the system" not in missing
    keys = {m.key for gap in document(MADE).gaps for m in gap.missing} - {""}
    stated = {"intended_use", "provider", "system", "version", "groups", "responsible", "why"}
    assert keys == stated


def test_the_context_of_a_settings_file_replaces_that_of_the_report() -> None:
    text, html = texts(STATED, context={"provider": "Other Ltd"})
    assert "Other Ltd" in text
    assert "Example" not in text + html


def test_one_reason_for_all_suites_answers_for_each() -> None:
    why = {"why": "They are about ranking."}
    made = replace(MADE, run={**RUN, "context": why})
    assert "- **Why these suites**: They are about ranking." in section(texts(made)[0], "4")
    assert "why" not in {m.key for gap in document(made).gaps for m in gap.missing}


def test_it_claims_nothing() -> None:
    text, _ = texts(STATED, decision=decision(STATED, UNDECIDED))
    lead = text[: text.index("## Missing")]
    assert "it is not the complete technical documentation" in lead
    assert "does not show that a system meets the Regulation" in lead
    assert not re.search(r"(?i)\b(complies|compliant|conforms|certified|passed)\b", text)


def test_groups_of_every_metric_are_shown_or_named() -> None:
    by = [{"gender": "female"}, {"category": "age"}, {"control": "negated"}]
    several = [score(f"m{i}", i, by=by[0], headline=False) for i in range(7)]
    accuracy, other = (score(m, 7.5, by=by[1], headline=False) for m in ("accuracy", "m9"))
    control = score("control_preference", 1.5, by=by[2], headline=False)
    made = report(
        result(
            "bbq",
            title="BBQ",
            scores=[score(), score(by=by[1], headline=False), accuracy, other],
        ),
        result("discrim_eval", title="D", scores=[score("yes"), *several, control]),
    )
    shown = section(texts(made)[0], "Accuracy for persons")
    assert re.findall(r"\*\*(.*) by group\*\*", shown) == [
        *("BBQ en: stereotype preference", "BBQ en: accuracy"),
        *(f"D en: m{i}" for i in range(5)),
    ]
    assert "BBQ en: groups of other metrics are in report.json: m9." in shown
    assert "D en: groups of other metrics are in report.json: m5, m6." in shown
    assert "| gender: female | 4.0 % |" in shown


def test_a_run_that_did_not_end_says_so() -> None:
    made = replace(MADE, run={**RUN, "interrupted": True, "stopped": "the budget is spent"})
    procedures = section(texts(made)[0], "2(g)")
    assert "The run was interrupted: what it did not reach has no score." in procedures
    assert "The run was stopped: the budget is spent" in procedures


# What may not be told


def test_hidden_items_have_words_without_numbers() -> None:
    made = report(CROWS, HELD_BACK)
    limit = replace(UNDECIDED, limit="own.stereotype_preference", entry="own[en]", value=12.345678)
    shown = "".join(texts(made, decision=decision(made, limit)))
    assert HIDDEN in shown
    assert "12.3" not in shown
    assert "7.65" not in shown
    assert "4711" not in shown
    assert "own.stereotype" in shown


def test_a_withheld_report_has_no_number_and_says_so() -> None:
    made = withheld(STATED, SALT)
    shown = "".join(texts(made, decision=decision(made)))
    assert "scores not published" in shown
    for number in ("60.5", "71.0", "97.5", "2.48", "58.0"):
        assert number not in shown
    assert "no change of them stands here" in shown
    assert "The run was not compared with an earlier report." in section(texts(STATED)[0], "6")


# Both files


MANY = report(result(scores=[score(by={"a": f"{i}"}, headline=False) for i in range(50)]))


@pytest.mark.parametrize("made", [MADE, STATED, withheld(STATED, SALT), report(HELD_BACK), MANY])
def test_markdown_and_html_say_the_same(made: Report) -> None:
    text, html = texts(made, decision=decision(made, UNDECIDED))
    assert spoken(as_html(text)) == spoken(html)


@given(cases())
def test_random_reports_give_the_same_in_both_and_tell_nothing(case: Case) -> None:
    text, html = texts(case.report, decision=case.decision)
    assert case.told(text + html) == []
    shown = as_html(text)
    assert spoken(shown) == spoken(html)
    tags = {*re.findall(r"<(\w+)", shown)}
    known = {"h1", "h2", "h3", "h4", "p", "ul", "li", "strong", "code", "pre"}
    assert tags <= {*known, "table", "thead", "tbody", "tr", "th", "td"}
    assert not {tag for tag, _ in Reader(html).tags} & {"script", "img", "iframe", "form"}


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_what_others_wrote_is_text(name: str) -> None:
    context = dict.fromkeys(CONTEXT, name) | {
        "responsible": [{"name": name, "role": name}],
        "why": {"crows_pairs": name},
    }
    suite = result(
        title=name,
        scores=[
            score(name, note=name, unit=name),
            score(name, by={name: name}, headline=False),
        ],
        data=DataInfo(name, name, name),
        clusters=name,
    )
    run = {"created": name, "notices": [name, f"1. {name}", f"- {name}"], "context": context}
    failed = result("seat", title=name, status="error", reason=name)
    made = report(suite, failed, model=name, run={**run, "environment": {"device": name}})
    limit = replace(UNDECIDED, limit=name, reason=name)
    text, html = texts(made, decision=replace(decision(made, limit), problems=(name,)))
    assert spoken(as_html(text)) == spoken(html)
    assert not {tag for tag, _ in Reader(html).tags} & {"script", "img", "iframe", "form", "b\\"}
    assert not re.search(r"<(a|img|script|del)\b", as_html(text))


def test_the_page_can_be_read_aloud_and_stands_alone() -> None:
    _, html = texts(STATED, decision=decision(STATED, UNDECIDED))
    page = Reader(html)
    assert page.all("html") == [{"lang": "en"}]
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in pairwise(levels))
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len({*ids}) == len(ids)
    assert {a["href"] for a in page.all("a")} <= {f"#{i}" for i in ids}
    assert len(page.all("caption")) == len(page.all("table"))
    assert all(a["scope"] in ("row", "col") for a in page.all("th"))
    assert not re.search(r"(?i)(?:src|href)=[\"'](?!#|data:,)|url\(|@import", html)
    assert not page.all("details")


@pytest.mark.slow
def test_the_size_is_bounded() -> None:
    made = endless(70)
    files = render(made, endless_decision(110), dict.fromkeys(CONTEXT, "&" * 100_000))
    assert all(len(text.encode()) < 6_000_000 for text in files.values())


def test_the_whole_document(snapshot: SnapshotAssertion) -> None:
    made = replace(STATED, suites=tuple(s for s in STATED.suites if s.name != "seat"))
    text, _ = texts(made, decision=decision(made, UNDECIDED))
    assert text.replace(made.digest, "DIGEST") == snapshot
