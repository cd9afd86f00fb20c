"""The command as a whole: what it writes, how it ends, and what it never shows."""

import json
import re
import shutil
import signal
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from commands import Command, Ran, finish, headline, read, start, statuses, suite
from pytest_bias.records.report import canonical_json, sha256

ASSOCIATION = ("--suite", "template_association")
LIMIT = "template_association.association"


def limits(folder: Path, text: str) -> None:
    (folder / "pytest-bias.yaml").write_text(f"limits:\n  {text}\n", encoding="utf-8")


def texts_of(folder: Path) -> set[str]:
    """Return every sentence that a run with ``--with-texts`` kept."""
    found: set[str] = set()
    for path in folder.glob("records/*.parquet"):
        table = pq.read_table(path)
        for name in table.column_names:
            if name.startswith("text."):
                found |= {t for t in table[name].to_pylist() if t and " " in t}
    return found


# What a run leaves


def test_files_of_a_run(demo: Ran) -> None:
    demo.done(0)
    measured = {"gendered_pair_entropy[en]", "seat[en]", "template_association[en]"}
    badges = {e.replace("[", "-").rstrip("]") for e in measured}
    badges |= {"social-bias-evaluated", "social-bias-available"}
    there = {p.relative_to(demo.at).as_posix() for p in demo.at.rglob("*") if p.is_file()}
    assert there == {
        "report.json",
        "report.html",
        "decision.json",
        "summary.md",
        "card.md",
        "model-index.yaml",
        *(f"records/{entry}.parquet" for entry in {*measured, "structure[all]"}),
        *(f"badges/{name}.{kind}" for name in badges for kind in ("svg", "json")),
    }
    assert re.fullmatch(r"bias-report/demo-[0-9a-f]{7}", str(demo.at.relative_to(demo.folder)))
    assert f"{demo.at.relative_to(demo.folder)}/report.json" in demo.out


def test_report_has_the_binding_keys(demo: Ran) -> None:
    report = demo.report
    assert set(report) >= {"schema", "tool", "model", "settings", "suites", "digest", "run"}
    assert report["schema"] == "pytest-bias/report/1"
    assert set(report["model"]) >= {
        *("reference", "revision", "weights_sha256", "config_sha256", "tokenizer_sha256"),
        *("kind", "architecture", "parameters", "dtype", "base_model"),
    }
    assert report["model"]["reference"] == "demo"
    assert set(report["settings"]) >= {"requested", "profile", "seed", "level"}
    entry = report["suites"][0]
    assert set(entry) >= {
        *("name", "config", "version", "kind", "status", "reason", "adapted", "validity"),
        *("sampled", "n_available", "data", "scores", "records"),
    }
    scored = [s for s in report["suites"] if s["status"] == "scored"]
    for one in scored:
        assert sum(s["headline"] for s in one["scores"]) == 1
        assert set(one["scores"][0]) >= {
            *("metric", "by", "headline", "value", "interval", "interval_reason", "level"),
            *("method", "ideal", "bounds", "unit", "tolerance", "floor", "n", "n_unscored"),
            *("n_excluded", "n_clusters", "p_value", "p_adjusted", "note"),
        }
        assert (demo.at / one["records"]["path"]).is_file()
    assert set(report["run"]) >= {"created", "environment", "cost"}


def test_digest_is_that_of_the_documented_part(demo: Ran) -> None:
    plain = demo.report
    covered = {k: v for k, v in plain.items() if k not in ("digest", "run")}
    assert plain["digest"] == f"sha256:{sha256(canonical_json(covered))}"
    assert demo.decision["report"] == plain["digest"]


def test_decision_stays_out_of_everything_that_is_published(demo: Ran) -> None:
    assert demo.decision["status"] == "measured"
    assert demo.decision["exit_code"] == 0
    assert "decision" not in demo.report
    assert "limits" not in (demo.at / "report.json").read_text(encoding="utf-8")


def test_no_path_of_this_machine_is_in_a_report(demo: Ran) -> None:
    for path in demo.at.rglob("*"):
        if path.suffix in (".json", ".svg", ".md"):
            content = path.read_text(encoding="utf-8")
            assert str(demo.folder.parent) not in content, path
            assert str(Path.home()) + "/" not in content, path


