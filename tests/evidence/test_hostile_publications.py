"""What a publisher, somebody who runs it again, or a third person could leave in a repository.

It is found, and nothing of it ends in a traceback, in a hang, or outside the repository.
"""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from file_server import serving
from publications import (
    ENTRY,
    SUITE,
    Repository,
    rerun,
    source_of,
    unsign,
    with_records,
)
from pytest_bias.errors import BiasError, OutputError, ReportError, UsageError
from pytest_bias.evidence.checks import exit_code
from pytest_bias.evidence.locate import named
from pytest_bias.evidence.publishing import prepare, require_own_files, write
from pytest_bias.evidence.signatures import Signer, owners_differ
from pytest_bias.evidence.verification import verify_report
from pytest_bias.models.fingerprint import fingerprint
from pytest_bias.models.reference import ModelRef
from pytest_bias.reports.folder import REPORT, read_records
from pytest_bias.reports.publication_layout import (
    BADGES,
    BIAS,
    README,
    REPRODUCTION,
    REPRODUCTIONS,
    SIGNATURE,
)
from pytest_bias.settings.settings import Settings

VALIDATED = "alidated"


def again(repository: Repository) -> tuple[str, str]:
    (check,) = [c for c in repository.verify().checks if c.what.startswith("reproduction ")]
    return check.outcome, check.detail


def badge(repository: Repository) -> str:
    return (repository.root / BADGES / "results-re-run.svg").read_text(encoding="utf-8")


# Reproductions


def test_nobody_validates_a_report_that_nobody_signed(repository, tmp_path):
    """Who proposed the report could have run it again: without a signature it is not known."""
    unsign(repository)
    source = rerun(repository, tmp_path / "again", owner="lab-c")
    repository.sign(source / REPRODUCTION, "lab-c")
    repository.publish(source)
    outcome, detail = again(repository)
    assert (outcome, "nobody signed the report" in detail) == ("unverified", True)
    assert "Validated" not in badge(repository)


def test_an_author_behind_another_signature(repository, tmp_path):
    """The report is signed by two, and one of them runs it again."""
    bundle = repository.folder / f"{REPORT}{SIGNATURE}"
    first = bundle.read_bytes()
    repository.sign(repository.folder / REPORT, "org-b")
    both = b"\n".join(json.dumps(json.loads(b)).encode() for b in (first, bundle.read_bytes()))
    bundle.write_bytes(both)
    source = rerun(repository, tmp_path / "again")
    repository.sign(source / REPRODUCTION, "org-b")
    repository.publish(source)
    outcome, detail = again(repository)
    assert (outcome, "who owns the report" in detail) == ("fails", True)


def test_an_author_under_a_new_login(repository, tmp_path):
    signer = repository.trust.of(repository.folder / REPORT).signer
    assert isinstance(signer, Signer)
    assert not owners_differ(replace(signer, owner="renamed"), signer)
    source = rerun(repository, tmp_path / "again", owner="renamed")
    repository.sign(source / REPRODUCTION, "renamed", owner_id=signer.owner_id)
    repository.publish(source)
    assert again(repository)[0] == "fails"


@pytest.mark.by_day(owner=("<b>org</b>",))
@pytest.mark.parametrize(
    "owner", ["Results Validated", "org-b, signed", "<b>org</b>", "validated-by-org-b", "оrg-b"]
)
def test_a_name_that_claims_something(repository, tmp_path, owner):
    repository.publish(rerun(repository, tmp_path / "again", owner=owner))
    shown = badge(repository)
    assert "identity unverified" in shown
    assert owner not in shown
    assert VALIDATED not in shown


# Reports


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda c: c["model"].update(kind="encoder"), "BertForMaskedLM is given as encoder"),
        (lambda c: c["model"].update(architecture="BertModel"), "its configuration has"),
    ],
)
def test_a_model_of_another_kind_to_which_other_suites_apply(repository, change, what):
    repository.edit(change)
    assert what in repository.failing()["kind of the model"]


