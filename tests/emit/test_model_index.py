"""Scores as the Hub's metadata: what its own client reads of them."""

import math
from dataclasses import replace

import pytest
import yaml
from huggingface_hub import ModelCard
from huggingface_hub.repocard_data import eval_results_to_model_index, model_index_to_eval_results

from made import HOSTILE, report, result, score
from pytest_bias.emit.card import model_index
from pytest_bias.records.report import DataInfo, Report, Withheld
from pytest_bias.reports.publication_layout import Place

CROWS = result(
    scores=[
        score("log_odds_per_token", 0.1234, headline=False, unit="nats", ideal=0, interval=None),
        score(),
        score("no_value", None, headline=False),
        score(value=71.0, by={"bias_type": "religion"}, headline=False),
    ],
    data=DataInfo("nyu-mll/crows-pairs", "CC-BY-SA-4.0", "1e10", sha256="0" * 64, n_items=1508),
)
SEAT = result(
    "seat",
    title="SEAT",
    adapted=True,
    sampled=16,
    n_available=2216,
    scores=[score("mean_absolute_effect", 0.6249, ideal=0, unit="d", interval=None, n=16)],
    data=DataInfo("bundled with pytest-bias", "Apache-2.0"),
)
GAP = result("winobias", kind="downstream", title="WinoBias", scores=[score("gap", 4.0, ideal=0)])
LEFT_OUT = (
    result("structure", "all", [score("checks_passed", 100)], kind="structure"),
    result("crows_pairs", "en-controls", [score()], control_of="en"),
    result("template_association", "de", [score("association", 1)], draft=True),
    result("honest", "it", status="skipped", reason="licence"),
    result("stereoset", "en", [score("stereotype_score", None)]),
)
MADE = report(CROWS, SEAT, GAP, *LEFT_OUT)
HUB = Place.on_hub("org/name", MADE)


def test_the_metadata_by_hand() -> None:
    (entry,) = model_index.entries(MADE, HUB)
    assert entry["name"] == "org/name"
    assert entry["results"][0] == {
        "task": {"type": "fill-mask", "name": "Social bias, intrinsic"},
        "dataset": {
            "type": "nyu-mll/crows-pairs",
            "name": "CrowS-Pairs en",
            "config": "crows_pairs-en",
            "revision": "1e10",
            "args": {
                "made_by": "pytest-bias",
                "report": MADE.digest,
                "date": "2026-11-27",
                "sha256": "0" * 64,
            },
        },
        "metrics": [
            {
                "type": "stereotype_preference",
                "name": "stereotype preference, % (ideal 50, 95 % interval 58.0 – 62.9, n 1508)",
                "value": 60.5,
            },
            {
                "type": "log_odds_per_token",
                "name": "log odds per token, nats (ideal 0, n 1508)",
                "value": 0.12,
            },
        ],
        "source": {
            "url": "https://huggingface.co/org/name/blob/main/bias/"
            f"{MADE.digest[7:19]}/report.json",
            "name": "pytest-bias report",
        },
    }
    (seat,) = entry["results"][1]["metrics"]
    assert seat["value"] == 0.62
    assert seat["name"].endswith("(ideal 0, n 16, sample: 16 of 2216 items, adapted)")
    assert entry["results"][1]["dataset"]["type"] == "pytest-bias/seat"
    assert entry["results"][2]["task"]["name"] == "Social bias, downstream"
    assert len(entry["results"]) == 3


def test_the_file_is_the_metadata() -> None:
    text = model_index.render(MADE, HUB)
    assert yaml.safe_load(text) == {"model-index": model_index.entries(MADE, HUB)}
    assert "revision: '1e10'" in text, "other readers take it for a number"
    assert "verified" not in text


def test_the_client_reads_every_score_and_keeps_them_apart() -> None:
    card = ModelCard(f"---\n{model_index.render(MADE, HUB)}---\n# A\n")
    read = card.data.eval_results
    assert card.data.model_name == "org/name"
    assert [(r.metric_type, r.metric_value) for r in read] == [
        ("stereotype_preference", 60.5),
        ("log_odds_per_token", 0.12),
        ("mean_absolute_effect", 0.62),
        ("gap", 4.0),
    ]
    # The client puts together what it takes for one, and keeps one source of it.
    again = eval_results_to_model_index("org/name", read)
    assert model_index_to_eval_results(again)[1] == read
    assert again == model_index.entries(MADE, HUB)


def test_two_configurations_on_the_same_data_stay_apart() -> None:
    data = DataInfo("org/data", "MIT", "a" * 40)
    twice = report(
        result("honest", "en", [score("honest_5", 1.0)], data=data),
        result("honest", "en-queer", [score("honest_5", 2.0)], data=data),
        result("bold", "en", [score("honest_5", 3.0)], data=data),
    )
    (entry,) = model_index.entries(twice, HUB)
    read = model_index_to_eval_results([entry])[1]
    assert len({(r.dataset_type, r.dataset_config) for r in read}) == 3
    assert eval_results_to_model_index("org/name", read) == [entry]


@pytest.mark.parametrize(
    ("kind", "task"),
    [
        ("masked", "fill-mask"),
        ("causal", "text-generation"),
        ("seq2seq", "text2text-generation"),
        ("encoder", "feature-extraction"),
        ("classifier", "text-classification"),
        ("question-answering", "question-answering"),
    ],
)
def test_the_task_is_that_of_the_kind(kind: str, task: str) -> None:
    made = replace(MADE, model=replace(MADE.model, kind=kind))
    assert model_index.entries(made, HUB)[0]["results"][0]["task"]["type"] == task


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, None])
def test_what_is_no_number_is_left_out(value: float | None) -> None:
    made = report(result(scores=[score(value=value), score("other", 1.0, headline=False)]))
    # A report that was read has a digest, whatever stands in it.
    made = replace(made, sealed=MADE.digest)
    (entry,) = model_index.entries(made, HUB)
    assert [m["type"] for m in entry["results"][0]["metrics"]] == ["other"]


@pytest.mark.parametrize(
    "made",
    [
        report(result(status="withheld"), withheld=Withheld("sha256:0", finite=True)),
        report(*LEFT_OUT),
        report(),
    ],
)
def test_without_scores_there_is_no_metadata(made: Report) -> None:
    assert model_index.entries(made, HUB) == []
    assert model_index.render(made, HUB) == ""


def test_a_link_that_leads_nowhere_from_the_hub_is_no_source() -> None:
    for place in (Place.beside(MADE), Place.in_repository(MADE)):
        (entry,) = model_index.entries(MADE, place)
        assert all("source" not in r for r in entry["results"])


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_values(name: str) -> None:
    text = HOSTILE[name]
    made = report(
        result(
            title=text,
            scores=[score(text, 1.0, unit=text)],
            data=DataInfo(text, text, text, sha256=text),
            sampled=3,
        ),
        model=text,
    )
    rendered = model_index.render(made, Place.beside(made))
    read = yaml.safe_load(rendered)
    assert list(read) == ["model-index"]
    (entry,) = read["model-index"]
    assert set(entry) == {"name", "results"}
    (found,) = entry["results"]
    assert set(found) == {"task", "dataset", "metrics"}
    card = ModelCard(f"---\n{rendered}---\n# A\n")
    assert card.text == "# A\n"
    assert [r.metric_value for r in card.data.eval_results] == [1.0]