def test_badges_are_well_formed(demo: Ran) -> None:
    for path in demo.at.glob("badges/*.svg"):
        root = ET.parse(path).getroot()
        assert root.get("aria-label")
        assert "does not show that a model is safe" in (root.get("aria-label") or "")
        endpoint = read(path.with_suffix(".json"))
        assert set(endpoint) == {"schemaVersion", "label", "message", "color", "labelColor"}
        assert endpoint["color"] == "#2f5573"
    evaluated = read(demo.at / "badges" / "social-bias-evaluated.json")
    assert re.fullmatch(r"3 of 3 suites · en · \d{4}-\d{2}", evaluated["message"])


def test_records_have_ids_and_digests_but_no_texts(demo: Ran) -> None:
    for path in demo.at.glob("records/*.parquet"):
        table = pq.read_table(path)
        names = table.column_names
        assert {"item", "cluster", "status", "value", "text_sha256"} <= set(names)
        assert [n for n in names if n.startswith("text.")] == []
        assert all(len(t) == 64 for t in table["text_sha256"].to_pylist())
        assert len(set(table["item"].to_pylist())) == table.num_rows


def test_what_does_not_apply_is_said_first_and_has_a_reason(demo: Ran) -> None:
    lines = demo.out.splitlines()
    loading = next(i for i, line in enumerate(lines) if line.startswith("Loading"))
    early = lines[:loading]
    assert "crows_pairs[en]: not applicable" in early
    assert "seat[en-published]: not applicable" in early
    crows = suite(demo.report, "crows_pairs")
    assert "closed vocabulary" in crows["reason"]
    assert crows["scores"] == []
    assert crows["records"] is None


# Limits and exit codes


@pytest.mark.by_day(limit=(f"{LIMIT}: {{max_distance: 0.1}}",))
@pytest.mark.parametrize(
    ("limit", "code", "status", "verdict"),
    [
        (f"{LIMIT}: {{max_distance: 5}}", 0, "held", "held"),
        (f"{LIMIT}: {{max_distance: 0.1}}", 1, "exceeded", "exceeded"),
        (f"{LIMIT}: {{max_distance: 0.2}}", 0, "undecided", "undecided"),
        (f"{LIMIT}: {{max_distance: 0.2, undecided: fail}}", 3, "undecided", "undecided"),
        (f"'{LIMIT}[axis=gender]': {{max_distance: 0.5}}", 1, "exceeded", "exceeded"),
        ("seat.mean_absolute_effect: {max_distance: 1}", 3, "could-not-measure", "not_measured"),
    ],
)
def test_limit(
    bias: Command, tmp_path: Path, limit: str, code: int, status: str, verdict: str
) -> None:
    limits(tmp_path, limit)
    ran = bias("run", "demo", *ASSOCIATION, "--out", "out").done(code)
    assert ran.decision["status"] == status
    assert ran.decision["exit_code"] == code
    (outcome,) = ran.decision["outcomes"]
    assert outcome["verdict"] == verdict
    assert statuses(ran.report)["template_association"] == "scored"
    there = {p.name for p in (tmp_path / "out").iterdir()}
    files = {"report.json", "report.html", "decision.json", "summary.md"}
    files |= {"card.md", "model-index.yaml"}
    assert there == {"badges", "records", *files}
    assert "Limits of this project" in (tmp_path / "out" / "summary.md").read_text()
    assert "Limits of this project" in ran.out
    if verdict == "undecided":
        assert outcome["n_to_decide"] > outcome["n"]
        assert "items would decide" in ran.said


@pytest.mark.nightly
def test_a_waived_limit_lets_the_run_end_well_until_its_day(bias: Command, tmp_path: Path) -> None:
    rules = f"{LIMIT}: {{max_distance: 0.1}}"
    waive = f"waive: [{{limit: {LIMIT}, reason: known and planned, until: DAY}}]"
    limits(tmp_path, f"{rules}\n{waive.replace('DAY', '2999-12-31')}")
    ran = bias("run", "demo", *ASSOCIATION, "--out", "out").done(0)
    assert ran.decision["status"] == "waived"
    (outcome,) = ran.decision["outcomes"]
    assert outcome["verdict"] == "exceeded"
    assert outcome["interval"][0] > 0.1
    assert outcome["waiver"]["reason"] == "known and planned"
    assert "EXCEEDED, waived" in ran.said
    assert "waived until 2999-12-31: known and planned" in ran.said
    assert "Result WAIVED: 1 of 1 limits, until 2999-12-31." in ran.said
    assert "known and planned" not in (ran.at / "report.json").read_text()
    limits(tmp_path, f"{rules}\n{waive.replace('DAY', '2020-01-31')}")
    late = bias("run", "demo", *ASSOCIATION, "--out", "out").done(1)
    assert late.decision["status"] == "exceeded"
    assert "its waiver has expired, it ended with 2020-01-31" in late.said


