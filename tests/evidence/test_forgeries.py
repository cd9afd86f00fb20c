"""Badges whose claim can be checked: what is forged is found by `verify`, each in its own way."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from publications import (
    DEMOS,
    ENTRY,
    SUITE,
    Repository,
    forge,
    named,
    rerun,
    source_of,
    unsign,
    with_records,
)
from pytest_bias.emit import badges
from pytest_bias.engine.planning import describe_for, plan
from pytest_bias.engine.session import Session
from pytest_bias.evidence.checks import exit_code
from pytest_bias.evidence.publishing import prepare
from pytest_bias.evidence.verification import Trust, verify_publication
from pytest_bias.reports.folder import REPORT, write_report
from pytest_bias.reports.publication_layout import (
    BADGES,
    BIAS,
    CURRENT,
    REPRODUCTION,
    REPRODUCTIONS,
    SIGNATURE,
)
from pytest_bias.settings.settings import Settings

RECORDS = f"records/{ENTRY}.parquet"


def suite(content: dict) -> dict:
    return next(s for s in content["suites"] if s["name"] == SUITE)


def headline(content: dict) -> dict:
    return next(s for s in suite(content)["scores"] if s["headline"])


def test_what_nobody_tampered_with_holds(repository):
    assert set(repository.outcomes().values()) == {"holds"}
    found = repository.verify()
    assert found.signer == "org-a"
    assert exit_code(found.checks, published=True) == 0
    assert not found.standing.stale
    assert found.standing.rerun is None


def test_publishing_does_not_make_itself_stale(repository, made, tmp_path):
    before = repository.verify().checks
    source = source_of(made, tmp_path / "again")
    assert repository.publish(source).changes == ()
    assert repository.verify().checks == before


@pytest.mark.parametrize(
    ("change", "seal", "fails"),
    [
        (lambda c: headline(c).update(value=0.01), False, {"report", "signature"}),
        (lambda c: headline(c).update(value=0.01), True, {f"{ENTRY} scores", "signature"}),
        (
            lambda c: headline(c).update(interval=[0.0, 0.02]),
            True,
            {f"{ENTRY} scores", "signature"},
        ),
        (lambda c: headline(c).update(n=10_000), True, {f"{ENTRY} scores", "signature"}),
        (lambda c: headline(c).update(ideal=0.19), True, {f"{ENTRY} scores", "signature"}),
    ],
    ids=["score", "score, digest anew", "interval", "n", "ideal"],
)
def test_an_edited_number(repository, change, seal, fails):
    repository.edit(change, seal=seal)
    found = repository.failing()
    assert fails <= set(found)
    unsign(repository)
    assert fails - {"signature"} <= set(repository.failing())


def test_a_swapped_records_file(repository):
    other = repository.folder / "records" / "structure[all].parquet"
    shutil.copy(other, repository.folder / RECORDS)
    assert f"{ENTRY} records" in repository.failing()


def test_rows_removed_from_the_records(repository):
    table = pq.read_table(repository.folder / RECORDS)
    pq.write_table(table.slice(0, table.num_rows - 40), repository.folder / RECORDS)
    assert f"{ENTRY} records" in repository.failing()


def test_rows_removed_and_everything_computed_anew(repository, made, tmp_path):
    """Items that spoil a score are dropped; the rest is made into a whole report."""
    fewer = with_records(made, lambda r: None if r.value and r.value > 1 else r)
    assert fewer.suite(SUITE).headline.value < made.suite(SUITE).headline.value
    with pytest.raises(Exception, match="items are not in the records"):
        repository.publish(source_of(fewer, tmp_path / "fewer"))
    forge(repository, fewer)
    assert "of 830 items are not in the records" in repository.failing()[f"{ENTRY} data"]


def test_scores_on_other_data_of_the_same_name(repository, made):
    others = with_records(made, lambda r: replace(r, text_sha256="0" * 64))
    forge(repository, others)
    assert repository.failing() == {
        f"{ENTRY} data": f"830 items have another text: {others.suite(SUITE).records[0].item}"
    }


def test_other_data_that_say_so(repository):
    repository.edit(lambda c: suite(c)["data"].update(sha256="0" * 64))
    assert "other data" in repository.failing()[f"{ENTRY} data"]


@pytest.mark.parametrize("name", [f"{SUITE}-en.svg", "social-bias-evaluated.svg"])
def test_a_badge_of_another_model(repository, made, name):
    other = replace(made, model=replace(made.model, reference="org-c/better"))
    text = badges.render(other)[f"badges/{name}"]
    (repository.root / BADGES / name).write_text(text, encoding="utf-8")
    assert repository.failing() == {"badges": f"not what the report gives: {name}"}


def test_all_evidence_of_another_model(repository, made):
    forge(repository, replace(made, model=replace(made.model, reference="org-c/better")))
    failing = repository.failing()
    assert failing["model"] == "the report is of 'org-c/better', not of org-a/model"


def test_badges_of_older_weights(repository):
    shutil.copy(DEMOS / "neutral" / "model.safetensors", repository.root)
    failing = repository.failing()
    assert failing["model"] == "stale: weights changed since it was measured"
    # The badges stand as they were, and do not say so.
    assert {"badges", "model card"} <= set(failing)
    assert repository.verify().standing.stale


@pytest.mark.parametrize(
    ("name", "what"),
    [("config.json", "configuration"), ("tokenizer.json", "tokenizer")],
)
def test_badges_of_an_older_configuration(repository, name, what):
    path = repository.root / name
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, "later": True}), encoding="utf-8")
    assert repository.failing()["model"] == f"stale: {what} changed since it was measured"


def test_publishing_again_makes_badges_say_that_they_are_stale(repository, made, tmp_path):
    shutil.copy(DEMOS / "neutral" / "model.safetensors", repository.root)
    repository.publish(source_of(made, tmp_path / "same"))
    assert set(repository.failing()) == {"model"}
    shown = (repository.root / BADGES / f"{SUITE}-en.svg").read_text(encoding="utf-8")
    assert "for older weights" in shown
    assert badges.VALUE_COLOR not in shown
    assert "older weights" in (repository.root / "README.md").read_text(encoding="utf-8")


def test_a_readme_and_what_lies_below_bias_make_nothing_stale(repository):
    readme = repository.root / "README.md"
    readme.write_text("# Better\n\n" + readme.read_text(encoding="utf-8"), encoding="utf-8")
    (repository.root / BIAS / "notes.md").write_text("mine", encoding="utf-8")
    assert repository.outcomes()["model"] == "holds"


def test_a_suite_left_out_of_the_denominator(repository):
    assert "social_suites" in repository.report.coverage
    repository.edit(lambda c: c["coverage"].update(social_suites=[SUITE]))
    assert "left out: gendered_pair_entropy, seat" in repository.failing()["denominator"]


def test_a_closed_vocabulary_that_the_model_has_not(repository):
    """Without an open vocabulary most suites do not apply; the configuration says what is so."""
    path = repository.root / "config.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, "closed_vocabulary": False}), encoding="utf-8")
    assert repository.outcomes()["denominator"] == "unknown"


@pytest.mark.parametrize(
    "name", ["оrg-a/model", "org-a/mоdel", "org‐a/model", "ｏrg-a/model"], ids=ascii
)
def test_a_name_that_looks_like_another(repository, name):
    repository.edit(lambda c: c["model"].update(reference=name))
    failing = repository.failing()
    assert ascii(name) in failing["name of the model"]
    assert "model" in failing


def test_everything_computed_anew_without_the_signature(repository, made):
    """A report that is whole in itself proves nothing: it is reported as unverified, not valid."""
    better = with_records(made, lambda r: replace(r, value=(r.value or 0) / 10))
    forge(repository, better)
    outcomes = repository.outcomes()
    assert outcomes.pop("signature") == "unverified"
    assert set(outcomes.values()) == {"holds"}
    assert exit_code(repository.verify().checks, published=True) == 3


def test_everything_computed_anew_under_the_old_signature(repository, made):
    bundle = (repository.folder / f"{REPORT}{SIGNATURE}").read_bytes()
    forge(repository, with_records(made, lambda r: replace(r, value=(r.value or 0) / 10)))
    (repository.folder / f"{REPORT}{SIGNATURE}").write_bytes(bundle)
    assert set(repository.failing()) == {"signature"}


def test_a_pointer_to_another_report(repository):
    pointer = repository.root / CURRENT
    content = json.loads(pointer.read_text(encoding="utf-8"))
    digest = content["report"][:-4] + "0000"
    pointer.write_text(json.dumps({**content, "report": digest}), encoding="utf-8")
    assert set(repository.failing()) == {"report that counts"}


def test_an_edited_card(repository):
    readme = repository.root / "README.md"
    text = readme.read_text(encoding="utf-8")
    assert "0.19" in text
    readme.write_text(text.replace("0.19", "0.01"), encoding="utf-8")
    assert set(repository.failing()) == {"model card"}


def test_a_removed_badge_and_one_too_many(repository):
    (repository.root / BADGES / f"{SUITE}-en.svg").unlink()
    (repository.root / BADGES / "results-validated.svg").write_text("<svg/>", encoding="utf-8")
    detail = repository.failing()["badges"]
    assert detail == f"not what the report gives: results-validated.svg, {SUITE}-en.svg"


def again(repository: Repository) -> tuple[str, str]:
    """Return outcome and detail of the one reproduction."""
    (check,) = [c for c in repository.verify().checks if c.what.startswith("reproduction ")]
    return check.outcome, check.detail


def test_a_signed_rerun_by_others_validates(repository, tmp_path):
    source = rerun(repository, tmp_path / "again")
    repository.sign(source / REPRODUCTION, "org-b")
    repository.publish(source)
    assert set(repository.outcomes().values()) == {"holds"}
    outcome, detail = again(repository)
    assert (outcome, detail) == ("holds", "1 of 1 suites agree; re-run by org-b, signed")
    shown = (repository.root / BADGES / "results-validated.svg").read_text(encoding="utf-8")
    assert "Results Validated: re-run by org-b · 1 of 1 agree" in shown


def test_a_signature_that_cannot_be_checked_here_is_no_forgery(repository, tmp_path):
    source = rerun(repository, tmp_path / "again")
    repository.sign(source / REPRODUCTION, "org-b")
    repository.publish(source)
    elsewhere = Trust(tmp_path / "no-trusted-root.json", offline=True)
    found = verify_publication(repository.publication(), Settings(), elsewhere)
    outcomes = {named(c): c.outcome for c in found.checks}
    assert {"badges", "model card", "signature"} <= {n for n, o in outcomes.items() if o != "holds"}
    assert set(outcomes.values()) == {"holds", "unknown"}
    # And nobody publishes anew what can not be told here.
    with pytest.raises(Exception, match="cannot be checked here"):
        prepare(source, repository.publication(), Settings(), elsewhere)


def test_an_unsigned_rerun_never_says_validated(repository, tmp_path):
    repository.publish(rerun(repository, tmp_path / "again"))
    outcome, detail = again(repository)
    assert outcome == "unverified"
    assert "re-run by org-b, as it says" in detail
    everything = [p for p in repository.root.rglob("*") if p.suffix in (".svg", ".json", ".md")]
    shown = "".join(p.read_text(encoding="utf-8") for p in everything)
    assert "Results re-run" in shown
    assert "identity unverified" in shown
    assert "Validated" not in shown


def planted(repository: Repository, source: Path) -> None:
    """Put a reproduction into the repository as a forger would, and draw the badges anew."""
    folder = repository.folder / REPRODUCTIONS / "0123456789ab"
    shutil.copytree(source, folder)


@pytest.mark.by_day(owner=("ORG-A",))
@pytest.mark.parametrize("owner", ["org-a", "ORG-A", "Org-a"])
def test_a_rerun_by_the_same_owner(repository, tmp_path, owner):
    source = rerun(repository, tmp_path / "again", owner=owner)
    repository.sign(source / REPRODUCTION, owner)
    planted(repository, source)
    outcome, detail = again(repository)
    assert outcome == "fails"
    assert "who owns the report or the model" in detail
    assert repository.verify().standing.rerun is None


def test_a_rerun_by_the_author_who_does_not_own_the_model(repository, tmp_path):
    (repository.folder / f"{REPORT}{SIGNATURE}").unlink()
    repository.sign(repository.folder / REPORT, "lab-c")
    source = rerun(repository, tmp_path / "again", owner="lab-c")
    repository.sign(source / REPRODUCTION, "lab-c")
    planted(repository, source)
    assert again(repository)[0] == "fails"


def test_a_rerun_signed_by_a_workflow_that_is_not_ours(repository, tmp_path):
    source = rerun(repository, tmp_path / "again")
    own = "org-b/runs/.github/workflows/mine.yml"
    repository.sign(source / REPRODUCTION, "org-b", workflow=own)
    repository.publish(source)
    outcome, detail = again(repository)
    assert outcome == "unverified"
    assert "takes a signature by a workflow of pytest-bias" in detail
    badge = (repository.root / BADGES / "results-re-run.svg").read_text(encoding="utf-8")
    assert "Validated" not in badge


def test_a_rerun_copied_from_another_model(repository, made, sigstore, tmp_path):
    root = tmp_path / "other" / "model"
    shutil.copytree(DEMOS / "planted", root)
    other = Repository(root, sigstore, "org-c/other")
    report = replace(made, model=replace(made.model, reference="org-c/other"))
    other.publish(source_of(report, tmp_path / "source"))
    source = rerun(other, tmp_path / "again")
    repository.sign(source / REPRODUCTION, "org-b")
    planted(repository, source)
    outcome, detail = again(repository)
    assert (outcome, "not of this one" in detail) == ("fails", True)
    with pytest.raises(Exception, match="does not hold the report"):
        repository.publish(source)


def test_an_older_rerun_replayed(repository, made, tmp_path):
    """The model was measured again since; what was found of the first report is not of this one."""
    source = rerun(repository, tmp_path / "again")
    repository.sign(source / REPRODUCTION, "org-b")
    newer = with_records(made, lambda r: replace(r, value=(r.value or 0) * 1.01))
    forge(repository, newer)
    planted(repository, source)
    assert again(repository) == (
        "fails",
        f"it is of the report {made.digest[:19]}, not of this one",
    )


def test_a_rerun_of_other_scores(repository, made, tmp_path):
    """Who edits the second report too has to sign it; unsigned edits show in the numbers."""
    other = with_records(made, lambda r: replace(r, value=(r.value or 0) + 1))
    source = rerun(repository, tmp_path / "again", again=other)
    path = source / REPRODUCTION
    stated = json.loads(path.read_text(encoding="utf-8"))
    assert stated["verdict"] == "differs"
    honest = rerun(repository, tmp_path / "honest")
    shutil.copy(honest / REPRODUCTION, path)
    planted(repository, source)
    outcome, detail = again(repository)
    assert (outcome, detail) == ("fails", "it does not say what the two reports give")


def test_an_edited_reproduction(repository, tmp_path):
    source = rerun(repository, tmp_path / "again")
    repository.sign(source / REPRODUCTION, "org-b")
    path = source / REPRODUCTION
    path.write_text(path.read_text("utf-8").replace("org-b", "org-d"), encoding="utf-8")
    planted(repository, source)
    outcome, detail = again(repository)
    assert (outcome, detail) == ("fails", "the reproduction was changed after it was written.")


def test_a_rerun_whose_records_are_gone(repository, tmp_path):
    source = rerun(repository, tmp_path / "again")
    shutil.rmtree(source / "records")
    planted(repository, source)
    assert again(repository)[0] == "fails"


def test_a_rerun_that_differs_says_so(repository, made, tmp_path):
    other = with_records(made, lambda r: replace(r, value=(r.value or 0) + 1))
    source = rerun(repository, tmp_path / "again", again=other)
    repository.sign(source / REPRODUCTION, "org-b")
    repository.publish(source)
    shown = (repository.root / BADGES / "results-re-run.svg").read_text(encoding="utf-8")
    assert "Results re-run: by org-b · 0 of 1 agree" in shown
    assert "Validated" not in shown


def test_evidence_is_never_overwritten(repository, made, tmp_path):
    before = {p: p.read_bytes() for p in repository.folder.rglob("*") if p.is_file()}
    later = replace(made, run={**made.run, "created": "2027-01-01T00:00:00+00:00"})
    repository.publish(source_of(later, tmp_path / "later"))
    newer = with_records(made, lambda r: replace(r, value=(r.value or 0) * 1.01))
    repository.publish(source_of(newer, tmp_path / "newer"))
    assert repository.report.digest == newer.digest
    assert {p: p.read_bytes() for p in before} == before
    assert len(list((repository.root / BIAS).glob(f"*/{REPORT}"))) == 2


def test_texts_are_not_published(repository, made, tmp_path):
    settings = Settings(suites=(SUITE,), languages=("en",), offline=True)
    session = Session(plan(describe_for(settings, "demo"), settings))
    for planned in session.plan.entries:
        session.prepare(planned)
    newer = with_records(made, lambda r: replace(r, value=(r.value or 0) * 1.01))
    source = tmp_path / "texts"
    write_report(newer, {}, source, session.items())
    assert "text.american" in pq.read_table(source / RECORDS).column_names
    repository.publish(source)
    names = pq.read_table(repository.folder / RECORDS).column_names
    assert [n for n in names if n.startswith("text.")] == []


def test_a_report_of_other_weights_is_refused(repository, made, tmp_path):
    other = replace(made, model=replace(made.model, weights_sha256="f" * 64), sealed=None)
    before = sorted(repository.root.rglob("*"))
    with pytest.raises(Exception, match="not of the model that org-a/model holds"):
        repository.publish(source_of(other, tmp_path / "other"))
    assert sorted(repository.root.rglob("*")) == before


def test_an_interrupted_run_is_refused(repository, made, tmp_path):
    cut = replace(made, run={**made.run, "interrupted": True})
    with pytest.raises(Exception, match="interrupted"):
        repository.publish(source_of(cut, tmp_path / "cut"))