def test_a_vocabulary_that_is_called_closed_and_is_not(repository):
    path = repository.root / "tokenizer.json"
    plain = json.loads(path.read_text(encoding="utf-8"))
    plain["model"]["type"] = "WordPiece"
    path.write_text(json.dumps(plain), encoding="utf-8")
    assert repository.outcomes()["denominator"] == "unknown"


@pytest.mark.parametrize(
    "name",
    [
        "org-a/model ",
        "org-a/mo\u200bdel",
        "org-a/model\u202egnp",
        "org-a/mo\u00addel",
        "org-a/\tmodel",
    ],
    ids=ascii,
)
def test_a_name_with_what_is_not_seen(repository, name):
    repository.edit(lambda c: c["model"].update(reference=name))
    assert "invisible" in repository.failing()["name of the model"]


def test_a_key_that_stands_there_twice(repository):
    """Some readers take the first, others the last: what is signed has to be one thing to all."""
    path = repository.folder / REPORT
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"model": {', '"model": {}, "model": {', 1), encoding="utf-8")
    with pytest.raises(ReportError, match="'model' appears twice"):
        repository.verify()


def test_a_suite_that_stands_there_twice(repository):
    with pytest.raises(ReportError, match=r"it holds template_association\[en\] more than once"):
        repository.edit(lambda c: c["suites"].append(c["suites"][-1]))


@pytest.mark.parametrize(
    ("table", "key", "value"),
    [
        ("coverage", "languages", 7),
        ("coverage", "languages", [None]),
        ("coverage", "social_suites", [[1]]),
        ("coverage", "social_suites", "template_association"),
        ("run", "created", 7),
        ("run", "created", "\ud800"),
        ("run", "shard", 7),
        ("run", "notices", {"a": 1}),
        ("tool", "version", ""),
        ("settings", "requested", 7),
    ],
)
def test_tables_of_another_shape_are_one_message(repository, table, key, value):
    path = repository.folder / REPORT
    content = json.loads(path.read_text(encoding="utf-8"))
    content[table][key] = value
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ReportError, match="not a whole report"):
        repository.verify()


def replaced(path: Path, **columns: list[Any]) -> None:
    table = pq.read_table(path)
    for name, values in columns.items():
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    pq.write_table(table, path)


@pytest.mark.parametrize(
    "detail",
    ['{"a": NaN}', '{"a": 1e999}', '{"a": "\\ud800"}', "[]", '{"a": 1, "a": 2}', "[" * 9999],
)
def test_records_with_numbers_and_texts_that_are_none(repository, detail):
    path = repository.folder / "records" / f"{ENTRY}.parquet"
    replaced(path, detail=[detail] * pq.read_metadata(path).num_rows)
    assert "holds no records" in repository.failing()[f"{ENTRY} records"]


@pytest.mark.slow
def test_records_that_unfold_to_fill_the_memory(repository, tmp_path):
    path = repository.folder / "records" / f"{ENTRY}.parquet"
    many = pa.array(["x" * 1_000_000] * 3000).dictionary_encode()
    table = pa.table(dict.fromkeys(pq.read_table(path).column_names, many))
    pq.write_table(table, path)
    assert path.stat().st_size < 1_000_000
    assert "larger than the records of any suite" in repository.failing()[f"{ENTRY} records"]
    rows = pa.table({"item": pa.array([""] * 5_000_001)})
    pq.write_table(rows, tmp_path / "many.parquet")
    with pytest.raises(ReportError, match="5000001 rows"):
        read_records(tmp_path / "many.parquet")


# What people see


@pytest.mark.parametrize(
    "line",
    [
        "![Results Validated](https://img.shields.io/badge/ok-ok-green)",
        "![ok](https://img.shields.io/badge/Results%20Validated-yes-green)",
        "![ok](https://img.shields.io/badge/social--bias_evaluated-yes-green)",
        '<IMG src="x.svg" alt="Social Bias Evaluated: 12 of 12 suites">',
        "![Results Validated][b]",
        "[b]: https://img.shields.io/badge/Results_Validated-by_us-green",
        "![Results Validated](bias/badges/results-validated.svg)",
        "![Social Bias Evaluated](bias/Badges/social-bias-evaluated.svg)",
    ],
)
def test_pictures_beside_the_section_that_pass_for_badges(repository, line):
    readme = repository.root / README
    readme.write_text(f"{line}\n{readme.read_text(encoding='utf-8')}\n", encoding="utf-8")
    assert (
        repository.failing()["model card"] == "line 1 shows a badge of its own beside the section"
    )


@pytest.mark.parametrize(
    "line",
    [
        "![Social Bias Evaluated](bias/badges/social-bias-evaluated.svg)",
        "![Social Bias Evaluated](./bias/badges/social-bias-evaluated.svg)",
        "![A cat](cat.png) and what we say of [Results Validated](https://example.org)",
    ],
)
def test_ones_own_badges_may_be_shown_anywhere(repository, line):
    readme = repository.root / README
    readme.write_text(f"{line}\n{readme.read_text(encoding='utf-8')}\n", encoding="utf-8")
    assert repository.failing() == {}


@pytest.mark.parametrize("fence", ["```", "~~~~", "```markdown"])
def test_a_section_that_nobody_sees(repository, fence):
    readme = repository.root / README
    text = readme.read_text(encoding="utf-8")
    begin = text.index("<!-- pytest-bias:begin")
    readme.write_text(f"{text[:begin]}{fence}\n{text[begin:]}", encoding="utf-8")
    assert "where it is not rendered" in repository.failing()["model card"]


def test_scores_in_the_metadata_that_are_not_those_of_the_report(repository):
    readme = repository.root / README
    text = readme.read_text(encoding="utf-8")
    front, _, rest = text.partition("\n---\n")
    assert "value: 0.19" in front
    readme.write_text(
        front.replace("value: 0.19", "value: 0.0") + "\n---\n" + rest, encoding="utf-8"
    )
    assert "the metadata have other scores" in repository.failing()["model card"]
    # Who takes them out claims nothing.
    readme.write_text(rest, encoding="utf-8")
    assert repository.failing() == {}


def test_badges_in_a_folder_below_and_very_large_ones(repository):
    folder = repository.root / BADGES / "more"
    folder.mkdir()
    (folder / "results-validated.svg").write_text("<svg/>", encoding="utf-8")
    with (repository.root / BADGES / f"{SUITE}-en.svg").open("ab") as file:
        file.truncate(10**8)
    assert repository.failing()["badges"] == (
        f"not what the report gives: more/results-validated.svg, {SUITE}-en.svg"
    )


# Where it is looked for


def test_a_report_at_the_root_does_not_stand_before_what_is_published(repository):
    (repository.root / REPORT).write_bytes((repository.folder / REPORT).read_bytes())
    with named(str(repository.root), offline=True) as found:
        assert found.publication is not None


def test_an_address_is_a_claim_to_others(repository, made, tmp_path, monkeypatch):
    monkeypatch.setattr("pytest_bias.evidence.locate.is_offline", lambda given: given)
    source = source_of(made, tmp_path / "served")
    with serving() as server:
        server.files = {quote(k): v for k, v in everything(source).items()}
        address = server.url(REPORT)
        with named(address, offline=False) as found:
            assert found.is_public
            unsigned = verify_report(
                found.folder, Settings(), repository.trust, is_run=False, is_public=True
            )
        repository.sign(source / REPORT, "org-a")
        server.files = {quote(k): v for k, v in everything(source).items()}
        with named(address, offline=False) as found:
            signed = verify_report(
                found.folder, Settings(), repository.trust, is_run=False, is_public=True
            )
        with (
            pytest.raises(UsageError, match="is not the digest of a report"),
            named(f"{address}#sha256-abc", offline=False),
        ):
            pass
    outcomes = [{c.what: c.outcome for c in checks}["signature"] for checks in (unsigned, signed)]
    assert outcomes == ["unverified", "holds"]
    assert exit_code(unsigned, published=True) == 3


# Files that are none


def test_model_files_that_are_not_what_they_should_be(repository):
    for name, content in {
        "config.json": "[" * 99_999,
        "tokenizer_config.json": json.dumps({"chat_template": [{"wrong": 1}]}),
    }.items():
        path = repository.root / name
        before = path.read_bytes()
        path.write_text(content, encoding="utf-8")
        with pytest.raises(BiasError):
            fingerprint(ModelRef.parse(str(repository.root)))
        path.write_bytes(before)


@pytest.mark.parametrize(
    "make",
    [
        lambda root, out: (root / BIAS).symlink_to(out),
        lambda root, out: (root / BIAS).write_text("mine"),
        lambda root, out: ((root / BIAS).mkdir(), (root / BADGES).symlink_to(out)),
        lambda root, out: ((root / BIAS).mkdir(), os.mkfifo(root / BIAS / "pipe")),
        lambda root, out: ((root / BIAS).mkdir(), (root / BIAS / "up").symlink_to("..")),
        lambda root, out: (root / README).symlink_to(out / README),
        lambda root, out: (root / README).mkdir(),
    ],
    ids=["link", "file", "badges link", "pipe", "loop", "card link", "card folder"],
)
def test_a_folder_that_leads_elsewhere_is_not_written(tmp_path, make):
    root, out = tmp_path / "model", tmp_path / "out"
    root.mkdir()
    out.mkdir()
    (out / README).write_text("theirs", encoding="utf-8")
    make(root, out)
    with pytest.raises(UsageError):
        require_own_files(root)
    assert [p.name for p in out.iterdir()] == [README]


@pytest.mark.parametrize("name", ["badges", "0123456789ab"])
def test_a_file_where_a_folder_has_to_be(repository, made, tmp_path, name):
    import shutil

    shutil.rmtree(repository.root / BIAS / name, ignore_errors=True)
    (repository.root / BIAS / name).write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="is a file, and has to be a folder"):
        repository.publish(source_of(made, tmp_path / "source"))