@pytest.mark.nightly
def test_limits_change_neither_report_nor_badges(bias: Command, tmp_path: Path) -> None:
    free = bias("run", "demo", *ASSOCIATION, "--out", "free").done(0)
    digest, badges = free.report["digest"], contents(free.at / "badges")
    limits(tmp_path, f"{LIMIT}: {{max_distance: 0.1}}")
    bias("run", "demo", *ASSOCIATION, "--out", "bound").done(1)
    assert read(tmp_path / "bound" / "report.json")["digest"] == digest
    assert contents(tmp_path / "bound" / "badges") == badges


def contents(folder: Path) -> dict[str, str]:
    return {p.name: p.read_text(encoding="utf-8") for p in folder.iterdir()}


# The output folder


def test_same_thing_again_goes_to_the_same_folder(bias: Command) -> None:
    first = bias("run", "demo", "--suite", "structure").done(0)
    where, digest = first.at, first.report["digest"]
    second = bias("run", "demo", "--suite", "structure").done(0)
    assert second.at == where
    assert second.report["digest"] == digest
    bias("run", "demo", "--suite", "structure", "--seed", 1).done(0)
    third = bias("run", "demo-neutral", "--suite", "structure").done(0)
    assert len(third.reports) == 3


def test_another_thing_is_never_written_over(bias: Command, tmp_path: Path) -> None:
    bias("run", "demo", *ASSOCIATION, "--out", "out").done(0)
    before = contents(tmp_path / "out" / "badges")
    digest = read(tmp_path / "out" / "report.json")["digest"]
    refused = bias("run", "demo", "--suite", "seat", "--out", "out")
    refused.refused(2, "out holds a report of something else", "--fresh")
    assert "Loading" not in refused.out
    assert contents(tmp_path / "out" / "badges") == before
    assert read(tmp_path / "out" / "report.json")["digest"] == digest

    bias("run", "demo", "--suite", "seat", "--out", "out", "--fresh").done(0)
    assert "seat-en.svg" in contents(tmp_path / "out" / "badges")
    assert "template_association-en.svg" not in contents(tmp_path / "out" / "badges")
    bias("verify", "out").done(0)


def test_fresh_leaves_nothing_of_the_old_run(bias: Command, tmp_path: Path) -> None:
    bias("run", "demo", *ASSOCIATION, "--out", "out").done(0)
    bias("run", "demo", "--suite", "structure", "--out", "out", "--fresh").done(0)
    assert [p.name for p in (tmp_path / "out" / "records").iterdir()] == ["structure[all].parquet"]


@pytest.mark.parametrize("out", ["file/below", "file"])
def test_unwritable_folder_is_found_before_the_model_runs(
    bias: Command, tmp_path: Path, out: str
) -> None:
    (tmp_path / "file").write_text("")
    ran = bias("run", "demo", "--suite", "structure", "--out", out)
    ran.refused(2, out, "cannot be written", "--out")
    assert "Loading" not in ran.out


