"""Results for leaderboards: for registered benchmarks alone, as a Hub on this machine says."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from huggingface_hub import EvalResultEntry, parse_eval_result_entries

from hub_client import lead_to
from hub_contents import Failure, Hub, Repository
from hub_server import serving
from made import report, result, score
from pytest_bias.cli.eval_results import with_eval_results
from pytest_bias.errors import PublishError
from pytest_bias.evidence.publishing import Prepared
from pytest_bias.hub.benchmarks import Benchmark, read
from pytest_bias.hub.repository import commit, look
from pytest_bias.records.report import DataInfo, Report
from pytest_bias.reports.publication_layout import Place
from pytest_bias.settings.settings import Settings

NAME, DATASET = "org-a/model", "Anthropic/discrim-eval"
COMMIT = "6986d6ea802e019d01e94dd59597e94fbd8f8c4a"
PATH = ".eval_results/pytest-bias-discrim_eval-en.yaml"
STALE = ".eval_results/pytest-bias-old_suite-en.yaml"
TASKS = ({"id": "discrim_eval-en", "config": "explicit"}, {"id": "other"})
DEFINED = {"name": "x", "evaluation_framework": "pytest-bias", "tasks": list(TASKS)}
DATA = DataInfo(DATASET, "CC-BY-4.0", COMMIT, "1" * 64, 9450, items_sha256="2" * 64)
GAP = score(
    *("gap", 0.1234567890123),
    **{"ideal": 0, "bounds": (None, None), "unit": "log odds", "interval": (0.05, 0.2), "n": 70},
)
DISCRIM = result("discrim_eval", "en", [GAP], kind="downstream", title="Discrim", data=DATA)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """Serve a model with results of others and an earlier one of ours, and a benchmark."""
    files = {STALE: b"- value: 1\n", ".eval_results/theirs.yaml": b"- value: 2\n"}
    model = Repository({"1" * 40: files}, {"main": "1" * 40})
    definition = {"eval.yaml": yaml.safe_dump(DEFINED).encode()}
    dataset = Repository({"2" * 40: definition}, {"main": "2" * 40})
    repositories = {NAME: model, f"datasets/{DATASET}": dataset}
    served = Hub(repositories, tokens={"hf_own": "write"}, benchmarks=["cais/hle", DATASET])
    with serving(served) as found:
        lead_to(found, monkeypatch, tmp_path, "hf_own")
        yield found


def prepared(made: Report, *, keeps: bool = False, offline: bool = False) -> Prepared:
    place = Place.on_hub(NAME, made)
    return with_eval_results(
        *(Prepared(made, (), ()), look(NAME), place, Settings()), keeps=keeps, offline=offline
    )


def told(made: Report) -> str:
    """Return why a report has no result; nothing is written then."""
    found = prepared(made, keeps=True)
    assert found.changes == ()
    (why,) = found.notices
    return why


def define(hub: Hub, files: dict[str, bytes] | None = None, **other: object) -> None:
    """Commit another definition of the benchmark, or none."""
    content = yaml.safe_dump({**DEFINED, **other}).encode()
    dataset = hub.repositories[f"datasets/{DATASET}"]
    commit = f"{len(dataset.commits) + 2}" * 40
    dataset.commits[commit] = {"eval.yaml": content} if files is None else files
    dataset.names["main"] = commit


@pytest.mark.usefixtures("hub")
def test_a_result_as_the_client_of_the_hub_reads_it() -> None:
    made = report(DISCRIM)
    found = prepared(made)
    assert found.notices == ()
    assert [c.path for c in found.changes] == [PATH, STALE]
    (entry,) = parse_eval_result_entries(yaml.safe_load(found.files[PATH]))
    assert entry == EvalResultEntry(
        dataset_id=DATASET,
        task_id="discrim_eval-en",
        value=0.1234567890123,
        dataset_revision=COMMIT,
        date="2026-11-27T12:00:00+00:00",
        source_url="https://huggingface.co/org-a/model/blob/main/bias/"
        f"{made.digest[7:19]}/report.json",
        source_name="pytest-bias report",
        notes="gap, log odds; best at its ideal, 0; 95 % interval 0.05 to 0.2; n 70",
    )


def test_it_is_published_withdrawn_and_not_written_twice(hub: Hub) -> None:
    made = prepared(report(DISCRIM))
    commit(look(NAME), made.files, removed=made.removed, message="Results")
    head = hub.repositories[NAME].head
    assert set(head) == {PATH, ".eval_results/theirs.yaml"}
    assert prepared(report(DISCRIM)).changes == ()
    (changed,) = prepared(report(replace(DISCRIM, scores=(replace(GAP, value=0.1),)))).changes
    assert (changed.path, changed.before) == (PATH, head[PATH])
    assert yaml.safe_load(changed.after or b"")[0]["value"] == 0.1
    # A report without the suite withdraws its result, unless it is to be kept.
    other = report(result("seat", scores=[score()], title="SEAT"))
    (gone,) = prepared(other).changes
    assert (gone.path, gone.before, gone.after) == (PATH, head[PATH], None)
    assert prepared(other, keeps=True).changes == ()


def test_what_is_not_registered_gets_no_result(hub: Hub) -> None:
    hub.benchmarks = ["cais/hle"]
    assert told(report(DISCRIM)) == (
        f"No result for discrim_eval[en]: {DATASET} is not registered as a benchmark."
    )


def test_the_leaderboard_of_another_framework_or_task_gets_no_result(hub: Hub) -> None:
    define(hub, evaluation_framework="inspect-ai")
    assert "is registered for results of inspect-ai, and not of pytest-bias" in told(
        report(DISCRIM)
    )
    define(hub, tasks=[{"id": "explicit"}])
    assert f"the eval.yaml of {DATASET} has no task discrim_eval-en" in told(report(DISCRIM))
    define(hub, {"README.md": b""})
    assert "registered for results of no framework" in told(report(DISCRIM))


@pytest.mark.parametrize(
    ("suite", "why"),
    [
        (replace(DISCRIM, sampled=10, n_available=70), "a sample was measured"),
        (replace(DISCRIM, data=replace(DATA, local=True)), "your own copy of the data"),
        (replace(DISCRIM, data=replace(DATA, visibility="hidden")), "no score of it can be shown"),
        (replace(DISCRIM, scores=(replace(GAP, value=None),)), "no score of it can be shown"),
        (replace(DISCRIM, draft=True), "it is a draft, a control, or not about bias"),
        (replace(DISCRIM, version="0"), "not those of one dataset of the Hub"),
        (result(scores=[score()]), "not those of one dataset of the Hub"),
    ],
)
def test_what_is_no_result_for_a_leaderboard(hub: Hub, suite, why: str) -> None:
    assert why in told(report(suite))
    # The Hub is asked only for what may be written.
    assert not any("/api/datasets" in asked for asked in hub.asked)


def test_without_an_answer_of_the_hub_nothing_is_written(hub: Hub) -> None:
    hub.failures["benchmarks"] = [Failure(403, message="Forbidden")]
    with pytest.raises(PublishError, match="does not say which datasets are benchmarks"):
        prepared(report(DISCRIM))
    with pytest.raises(PublishError, match="this run is offline"):
        prepared(report(DISCRIM), offline=True)


@pytest.mark.parametrize(
    "content", [b"", b"[", b"- 1", b"tasks: 1", b"tasks: [1, {id: 2}]\nevaluation_framework: [a]"]
)
def test_a_definition_of_another_form_defines_nothing(content: bytes) -> None:
    assert read(content) == Benchmark()
