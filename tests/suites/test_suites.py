"""Choosing suites by name, configuration, tag and language; suites of other packages."""

import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from bias_suites import SUITES
from bias_suites.scope import scope_card
from pytest_bias.cli.screens.scope import show_card, show_list
from pytest_bias.emit.badges import FORMATS
from pytest_bias.errors import UnknownName, UsageError
from pytest_bias.models.interface import Capability
from pytest_bias.suites import find
from pytest_bias.suites.catalogue import INSTALLED, installed
from pytest_bias.suites.scope_cards import FIELDS, MOST_IN_SHORT, VALIDITY, says_nothing
from pytest_bias.suites.suite import STRUCTURE, Suite

UNITS = ("%", "points", "valence points", "nats", "nats/char", "bits", "d", "")
BY_NAME = pytest.mark.parametrize("suite", SUITES, ids=lambda s: s.name)

SOCIAL = {
    *("crows_pairs", "stereoset", "seat", "template_association", "gendered_pair_entropy"),
    *("honest", "classified_completions", "choenni_stereotypes", "redditbias"),
    *("realtoxicityprompts", "bold", "winobias", "winogender", "bbq", "hatecheck"),
    *("identity_terms", "equity_evaluation", "discrim_eval", "gest"),
}
"""Every social-bias suite that this project promises."""

ROBUSTNESS = {
    *("perturbation", "structured_noise", "domain_shift", "hans", "mnli_negation", "anli", "paws"),
    *("fever_symmetric", "imdb_contrast", "answer_shortcuts"),
}
"""Every robustness suite that this project promises."""


def chosen(*words: str, languages: tuple[str, ...] = ("en",)) -> dict[str, bool]:
    """Return the entries by id, with whether each was named."""
    return {e.id: e.named for e in INSTALLED.select(words, languages)}


def test_without_words_every_suite_in_the_language_is_meant():
    found = chosen()
    assert {e.partition("[")[0] for e in found} == {
        *(*SOCIAL, *ROBUSTNESS - {"domain_shift"}, "structure", "general_quality"),
    }
    assert not any(found.values())
    of_crows = [e for e in found if e.startswith(("crows", "seat", "template"))]
    assert of_crows == [
        "crows_pairs[en]",
        "crows_pairs[en-controls]",
        "template_association[en]",
        "seat[en]",
        "seat[en-published]",
    ]


def test_a_name_means_its_configurations_in_the_language_and_names_the_first():
    assert chosen("gendered_pair_entropy") == {
        "gendered_pair_entropy[en]": True,
        "gendered_pair_entropy[en-wikitext2]": False,
    }
    assert chosen("crows_pairs", languages=("fr", "nl")) == {
        "crows_pairs[fr]": True,
        "crows_pairs[nl]": False,
    }


def test_a_configuration_in_brackets_is_meant_whatever_the_language():
    assert chosen("crows_pairs[fr]") == {"crows_pairs[fr]": True}
    assert chosen("crows_pairs[en-revised]") == {"crows_pairs[en-revised]": True}


@pytest.mark.parametrize("language", ["fr", "de"])
def test_a_draft_runs_only_when_it_is_named(language):
    entry = f"template_association[{language}]"
    assert chosen(entry) == {entry: True}
    assert entry not in chosen(languages=(language,))
    assert entry not in chosen("@templates", languages=(language,))
    with pytest.raises(UsageError, match="is a draft that no native reader has reviewed") as caught:
        chosen("template_association", languages=(language,))
    assert caught.value.hint == f"--suite '{entry}'"


def test_what_runs_only_when_named_is_passed_over():
    assert "crows_pairs[en-revised]" not in chosen("crows_pairs") | chosen() | chosen("@social")


@pytest.mark.parametrize(
    ("tag", "names"),
    [
        ("@crowdsourced", {"crows_pairs", "stereoset"}),
        ("@word-lists", {"seat"}),
        ("@coreference", {"winobias", "winogender"}),
        ("@social-media", {"redditbias", "realtoxicityprompts"}),
        ("@social", SOCIAL),
    ],
)
def test_a_tag_means_the_suites_that_bear_it(tag, names):
    found = chosen(tag)
    assert {e.partition("[")[0] for e in found} == names
    assert not any(found.values())


def test_an_entry_comes_once_and_stays_named():
    assert chosen("@social", "crows_pairs", "crows_pairs[en]")["crows_pairs[en]"] is True
    assert chosen("crows_pairs[en]", "@social")["crows_pairs[en]"] is True
    assert list(chosen("seat", "crows_pairs", "seat")) == [
        "crows_pairs[en]",
        "crows_pairs[en-controls]",
        "seat[en]",
        "seat[en-published]",
    ]