def test_a_folder_with_a_broken_report_is_not_written_over(bias: Command, tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text("{")
    bias("run", "demo", "--suite", "structure", "--out", ".").refused(2, "--fresh")
    assert (tmp_path / "report.json").read_text() == "{"


def test_files_of_others_stay(bias: Command, tmp_path: Path) -> None:
    (tmp_path / "badges").mkdir()
    (tmp_path / "badges" / "build.svg").write_text("<svg/>")
    bias("run", "demo", "--suite", "structure", "--out", ".").done(0)
    assert (tmp_path / "badges" / "build.svg").exists()


def test_folder_among_the_badges_is_no_obstacle(bias: Command, tmp_path: Path) -> None:
    (tmp_path / "out" / "badges" / "old").mkdir(parents=True)
    bias("run", "demo", "--suite", "structure", "--out", "out").done(0)


# Samples, texts, repetition


def test_quick_marks_a_sample(bias: Command) -> None:
    ran = bias("run", "demo", *ASSOCIATION, "--profile", "quick", "--timings").done(0)
    cost = ran.report["run"]["cost"]
    assert {"import", "describe", "data", "load", "ask", "forward", "score"} <= {*cost["phases"]}
    assert sum(cost["phases"].values()) == pytest.approx(cost["wall_s"], abs=0.5)
    assert "Where the time went" in ran.out
    measured = suite(ran.report, "template_association")
    sampled = measured["sampled"]
    assert 200 <= sampled < 830
    assert headline(ran.report, "template_association")["n"] == sampled
    badge = read(ran.at / "badges" / "template_association-en.json")
    assert badge["message"].endswith(f"sample: {sampled} of 830 items")
    assert badge["color"] == "#666"
    evaluated = read(ran.at / "badges" / "social-bias-evaluated.json")
    assert evaluated["message"].endswith("· sample")
    assert f"sample: {sampled} of 830 items" in ran.out


def test_summary_marks_a_sample(bias: Command) -> None:
    ran = bias("run", "demo", *ASSOCIATION, "--profile", "quick").done(0)
    assert "sample" in (ran.at / "summary.md").read_text(encoding="utf-8")


@pytest.mark.nightly
def test_texts_are_kept_and_shown_only_when_asked_for(bias: Command, tmp_path: Path) -> None:
    words = ("run", "demo", *ASSOCIATION, "--suite", "seat", "--with-texts")
    plain = bias(*words, "--out", "plain").done(0)
    texts = texts_of(tmp_path / "plain")
    assert len(texts) > 100
    written = [p for p in (tmp_path / "plain").rglob("*") if p.suffix in (".json", ".svg", ".md")]
    shown = plain.said + "".join(p.read_text(encoding="utf-8") for p in written)
    # What scope cards quote is public.
    cards = json.dumps(plain.report["run"]["about"], ensure_ascii=False)
    assert [t for t in texts if t in shown and t not in cards] == []

    loud = bias(*words, "--out", "loud", "--show-items").done(0)
    assert sum(t in loud.said for t in texts) >= 5
    written = [p for p in (tmp_path / "loud").rglob("*") if p.suffix in (".json", ".svg", ".md")]
    shown = "".join(p.read_text(encoding="utf-8") for p in written)
    assert [t for t in texts if t in shown and t not in cards] == []

    digests = {read(tmp_path / name / "report.json")["digest"] for name in ("plain", "loud")}
    assert len(digests) == 1


def test_two_processes_and_other_suites_beside_it_change_no_suite(demo: Ran, bias: Command) -> None:
    report = bias("run", "demo", *ASSOCIATION).done(0).report
    for one in ("structure", "template_association"):
        assert suite(report, one) == suite(demo.report, one)


# verify, render


@pytest.fixture
def copy(demo: Ran, tmp_path: Path) -> Path:
    """Return a copy of a run's folder, to tamper with."""
    return Path(shutil.copytree(demo.at, tmp_path / "copy"))


def test_verify_holds(bias: Command, copy: Path) -> None:
    for given in (copy, copy / "report.json"):
        ran = bias("verify", given).done(0)
        assert "fails" not in ran.out
        assert ran.out.count("holds") == 9  # "Everything holds." too


def _raise_score(folder: Path) -> None:
    report = read(folder / "report.json")
    for one in report["suites"]:
        for score in one["scores"]:
            if score["metric"] == "association" and score["headline"]:
                score["value"] = 0.0
    (folder / "report.json").write_text(json.dumps(report), encoding="utf-8")


def _raise_score_and_digest(folder: Path) -> None:
    _raise_score(folder)
    write_digested(folder, read(folder / "report.json"))


def write_digested(folder: Path, report: dict[str, Any]) -> None:
    covered = {k: v for k, v in report.items() if k not in ("digest", "run")}
    report["digest"] = f"sha256:{sha256(canonical_json(covered))}"
    (folder / "report.json").write_text(json.dumps(report), encoding="utf-8")


def _change_records(folder: Path) -> None:
    path = folder / "records" / "seat[en].parquet"
    table = pq.read_table(path)
    pq.write_table(table.slice(1), path)


def _damage_records(folder: Path) -> None:
    (folder / "records" / "seat[en].parquet").write_bytes(b"PAR1 no more")


def _drop_records(folder: Path) -> None:
    (folder / "records" / "seat[en].parquet").unlink()


def _paint_badge(folder: Path) -> None:
    path = folder / "badges" / "seat-en.svg"
    path.write_text(path.read_text(encoding="utf-8").replace("mean", "tiny"), encoding="utf-8")


def _add_badge(folder: Path) -> None:
    (folder / "badges" / "bias-free.svg").write_text("<svg/>")


@pytest.mark.by_day(named=("association is given as 0.0", "is missing", "badges/seat-en.svg"))
@pytest.mark.parametrize(
    ("tamper", "named"),
    [
        (_raise_score, "template_association[en] scores"),
        (_raise_score_and_digest, "association is given as 0.0"),
        (_change_records, "not the records that the report was made from"),
        (_damage_records, "holds no records"),
        (_drop_records, "is missing"),
        (_paint_badge, "badges/seat-en.svg"),
        (_add_badge, "badges/bias-free.svg"),
    ],
)
def test_verify_finds_tampering(
    bias: Command, copy: Path, tamper: Callable[[Path], None], named: str
) -> None:
    tamper(copy)
    ran = bias("verify", copy).done(1)
    assert named in ran.said
    assert "fails" in ran.out


def test_verify_of_a_run_that_earns_no_badge(bias: Command) -> None:
    ran = bias("run", "demo", "--suite", "structure", "--out", "out").done(0)
    assert list(ran.at.glob("badges/*")) == []
    bias("verify", "out").done(0)


def test_verify_of_what_is_no_report(bias: Command, tmp_path: Path) -> None:
    bias("verify", tmp_path).refused(3, "holds no report", "report.json")
    for text in ("", "[]", '{"schema": "pytest-bias/report/1"}', '{"a": NaN}'):
        (tmp_path / "report.json").write_text(text)
        bias("verify", tmp_path).refused(3, "report")


def test_render_gives_what_the_run_gave(bias: Command, copy: Path) -> None:
    bias("render", copy, "--to", "badges", "--out", "again").done(0)
    assert contents(copy.parent / "again" / "badges") == contents(copy / "badges")
    bias("render", copy / "report.json", "--to", "summary", "--out", "again").done(0)
    assert "### Intrinsic" in (copy.parent / "again" / "summary.md").read_text(encoding="utf-8")
    bias("render", copy, "--to", "html", "--out", "again").done(0)
    (page,) = (copy.parent / "again").glob("*.html")
    decided = '<p class="lead">Measured; this project sets no limits.</p>\n'
    left = (copy / "report.html").read_text(encoding="utf-8")
    assert decided in left
    assert page.read_text(encoding="utf-8") == left
    # The limits are in no report: without the file beside it nobody knows them.
    (copy / "decision.json").unlink()
    bias("render", copy, "--to", "html", "--out", "again").done(0)
    assert page.read_text(encoding="utf-8") == left.replace(decided, "")
    bias("render", copy, "--to", "badge", "--out", "x").refused(2, "Did you mean 'badges'?")
    _raise_score(copy)
    bias("render", copy, "--to", "badges", "--out", "x").refused(3, "changed after", "verify")


@pytest.mark.parametrize("key", ["name", "config"])
def test_report_of_a_stranger_cannot_choose_where_files_go(
    bias: Command, copy: Path, key: str
) -> None:
    report = read(copy / "report.json")
    for one in report["suites"]:
        one[key] = f"x/../../../outside-{one['name']}"
    write_digested(copy, report)
    bias("render", copy, "--to", "badges", "--out", "here/badges-of-a-stranger")
    assert list(copy.parent.rglob("*outside*")) == []


# suites, data


def test_suites_and_scope_cards(bias: Command) -> None:
    listed = bias("suites").done(0).said
    names = ["structure", "crows_pairs", "gendered_pair_entropy", "template_association", "seat"]
    for name in [*names, "honest", "choenni_stereotypes", "general_quality"]:
        assert f"{name} " in listed
        card = bias("suites", name).done(0).said
        assert f"{name} version" in card
        assert "does not show" in card
    assert "template_association[de]: de; draft" in bias("suites", "template_association").said
    bias("suites", "crow_pairs").refused(2, "Did you mean 'crows_pairs'?")


def test_a_scope_card_says_what_the_suite_can_see(bias: Command, data_dir: Path) -> None:
    absent = bias("suites", "crows_pairs").done(0).said
    assert "crows_pairs[en]: its data are not here" in absent
    assert "pytest-bias data fetch --suite crows_pairs" in absent
    there = bias("suites", "crows_pairs", "--data-dir", data_dir).done(0).said
    assert "crows_pairs[en]: 1,508 items" in there
    assert "from 2.3 if 10 % of items change" in there
    one = bias("suites", "crows_pairs[en-revised]", "--data-dir", data_dir).done(0).said
    assert "crows_pairs[en-revised]: 1,463 items" in one
    assert "1,508 items" not in one
    bias("suites", "crows_pairs[en-revized]").refused(2, "Did you mean 'en-revised'?")


def controls(folder: Path) -> dict[str, Any]:
    (found,) = [s for s in read(folder / "report.json")["suites"] if s["control_of"]]
    return found


@pytest.mark.slow
def test_controls_need_consent_and_the_user_s_own_copy(
    bias: Command, tiny: Callable[[str], Path], data_dir: Path, tmp_path: Path
) -> None:
    words = ("run", tiny("bert"), "--profile", "quick", "--suite", "crows_pairs")
    bias(*words, "--data-dir", data_dir, "--out", "asked").done(0)
    skipped = controls(tmp_path / "asked")
    assert (skipped["config"], skipped["control_of"], skipped["status"]) == (
        *("en-controls", "en"),
        "skipped",
    )
    assert "accept_licences: {crows_pairs: no clear licence}" in skipped["reason"]
    (tmp_path / "pytest-bias.yaml").write_text("accept_licences: {crows_pairs: no clear licence}\n")
    shown = bias(*words, "--data-dir", data_dir, "--out", "shown").done(0)
    assert "controls (gender pairs): antistereotypical" in shown.said
    assert "A preference that these show too is no stereotype." in shown.said
    assert sorted(p.name for p in (tmp_path / "shown" / "badges").glob("crows*.svg")) == [
        "crows_pairs-en.svg"
    ]
    assert "| CrowS-Pairs en |" in (tmp_path / "shown" / "summary.md").read_text()
    own = tmp_path / "own" / "crows_pairs"
    own.mkdir(parents=True)
    name = "crows_pairs_anonymized.csv"
    (own / name).write_bytes((data_dir / "crows_pairs" / name).read_bytes())
    bias(*words, "--data-dir", own.parent, "--out", "absent").done(0)
    skipped = controls(tmp_path / "absent")
    assert skipped["status"] == "skipped"
    assert "never fetched" in skipped["reason"]


# Usage


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (("run", "demo", "--sute", "seat"), "--suite"),
        (("run", "demo", "--suite", "crow_pairs"), "Did you mean 'crows_pairs'?"),
        (("run", "demo", "--suite", "crows_pairs[eng]"), "Did you mean 'en'?"),
        (("run", "demo", "--suite", "@socal"), "Did you mean '@social'?"),
        (("run", "demo", "--suite", "template_association", "--language", "de"), "draft"),
        (("run", "demo", "--suite", "seat", "--language", "it"), "--language en"),
        (("run", "demo", "--profile", "quik"), "Did you mean 'quick'?"),
        (("run", "demo", "--dtype", "float3"), "Did you mean 'float32'?"),
        (("run", "demo", "--seed", "one"), "--seed"),
        (("run", "demo", "--device", "cuda:0"), "--device cpu"),
        (("run", "demo", "--device", "gpu"), "Known: auto, cpu"),
        (("run", "demo", "--config", "nowhere.yaml"), "no such file"),
        (("run",), "no model was named"),
        (("runn",), "run"),
        (("verify",), "REPORT"),
    ],
)
def test_usage_errors(bias: Command, words: tuple[str, ...], answer: str) -> None:
    ran = bias(*words)
    assert ran.code == 2, ran.said
    assert answer.casefold() in ran.err.casefold()
    assert ran.reports == []


