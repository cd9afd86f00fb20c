"""CrowS-Pairs: against the loop of the published script, and against published scores."""

import csv
import gzip
import io
import re

import pytest

import ours
import plain

NATS = 1e-3
MODELS = ("bert-tiny", "wordpiece", "byte-level", "unigram")
SAMPLES = (pytest.param(8, marks=pytest.mark.slow, id="eighth"), pytest.param(120, id="few"))


@pytest.mark.parametrize("step", SAMPLES)
@pytest.mark.by_day(name=("wordpiece",))
@pytest.mark.parametrize("name", MODELS)
def test_sums_outcomes_and_percentages_equal_the_loop(name, step, checkpoint, data_dir, measured):
    path = data_dir / "crows_pairs" / "crows_pairs_anonymized.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    slow = plain.masked(checkpoint(name))
    model = ours.model(checkpoint(name))
    # The script lowers the text for models it lists as uncased; ours leaves that to the tokenizer.
    lowers = model.identity.lowercases
    loop, n_shared = {}, {}
    # By day fewer pairs are looked at for those that are never left out.
    for number, row in list(enumerate(rows))[:: max(1, step // 15)]:
        texts = [row[c].lower() if lowers else row[c] for c in ("sent_more", "sent_less")]
        more, less = (slow.tokenizer.encode(t) for t in texts)
        forward = plain.shared_positions(more, less)
        backward = [(i, j) for j, i in plain.shared_positions(less, more)]
        # Pairs whose shared tokens depend on the order of the sentences are few: none is left out.
        if number % step and forward == backward:
            continue
        direction = row["stereo_antistereo"]
        item = f"crows/{number:04d}"
        loop[item] = (*plain.crows_pair(slow, *texts, direction), direction)
        n_shared[item] = len(forward if direction == "stereo" else backward)
    items = [i for i in ours.items("crows_pairs", "en", data_dir) if i.id in loop]
    records = ours.records("crows_pairs", model, items)

    assert [r.item for r in records if r.status == "scored"] == sorted(loop)
    largest, close, flips = 0.0, 0, 0
    for record in records:
        more, less, direction = loop[record.item]
        found = [record.detail[side] for side in ("more", "less")]
        largest = max(largest, abs(found[0] - more), abs(found[1] - less))
        assert record.by["direction"] == direction
        for side in ("more", "less"):
            assert record.detail[f"tokens_{side}"] == n_shared[record.item]
        if abs(more - less) >= NATS:
            assert record.value == 100 * (more > less), record.item
        else:
            close += 1
            flips += outcome(*found) != outcome(more, less)
    measured(f"{len(records)} pairs, {close} closer than {NATS}, {flips} flips", largest)
    assert largest < NATS

    theirs = plain.crows_percentages(loop.values())
    mine = ours.whole(ours.scores("crows_pairs", records))
    # On other hardware a pair on the edge of a rounded decimal may fall to the other side.
    slack = 1e-9 + 100 * flips / len(records)
    assert mine["stereotype_preference_reference"] == pytest.approx(theirs.metric, abs=slack)
    if not flips:
        assert mine["stereotype_score"] == pytest.approx(theirs.stereotype, abs=1e-9)
        assert mine["antistereotype_score"] == pytest.approx(theirs.antistereotype, abs=1e-9)


def outcome(more, less):
    """Return 1, 0 or -1 under the published script's rounding."""
    more, less = round(more, 3), round(less, 3)
    return (more > less) - (more < less)


def record(number, row, more, less):
    """Return the record of a published item score."""
    item = ours.Item(
        f"crows/{number:04d}",
        f"crows/{number:04d}",
        {},
        by={"bias_type": row["bias_type"], "direction": row["stereo_antistereo"]},
    )
    sides = {"more": more, "less": less, "tokens_more": 1, "tokens_less": 1}
    value = 50.0 if more == less else 100.0 * (more > less)
    return item.scored(value, sides | {f"aul_{k}": v for k, v in sides.items()})


def published(data_dir, benchmark, model, config):
    """Return metric to value of one model from the list of published scores."""
    with (data_dir / "published_scores.csv").open(encoding="utf-8", newline="") as file:
        return {
            (row["metric"], found[1] if found.groups() else ""): float(row["value"])
            for row in csv.DictReader(file)
            if row["benchmark"] == benchmark
            and row["model"] == model
            and (found := re.fullmatch(config, row["config"]))
        }


def as_published(scores):
    """Return the scores under the names of the published script's output."""
    names = {
        "stereotype_preference_reference": "metric_score",
        "stereotype_score": "stereotype_score",
        "antistereotype_score": "antistereotype_score",
    }
    return {
        (names[metric], ""): round(value, 2)
        for metric, value in ours.whole(scores).items()
        if metric in names
    }


def published_items(data_dir, model):
    """Return the records that the published item scores of a model are."""
    path = data_dir / "crows_pairs" / "reference_item_scores" / f"tidy_{model}.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return [
            record(int(row["row"]), row, float(row["sent_more_pll"]), float(row["sent_less_pll"]))
            for row in csv.DictReader(file)
        ]


@pytest.mark.parametrize(
    ("raw", "tidy"), [("bert", "bert-base-uncased"), ("roberta", "roberta-large")]
)
def test_raw_item_scores_are_exchanged_on_antistereotypical_rows(raw, tidy, data_dir):
    """A version of the script wrote the two columns the wrong way round there."""
    path = data_dir / "crows_pairs" / "reference_item_scores" / f"{raw}_crows_score.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    records = []
    for number, row in enumerate(rows):
        scores = [float(row[f"sent_{side}_score"]) for side in ("more", "less")]
        if row["stereo_antistereo"] == "antistereo":
            scores.reverse()
        records.append(record(number, row, *scores))
    assert [r.detail for r in records] == [r.detail for r in published_items(data_dir, tidy)]
    # The columns as they are would turn the antistereotypical score round.
    right, wrong = (
        ours.whole(ours.scores("crows_pairs", of))["antistereotype_score"]
        for of in (
            records,
            [
                record(n, row, float(row["sent_more_score"]), float(row["sent_less_score"]))
                for n, row in enumerate(rows)
            ],
        )
    )
    assert right + wrong == pytest.approx(100)
    assert right != wrong


@pytest.mark.parametrize(
    ("model", "expected", "ties"),
    [("bert-base-uncased", (60.48, 61.09, 56.88), 0), ("roberta-large", (65.45, 66.80, 57.80), 1)],
)
def test_published_item_scores_give_published_percentages(model, expected, ties, data_dir):
    records = published_items(data_dir, model)
    found = as_published(ours.scores("crows_pairs", records))
    assert tuple(found.values()) == expected
    listed = published(data_dir, "crows_pairs", model, "original 1508, masked .*")
    assert listed.pop(("num_neutral", "")) == ties == sum(r.value == 50 for r in records)
    assert found == listed


@pytest.mark.parametrize("model", ["bert-base-uncased", "roberta-large"])
def test_published_item_scores_give_published_values_by_bias_type(model, data_dir):
    records = published_items(data_dir, model)
    listed = published(data_dir, "crows_pairs", model, r"bias_type=(.*) n=\d+")
    assert len(listed) == 9
    by_type = {
        s.by["bias_type"]: s
        for s in ours.scores("crows_pairs", records, only="stereotype_preference")
        if s.by
    }
    for (_, bias_type), value in listed.items():
        own = [r for r in records if r.by["bias_type"] == bias_type]
        reference = ours.whole(ours.scores("crows_pairs", own))["stereotype_preference_reference"]
        assert round(reference, 2) == value, bias_type
        ties = sum(r.value == 50 for r in own)
        # In our own score a tie counts one half, in the published one nothing.
        assert by_type[bias_type].value == pytest.approx(reference + 50 * ties / len(own))
        assert by_type[bias_type].n == len(own)


MULTILINGUAL = {
    # Name of the file: language, model, metric score, number of ties.
    "eng_bert": ("en", "bert-base-uncased", 61.45, 2),
    "eng_roberta": ("en", "roberta-large", 65.14, 2),
    "french_camembert": ("fr", "camembert", 58.30, 2),
    "french_flaubert": ("fr", "flaubert", 55.02, 3),
    "dutch_bertje": ("nl", "GroNLP/bert-base-dutch-cased", 54.82, 0),
    "dutch_mbert": ("nl", "bert-base-multilingual-cased", 52.43, 0),
    "dutch_robbert": ("nl", "pdelobelle/robbert-v2-dutch-base", 54.82, 0),
}


@pytest.mark.parametrize("name", MULTILINGUAL)
def test_published_item_scores_in_three_languages_give_published_values(name, data_dir):
    language, model, expected, ties = MULTILINGUAL[name]
    folder = data_dir / "crows_pairs_multilingual" / "reference_item_scores"
    rows = multilingual_rows(gzip.decompress((folder / f"{name}.csv.gz").read_bytes()), name)
    records = [
        record(number, row, float(row["sent_more_score"]), float(row["sent_less_score"]))
        for number, row in enumerate(rows)
    ]
    assert len(records) == 1463
    assert sum(r.value == 50 for r in records) == ties
    found = ours.whole(ours.scores("crows_pairs", records))
    assert round(found["stereotype_preference_reference"], 2) == expected
    config = rf"revised/translated 1463 lang={language}(?: n=\d+)?"
    listed = published(data_dir, "crows_pairs_multilingual", model, config)
    assert listed[("metric_score", "")] == expected
    for metric, theirs in (("stereotype", "stereo"), ("antistereotype", "antistereo")):
        own = [r for r in records if r.by["direction"] == theirs]
        untied = sum(r.value != 50 for r in own)
        # These were computed with ties kept in the number of pairs of a direction.
        kept = found[f"{metric}_score"] * untied / len(own)
        assert round(kept, 2) == listed[(f"{theirs}_score", "")]


def multilingual_rows(content, name):
    """Read a file as its makers wrote it: one with semicolons and bare commas, three Mac Roman."""
    text = content.decode("mac_roman" if name.startswith("dutch") else "utf-8")
    if name == "eng_bert":
        return list(csv.DictReader(text.splitlines(), delimiter=";", quoting=csv.QUOTE_NONE))
    return list(csv.DictReader(io.StringIO(text, newline="")))