def test_structure_comes_first_in_any_language():
    assert next(iter(chosen("seat", "structure"))) == "structure[all]"
    assert chosen("structure", languages=("xx",)) == {"structure[all]": True}


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("crow_pairs", "suite 'crow_pairs' is not known. Did you mean 'crows_pairs'? Known: struc"),
        ("zzz", "suite 'zzz' is not known. Known: structure, crows_pairs"),
        ("crow_pairs[en]", "Did you mean 'crows_pairs'?"),
        ("@tempates", "tag '@tempates' is not known. Did you mean '@templates'?"),
        ("@", "tag '@' is not known. Known: @coreference, @crowdsourced"),
        ("crows_pairs[en-revized]", "'en-revized' is not known. Did you mean 'en-revised'?"),
        ("crows_pairs[]", "configuration of crows_pairs '' is not known. Known: en, en-revised"),
        ("", "suite '' is not known"),
    ],
)
def test_a_wrong_word_is_answered_with_the_nearest(word, message):
    with pytest.raises(UnknownName) as caught:
        chosen(word)
    assert message in caught.value.message


def test_the_command_that_lists_suites_is_named():
    with pytest.raises(UnknownName) as caught:
        chosen("zzz")
    assert "pytest-bias suites lists them" in caught.value.hint


def test_a_named_suite_that_does_not_speak_the_language_is_an_error():
    with pytest.raises(UsageError, match="seat has nothing in fr, xx; it is in en") as caught:
        chosen("seat", languages=("fr", "xx"))
    assert caught.value.hint == "--language en"


@pytest.mark.parametrize("words", [(), ("@social",)], ids=str)
def test_a_language_that_no_suite_speaks_is_an_error(words):
    from pytest_bias.engine.planning import describe_for, plan
    from pytest_bias.settings.settings import Settings

    settings = Settings(suites=words, languages=("xx",))
    with pytest.raises(UsageError, match="xx"):
        plan(describe_for(settings, "demo"), settings)


@pytest.mark.parametrize(
    ("profile", "words", "runs"),
    [
        ("quick", (), False),
        ("standard", (), False),
        ("full", (), True),
        ("standard", ("long",), True),
        ("standard", ("@slow",), True),
    ],
)
def test_what_takes_long_runs_in_full_or_by_name(monkeypatch, profile, words, runs):
    from pytest_bias.engine.planning import describe_for, plan
    from pytest_bias.settings.settings import Settings
    from pytest_bias.suites import catalogue as suites

    seat = find("seat")
    configuration = replace(seat.configurations[0], only_full=True)
    long = replace(seat, name="long", configurations=(configuration,), tags=("slow", "social"))
    monkeypatch.setattr(suites, "installed", lambda: (*SUITES, long))
    settings = Settings(suites=words, profile=profile)
    found = plan(describe_for(settings, "demo"), settings)
    assert ("long[en]" in [p.entry.id for p in found.entries]) == runs
    # It counts among the social suites that apply, run or not.
    assert "long" in found.coverage["social_suites"]


def test_built_in_suites_come_through_the_entry_point():
    assert installed()[: len(SUITES)] == SUITES
    assert find("seat") is next(s for s in SUITES if s.name == "seat")
    assert len({s.name for s in installed()}) == len(installed())


@BY_NAME
def test_every_measure_has_one_headline_and_metrics_of_distinct_names(suite):
    for measure in suite.measures:
        assert [m.headline for m in measure.metrics].count(True) == 1
        assert len({m.name for m in measure.metrics}) == len(measure.metrics)
        headline = next(m for m in measure.metrics if m.headline)
        assert headline.whole


@BY_NAME
def test_every_metric_has_its_ideal_within_its_bounds(suite):
    for metric in (m for measure in suite.measures for m in measure.metrics):
        low, high = metric.bounds
        assert low is None or low <= metric.ideal, metric.name
        assert high is None or metric.ideal <= high, metric.name
        assert metric.tolerance >= 0
        assert metric.unit in UNITS
        # A difference of percentages is in points; BBQ's score is published in percent.
        assert metric.unit != "%" or metric.bounds == (0, 100) or metric.name.startswith("bias_")
        assert metric.unit != "%" or not hasattr(metric.estimate, "apart")
        assert all(isinstance(keys, tuple) and keys for keys in metric.by)


@BY_NAME
def test_every_suite_has_a_complete_scope_card(suite):
    assert set(suite.scope) == set(FIELDS)
    assert suite.validity in VALIDITY
    assert suite.scope["kind"] == suite.kind
    assert suite.scope["summary"].endswith((".", "?"))
    assert suite.scope["does_not_show"]
    assert 20 <= len(suite.scope["validity_in_short"]) <= MOST_IN_SHORT
    assert "\n" not in suite.scope["validity_in_short"]