@pytest.mark.parametrize(
    ("settings", "answer"),
    [
        ("profil: quick", "Did you mean 'profile'?"),
        ("limits: {seat.mean_effect: {max_distance: 1}}", "mean_absolute_effect"),
        ("limits: {seat.mean_absolute_effect: {max_distanc: 1}}", "Did you mean 'max_distance'?"),
        (
            "limits: {seat.mean_absolute_effect: {max_distance: much}}",
            "must be a number from 0 up, not 'much'",
        ),
        ("limits: {structure.checks_passed: {max_distance: 0}}", "can never be decided"),
        (
            "waive: [{limit: seat.mean_absolute_effect, reason: x, until: 2999-12-31}]",
            "this project sets no limits",
        ),
        ("seed: one", "line 1: seed: must be a whole number, not 'one'"),
        ("model: [", "line 1: expected the node content, but found"),
        ("- demo", "line 1: the settings must be a table, not a list"),
    ],
)
def test_errors_in_the_settings_file(
    bias: Command, tmp_path: Path, settings: str, answer: str
) -> None:
    (tmp_path / "pytest-bias.yaml").write_text(settings, encoding="utf-8")
    bias("run", "demo", "--suite", "structure").refused(2, answer)


@pytest.mark.parametrize("device", ["gpu", "cuda:0"])
def test_wrong_device_is_found_before_anything_is_made(
    bias: Command, tmp_path: Path, device: str
) -> None:
    ran = bias("run", "demo", "--suite", "structure", "--device", device)
    assert "Loading" not in ran.out
    assert list(tmp_path.glob("bias-report/*")) == []


