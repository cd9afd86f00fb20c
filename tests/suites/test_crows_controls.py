"""Controls of CrowS-Pairs: the files and their traps, consent, and what stands side by side."""

import csv
from collections import Counter
from pathlib import Path

import pytest

from bias_suites.social import crows_controls
from bias_suites.social.crows_controls import FILES
from bias_suites.social.crows_pairs import SUITE
from pytest_bias.data.sources import DataFolder
from pytest_bias.errors import DataError, DataMissing, LicenceNotAccepted
from stand_ins import Pairs, Texts, records_of, result_of, values

CONTROLS = SUITE.configuration("en-controls")
ACCEPTED = {"crows_pairs": "no clear licence"}


def whole(folder: Path):
    return CONTROLS.load(DataFolder(folder, offline=True, accepted=ACCEPTED))


def written(folder: Path, negation: str, antistereotype: str):
    for file, content in zip(FILES, (negation, antistereotype), strict=True):
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return whole(folder).items


NEGATION = "a0,b0\r\nA0,B0\r\n-a0,\r\n-A0,\r\n--a0,\r\n--A0,\r\n"
ANTISTEREOTYPE = "a0,b0\r\nA0,B0\r\n,b0'\r\n,B0'\r\n"


# The files


def test_the_published_files_are_read_whole(data_dir):
    loaded = whole(data_dir)
    counts = Counter((i.by["control"], i.status) for i in loaded.items)
    assert counts == {
        ("original", None): 250,
        ("negated", None): 59 + 7,
        ("antistereotypical", None): 63,
        ("antistereotypical", "excluded"): 2,
    }
    assert loaded.info.n_items == len(loaded.items) == 381
    assert (loaded.info.local, loaded.info.licence) == (True, "no clear licence")
    clusters = {i.cluster for i in loaded.items}
    assert len(clusters) == 250
    assert {i.cluster for i in loaded.items if i.by["control"] == "original"} == clusters
    found = [DataFolder(data_dir).find(f).sha256 for f in FILES]
    assert found == [f.sha256 for f in FILES]


def test_two_columns_write_their_original_in_two_ways(data_dir):
    excluded = [i for i in whole(data_dir).items if i.status == "excluded"]
    assert [i.id for i in excluded] == [
        "crows/controls/148/antistereotypical/1",
        "crows/controls/158/antistereotypical/1",
    ]
    assert excluded[0].reason == "its file writes the original pair in another way"


def test_originals_are_gender_pairs_of_the_suite_with_the_stereotype_first(data_dir):
    path = data_dir / "crows_pairs" / "crows_pairs_anonymized.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = {(r["sent_more"], r["sent_less"]): r["bias_type"] for r in csv.DictReader(file)}
    pairs = [tuple(i.texts.values()) for i in whole(data_dir).items if i.id.endswith("original")]
    # The others were corrected by hand, none the other way round.
    assert sum(rows.get(pair) == "gender" for pair in pairs) == 207
    assert not any(pair[::-1] in rows for pair in pairs)


def differing(more: str, less: str) -> tuple[set[str], set[str]]:
    first, second = (set(text.lower().strip(".").split()) for text in (more, less))
    return first - second, second - first


def test_every_version_names_the_groups_in_the_same_order(data_dir):
    items = whole(data_dir).items
    original = {i.cluster: i for i in items if i.by["control"] == "original"}
    for item in items:
        more, less = differing(*item.texts.values())
        own_more, own_less = differing(*original[item.cluster].texts.values())
        assert not more & own_less, item.id
        assert not less & own_more, item.id
    # Nobody took a control from its original without a change.
    controls = [i for i in items if i.by["control"] != "original"]
    assert all(i.texts != original[i.cluster].texts for i in controls)


def test_columns_are_pairs_and_rows_their_versions(tmp_path):
    found = written(tmp_path, NEGATION, ANTISTEREOTYPE)
    assert [(i.id, i.cluster, *i.texts.values(), i.by["control"]) for i in found] == [
        ("crows/controls/000/original", "crows/controls/000", "a0", "A0", "original"),
        ("crows/controls/000/negated/1", "crows/controls/000", "-a0", "-A0", "negated"),
        ("crows/controls/000/negated/2", "crows/controls/000", "--a0", "--A0", "negated"),
        ("crows/controls/001/original", "crows/controls/001", "b0", "B0", "original"),
        (
            *("crows/controls/001/antistereotypical/1", "crows/controls/001"),
            *("b0'", "B0'", "antistereotypical"),
        ),
    ]


@pytest.mark.parametrize(
    ("negation", "message"),
    [
        ("", "crows_negation.csv holds no pairs in columns: it needs an even number of rows"),
        ("a,b\nA,B\nc,d\n", "even number of rows, all of the same length, and has 3"),
        ("a,b\nA\n", "all of the same length"),
        ("a\nA\n", "hold different pairs: 1 in .*crows_negation.csv and 2 in .*crows_anti"),
    ],
    ids=["empty", "odd", "ragged", "another number"],
)
def test_a_file_of_another_shape_is_named(tmp_path, negation, message):
    with pytest.raises(DataError, match=message):
        written(tmp_path, negation, ANTISTEREOTYPE)