@BY_NAME
def test_configurations_begin_with_their_language_and_have_names_of_their_own(suite):
    names = [c.name for c in suite.configurations]
    assert len(set(names)) == len(names)
    for configuration in suite.configurations:
        if configuration.own_texts:
            assert (configuration.name, configuration.language) == ("own", "")
            continue
        assert configuration.name.partition("-")[0] in (configuration.language, "all")
        assert configuration.note or not configuration.draft


@BY_NAME
def test_a_badge_speaks_of_metrics_that_the_suite_has(suite):
    import re

    metrics = {m.name for measure in suite.measures for m in measure.metrics}
    for wording in suite.badge:
        for name, form in re.findall(r"\{(\w+)(?::(\w+))?\}", wording):
            assert name in metrics
            assert (form or None) in FORMATS
    # Each measure is covered by one of the wordings.
    for measure in suite.measures if suite.badge else ():
        own = {m.name for m in measure.metrics}
        assert any(set(re.findall(r"\{(\w+)", w)) <= own for w in suite.badge)


def test_social_suites_are_tagged_and_others_are_not():
    others = {STRUCTURE, "general_quality"}
    assert {s.name for s in SUITES if "social" not in s.tags} == others | ROBUSTNESS
    assert {s.name for s in SUITES if s.kind in ("structure", "quality")} == others
    assert {s.name for s in SUITES if s.kind == "robustness"} == ROBUSTNESS


def test_texts_that_the_demo_does_not_know_need_an_open_vocabulary():
    known = {"seat", "template_association", "gendered_pair_entropy", STRUCTURE}
    needing = {
        s.name
        for s in SUITES
        if all(Capability.OPEN_VOCABULARY in c.needs for c in s.configurations)
    }
    assert {s.name for s in SUITES} - needing == known


def test_a_control_is_one_of_a_configuration_that_runs_before_it():
    for suite in SUITES:
        names = [c.name for c in suite.configurations]
        for configuration in suite.configurations:
            if configuration.control_of is not None:
                controlled = suite.configuration(configuration.control_of)
                assert controlled.control_of is None
                assert controlled.language == configuration.language
                assert names.index(controlled.name) < names.index(configuration.name)
    assert find("crows_pairs").configuration("en-controls").control_of == "en"


def test_controls_and_general_quality_do_not_count_among_the_social_suites(monkeypatch):
    from pytest_bias.engine.planning import describe_for, plan
    from pytest_bias.settings.settings import Settings
    from pytest_bias.suites import catalogue as suites

    crows, seat = find("crows_pairs"), find("seat")
    controls = replace(crows.configuration("en-controls"), needs=frozenset())
    there = (
        find(STRUCTURE),
        replace(crows, configurations=(controls,)),
        replace(seat, configurations=seat.configurations[:1]),
        find("general_quality"),
    )
    monkeypatch.setattr(suites, "installed", lambda: there)
    settings = Settings()
    found = plan(describe_for(settings, "demo"), settings)
    assert "crows_pairs[en-controls]" in [p.entry.id for p in found.entries if p.measure]
    assert found.coverage["social_suites"] == ["seat"]


def test_the_first_measure_that_a_model_can_do_is_taken():
    suite = find("crows_pairs")
    masked = frozenset({Capability.PSEUDO_LOG_LIKELIHOOD, Capability.LOG_LIKELIHOOD})
    assert suite.measure_for(masked) is suite.measures[0]
    causal = suite.measure_for(frozenset({Capability.LOG_LIKELIHOOD}))
    assert causal is suite.measures[1]
    assert causal.adapted
    assert suite.measure_for(frozenset({Capability.EMBED})) is None
    assert suite.measure_named(causal.name) is causal
    with pytest.raises(UnknownName, match="measure of crows_pairs 'x' is not known"):
        suite.measure_named("x")


@pytest.mark.parametrize("lacking", ["summary", "does_not_show", "validity_in_short"])
def test_a_scope_card_that_leaves_something_out_is_refused(tmp_path, monkeypatch, lacking):
    import yaml

    card = {**scope_card("seat"), lacking: ""}
    (tmp_path / "scope").mkdir()
    path = tmp_path / "scope" / f"bad-{lacking}.yaml"
    path.write_text(yaml.safe_dump(card), encoding="utf-8")
    monkeypatch.setattr("bias_suites.own_files.files", lambda package: tmp_path)
    with pytest.raises(ValueError, match=f"missing, unknown, or says nothing: {lacking}"):
        scope_card(f"bad-{lacking}")
    path.write_text(yaml.safe_dump({**scope_card("seat"), "validity": "proven"}), encoding="utf-8")
    with pytest.raises(ValueError, match="validity is one of contested, partial, supported"):
        scope_card(f"bad-{lacking}")
    long = {**scope_card("seat"), "validity_in_short": "x" * 91}
    path.write_text(yaml.safe_dump(long), encoding="utf-8")
    with pytest.raises(ValueError, match="validity_in_short has 91 characters, at most 90"):
        scope_card(f"bad-{lacking}")