def everything(root: Path) -> dict[str, bytes]:
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def test_what_cannot_be_written_whole_is_not_written(repository, made, tmp_path, monkeypatch):
    newer = with_records(made, lambda r: replace(r, value=(r.value or 0) * 1.01))
    prepared = prepare(
        source_of(newer, tmp_path / "newer"), repository.publication(), Settings(), repository.trust
    )
    before = everything(repository.root)
    plain = Path.replace

    def full(self: Path, target: Path) -> Path:
        if target.name == README:
            raise OSError(28, "No space left on device")
        return plain(self, target)

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OutputError, match=r"No space left on device\. It is as it was"):
        write(prepared, repository.root)
    assert everything(repository.root) == before


def test_the_same_numbers_of_another_day_keep_the_first_date(repository, made, tmp_path):
    later = replace(made, run={**made.run, "created": "2031-01-01T00:00:00+00:00"})
    assert repository.publish(source_of(later, tmp_path / "later")).changes == ()
    assert repository.failing() == {}


def test_evidence_that_lost_a_file_gets_it_back(repository, made, tmp_path):
    lost = repository.folder / "records" / f"{ENTRY}.parquet"
    lost.unlink()
    assert f"{ENTRY} records" in repository.failing()
    repository.publish(source_of(made, tmp_path / "source"))
    assert repository.failing() == {}


def test_over_evidence_that_was_edited_nothing_is_published(repository, made, tmp_path):
    source = source_of(made, tmp_path / "source")
    before = repository.folder / "records" / f"{ENTRY}.parquet"
    (repository.folder / "records" / "structure[all].parquet").replace(before)
    with pytest.raises(ReportError, match="nothing is published"):
        repository.publish(source)


def test_a_reproduction_that_is_no_text(repository, tmp_path):
    source = rerun(repository, tmp_path / "again")
    (source / REPRODUCTION).write_bytes(b"\xff\xfe{")
    with pytest.raises(ReportError, match="is not a reproduction"):
        repository.publish(source)
    folder = repository.folder / REPRODUCTIONS / "0123456789ab"
    folder.mkdir(parents=True)
    (folder / REPRODUCTION).write_bytes(b"\xff\xfe{")
    assert again(repository)[0] == "fails"