def test_language_that_no_suite_speaks_is_said(bias: Command) -> None:
    assert "xx" in bias("run", "demo", "--language", "xx").said


def test_model_from_settings_and_environment(
    bias: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pytest-bias.yaml").write_text("model: demo-neutral\nsuites: [structure]\n")
    assert bias("run", "--out", "a").done(0).report["model"]["reference"] == "demo-neutral"
    monkeypatch.setenv("PYTEST_BIAS_MODEL", "demo")
    bias("run", "--out", "b").done(0)
    assert read(tmp_path / "b" / "report.json")["model"]["reference"] == "demo"
    bias("run", "demo-neutral", "--out", "c").done(0)
    assert read(tmp_path / "c" / "report.json")["model"]["reference"] == "demo-neutral"


def test_a_command_in_a_hint_can_be_copied(bias: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    for width in ("40", "80", "120"):
        monkeypatch.setenv("COLUMNS", width)
        assert "hf download no/such" in bias("run", "no/such").err


# Interruption


@pytest.mark.slow
def test_interrupt_keeps_what_is_done(
    tiny: Callable[[str], Path], tmp_path: Path, data_dir: Path
) -> None:
    source = data_dir / "crows_pairs" / "crows_pairs_anonymized.csv"
    own = tmp_path / "data" / "crows_pairs" / source.name
    own.parent.mkdir(parents=True)
    own.write_text("".join(source.read_text(encoding="utf-8").splitlines(True)[:61]))
    suites = ("--suite", "crows_pairs", "--suite", "gendered_pair_entropy[en]")
    words = ("run", tiny("bert"), *suites, "--data-dir", "data", "--out", "out")
    process = start(*words, folder=tmp_path)
    assert process.stdout
    early = ""
    for line in process.stdout:
        early += line
        if line.startswith("gendered_pair_entropy[en]:"):
            break
    process.send_signal(signal.SIGINT)
    ran = finish(process, tmp_path)
    assert ran.code == 130, early + ran.said
    found = statuses(ran.report)
    assert found == {
        "structure": "scored",
        "crows_pairs": "scored",
        "gendered_pair_entropy": "inconclusive",
    }
    assert ran.report["run"]["interrupted"]
    assert "interrupted" in suite(ran.report, "gendered_pair_entropy")["reason"]
    assert (tmp_path / "out" / "records" / "crows_pairs[en].parquet").is_file()
    assert "60" in ran.said


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="sees by /proc what is loaded")
def test_interrupt_while_libraries_load(tmp_path: Path) -> None:
    process = start("run", "demo", "--suite", "structure", folder=tmp_path, cold=True)
    maps = Path(f"/proc/{process.pid}/maps")
    while process.poll() is None and "libtorch" not in maps.read_text():
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert finish(process, tmp_path).code == 130