def test_lists_and_cards_print_at_any_width():
    from io import StringIO

    from rich.console import Console

    for width in (40, 80, 200):
        stream = StringIO()
        console = Console(file=stream, width=width)
        show_list(installed(), console)
        for suite in installed():
            show_card(suite, console)
        text = " ".join(stream.getvalue().split())
        assert all(s.name in text for s in installed())
        assert "does not show" in text
        assert "@templates" in text


DISTRIBUTION = """\
Metadata-Version: 2.1
Name: {name}
Version: 1.0
"""
BODY = """
from dataclasses import replace
from bias_suites.social.seat import SUITE
SUITES = (replace(SUITE, name="{suite}", version="1"),)
"""


def package(folder: Path, name: str, body: str) -> None:
    """Write an installed package that brings suites."""
    (folder / f"{name}.py").write_text(body, encoding="utf-8")
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(DISTRIBUTION.format(name=name), encoding="utf-8")
    text = f"[pytest_bias.suites]\n{name} = {name}:SUITES\n"
    (info / "entry_points.txt").write_text(text, encoding="utf-8")


def with_packages(folder: Path, code: str) -> str:
    """Run code in a process that sees the packages in a folder."""
    program = f"import sys; sys.path.append({str(folder)!r})\n{textwrap.dedent(code)}"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


CAUGHT = """
from pytest_bias.errors import UsageError
from pytest_bias.suites.catalogue import installed
try:
    print([s.name for s in installed()])
except UsageError as error:
    print(error)
"""


def test_a_suite_of_another_package_is_found_behind_our_own(tmp_path):
    package(tmp_path, "aaa_third", BODY.format(suite="theirs"))
    found = with_packages(
        tmp_path,
        """
        from pytest_bias.suites.catalogue import INSTALLED, installed
        find = INSTALLED.find
        print([s.name for s in installed()])
        print([e.id for e in INSTALLED.select(["theirs"], ["en"])], find("theirs").version)
        """,
    )
    names = [*(s.name for s in SUITES), "theirs"]
    assert found == f"{names}\n['theirs[en]', 'theirs[en-published]'] 1\n"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("import no_such_module", "cannot be loaded: ModuleNotFoundError"),
        ("OTHER = ()", "cannot be loaded: AttributeError"),
        ("raise RuntimeError('boom')", "cannot be loaded: RuntimeError('boom')"),
        (BODY.format(suite="seat"), "two installed packages bring a suite named 'seat'"),
        pytest.param(
            "from bias_suites import SUITES as OURS\nSUITES = OURS[-1]", "'broken:SUITES'"
        ),
        pytest.param("SUITES = ('seat',)", "'broken:SUITES'"),
    ],
    ids=["import", "attribute", "raises", "same name", "no tuple", "no suite"],
)
def test_a_package_with_broken_suites_is_named(tmp_path, body, message):
    package(tmp_path, "broken", body)
    found = with_packages(tmp_path, CAUGHT)
    assert message in found
    if "two installed" not in found:
        assert "'broken:SUITES'" in found
        assert "Uninstall or update the package that brings them." in found


def test_a_suite_knows_its_configurations():
    suite: Suite = find("crows_pairs")
    assert suite.configuration("fr").language == "fr"
    with pytest.raises(UnknownName, match="configuration of crows_pairs 'de' is not known"):
        suite.configuration("de")


@pytest.mark.parametrize(
    ("field", "content"),
    [
        *(("groups", stand_in) for stand_in in ("-", "n/a", "TBD", "…", [], None)),
        *(("does_not_show", short) for short in ("unknown", "not much", "todo: write this down")),
        ("known_defects", ["few"]),
        ("decisions", ["Each pair is one item.", "tbd, to be decided later"]),
    ],
)
def test_a_field_that_says_nothing_counts_as_missing(field, content):
    assert says_nothing(field, content)


@pytest.mark.parametrize("field", ["annotators", "intersectional", "groups"])
def test_that_there_is_none_is_said_in_one_word_where_that_is_all(field):
    assert not says_nothing(field, "none")