def test_a_file_that_is_no_text_is_named(tmp_path):
    written(tmp_path, NEGATION, ANTISTEREOTYPE)
    (tmp_path / FILES[1].path).write_bytes("é,b\n".encode("cp1252"))
    with pytest.raises(DataError, match=r"crows_antistereotype\.csv is not UTF-8"):
        whole(tmp_path)


def test_half_a_control_is_unscored_and_so_are_twins(tmp_path):
    found = written(tmp_path, "a,b\nA,B\n-a,-b\n,-b\n", "a,b\nA,B\n")
    assert [(i.id[-9:], i.reason) for i in found if i.status] == [
        ("negated/1", "empty sentence"),
        ("negated/1", "the two sentences are identical"),
    ]


# Consent, and the user's own copy


def test_without_consent_nothing_is_read(data_dir):
    with pytest.raises(LicenceNotAccepted) as caught:
        CONTROLS.load(DataFolder(data_dir))
    assert caught.value.message == (
        "kinit-sk/bias-methodology is under no clear licence, which you have not accepted."
    )
    assert caught.value.hint == (
        "In pytest-bias.yaml: accept_licences: {crows_pairs: no clear licence}"
    )
    # The suite itself is open.
    SUITE.configuration("en").load(DataFolder(data_dir))


def test_only_the_user_s_own_copy_is_read(tmp_path):
    assert all(file.url is None for file in FILES)
    with pytest.raises(DataMissing, match=r"crows_negation\.csv is not in .*never fetched") as told:
        CONTROLS.load(DataFolder(tmp_path, accepted=ACCEPTED))
    assert "--data-dir" in told.value.hint


# Scores, by hand


def items(tmp_path):
    return written(
        tmp_path,
        "a,b,c\nA,B,C\n-a,-b,\n-A,-B,\n--a,,\n--A,,\n",
        "a,b,c\nA,B,C\n,b',c'\n,B',C'\n",
    )


TABLE = {
    **{"a": -1.0, "A": -2.0, "-a": -1.0, "-A": -2.0, "--a": -2.0, "--A": -1.0},
    **{"b": -2.0, "B": -1.0, "-b": -1.0, "-B": -2.0, "b'": -1.0, "B'": -1.0},
    **{"c": -1.0, "C": -2.0, "c'": -1.0, "C'": -2.0},
}


def of(kind):
    return Texts(TABLE.get) if kind == "causal" else Pairs(lambda a, b: (TABLE[a], TABLE[b]))


@pytest.mark.parametrize("kind", ["masked", "causal"])
def test_originals_and_controls_stand_side_by_side(tmp_path, kind):
    found = result_of(SUITE, of(kind), items(tmp_path), config="en-controls")
    # a and c prefer the stereotyped group, b the other.
    assert found.headline.metric == "stereotype_preference"
    assert found.headline.value == pytest.approx(200 / 3)
    assert found.headline.n == 3
    assert values(found, "control_preference") == {
        ("original",): pytest.approx(200 / 3),
        ("negated",): pytest.approx(200 / 3),
        ("antistereotypical",): 75.0,
    }
    # The same pairs before they were changed, each as often as it has versions.
    assert values(found, "original_preference") == {
        ("negated",): pytest.approx(200 / 3),
        ("antistereotypical",): 50.0,
    }
    negated = found.score("control_preference", control="negated")
    assert (negated.n, negated.n_clusters) == (3, 2)
    assert {s.metric for s in found.scores if s.headline} == {"stereotype_preference"}
    assert not [s for s in found.scores if "bias_type" in s.by]


def test_the_suite_itself_has_no_score_of_controls(data_dir):
    few = SUITE.configuration("en").load(DataFolder(data_dir)).items[:20]
    found = result_of(SUITE, Pairs(lambda a, b: (-1.0, -2.0)), few)
    assert {s.metric for s in found.scores} & {"control_preference", "original_preference"} == set()


def test_without_its_original_a_control_has_a_value_of_its_own_only(tmp_path):
    found = result_of(
        SUITE,
        Texts(lambda text: None if text == "b" else TABLE[text]),
        items(tmp_path),
        config="en-controls",
    )
    assert {r.item[15:]: r.value for r in found.records if r.by["control"] == "negated"} == {
        "000/negated/1": 100.0,
        "000/negated/2": 0.0,
        "001/negated/1": 100.0,
    }
    values_of = [
        crows_controls.value_of_original(r)
        for r in found.records
        if r.detail.get("more") and r.by["control"] == "negated"
    ]
    assert values_of == [100.0, 100.0, None]
    assert found.score("original_preference", control="negated").value == 100.0


def test_a_column_is_a_cluster_so_that_no_control_loses_its_original(data_dir):
    from pytest_bias.engine.planning import shard

    found = whole(data_dir).items
    shards = [shard(found, (n, 3)) for n in (1, 2, 3)]
    assert sum(map(len, shards)) == len(found)
    model = Texts(lambda text: -float(len(text)))
    for part in shards:
        records = records_of(SUITE, model, part).values()
        controls = [r for r in records if r.status == "scored" and crows_controls.is_control(r)]
        assert controls
        assert all(r.detail["original"] is not None for r in controls)
