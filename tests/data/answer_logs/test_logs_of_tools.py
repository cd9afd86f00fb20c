"""Logs that the tools wrote (README.md beside this): what is read, and what is refused."""

import json
import shutil
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest

from pytest_bias.data.answer_logs import AnswerLog, read_answers
from pytest_bias.errors import BiasError

HERE = Path(__file__).parent
INSPECT = HERE / "inspect"
DATE = "2026-12-01T00-00-00.000000"
CONTEXT = "I overheard a teen and a retiree talking"


def samples(task: str, model: str = "gpt2") -> Path:
    return HERE / "lm_eval" / model / task / f"samples_{task}_{DATE}.jsonl"


def refused(*paths: Path) -> str:
    with pytest.raises(BiasError) as found:
        read_answers(paths)
    return str(found.value)


def said(log: AnswerLog) -> list[str | None]:
    return [a.answer for a in log.answers]


# Inspect


def test_inspect_with_epochs_and_choices_shuffled_by_the_data_set() -> None:
    log = read_answers([INSPECT / "shuffled.eval"])
    assert (log.format, log.tool, log.version) == ("inspect", "inspect-ai", "0.3.285")
    assert (log.model, log.task, log.notices, log.unfinished) == ("mockllm/model", "bbq", (), None)
    ids = [f"Age-{n}" for n in range(1356, 1360)]
    assert [(a.item, a.sample) for a in log.answers] == [(i, n) for n in (0, 1) for i in ids]
    one = log.answers[1]
    # As the prompt in the log lists them: the data set has another order.
    assert one.options == ("The teen", "The retiree", "Not enough info")
    assert (one.answer, one.finished) == ("ANSWER: B", "stop")
    assert one.texts[0].startswith(CONTEXT)
    assert one.texts[0] == f"{one.texts[1]}\n\n{one.texts[2]}"
    # The model stopped at its limit before it wrote anything.
    assert [(a.answer, a.finished) for a in log.answers[3::4]] == [("", "length")] * 2


def test_inspect_with_choices_shuffled_by_the_solver() -> None:
    """Inspect rewrites such samples; its scorer says what was sent and what came back."""
    path = INSPECT / "shuffled_by_solver.json"
    log = read_answers([path])
    written = json.loads(path.read_text(encoding="utf-8"))["samples"]
    assert len(log.answers) == len(written) == 4
    for answer, sample in zip(log.answers, written, strict=True):
        shown = "\n".join(f"{c}) {o}" for c, o in zip("ABC", answer.options, strict=True))
        assert shown in sample["scores"]["choice"]["explanation"]
    assert said(log) == ["ANSWER: A", "ANSWER: B", "I would say (C), but it is not said.", ""]
    rewritten = [s["output"]["completion"] for s in written]
    assert rewritten[:2] == ["ANSWER: B", "ANSWER: A"]


def test_inspect_that_stopped() -> None:
    log = read_answers([INSPECT / "stopped.eval"])
    assert said(log) == ["ANSWER: A", "ANSWER: B"]
    assert log.unfinished is not None
    assert "Inspect's run ended in an error: RuntimeError" in log.unfinished
    assert log.notices[0].startswith("stopped.eval: samples that ended in an error")


def test_inspect_without_ids_and_with_a_sample_that_failed() -> None:
    log = read_answers([INSPECT / "numbered.eval"])
    assert [a.item for a in log.answers] == [None] * 3
    assert log.answers[0].texts[0].startswith(CONTEXT)
    assert "sample 2, epoch 1" in log.notices[0]
    assert "known by their texts" in log.notices[1]
    assert log.unfinished is None


def header(**more: Any) -> dict[str, Any]:
    spec = {"model": "m", "task": "t", "dataset": {"sample_ids": ["a"], "samples": 1}}
    return {"version": 2, "status": "success", "eval": spec, **more}


def sample(**more: Any) -> dict[str, Any]:
    output = {"completion": "A", "choices": [{"message": {"content": "A"}}]}
    return {"id": "a", "epoch": 1, "input": "Q?", "output": output, **more}


def archive(path: Path, members: dict[str, Any], how: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", how) as zipped:
        for name, value in members.items():
            zipped.writestr(name, value if isinstance(value, str) else json.dumps(value))
    return path


def log_of(path: Path, *made: Any, **more: Any) -> Path:
    members = {f"samples/{n}.json": one for n, one in enumerate(made)}
    return archive(path, {"header.json": header(**more), **members})


def test_inspect_packed_as_older_versions_do(tmp_path: Path) -> None:
    assert said(read_answers([log_of(tmp_path / "a.eval", sample())])) == ["A"]
    # A run that was killed leaves no header.
    members = {"_journal/start.json": header(), "samples/a.json": sample()}
    del members["_journal/start.json"]["status"]
    log = read_answers([archive(tmp_path / "b.eval", members)])
    assert log.unfinished == "b.eval: Inspect's run had not ended."


def test_inspect_with_attachments_parts_and_what_the_scorer_read(tmp_path: Path) -> None:
    parts = [{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "B"}]
    found = read_answers(
        [
            log_of(
                tmp_path / "a.eval",
                sample(input="attachment://x", attachments={"x": "Long?"}),
                sample(epoch=2, output={"choices": [{"message": {"content": parts}}]}),
                sample(epoch=3, output={"choices": [{}]}, scores={"choice": {"answer": "C"}}),
                sample(epoch=4, invalidation={"author": "me"}),
            )
        ]
    )
    assert said(found) == ["A", "B", "C"]
    assert found.answers[0].texts == ("Long?",)
    assert "were invalidated, and are left out: 1" in found.notices[0]


BROKEN: dict[str, Any] = {
    "no id": ({"input": "Q?", "output": {}}, "has no id, which Inspect writes"),
    "text": ("words", "is not as Inspect writes it"),
    "epoch": (sample(epoch=0), "epochs are numbered from 1"),
    "output": (sample(output="A"), "is not as Inspect writes it"),
    "choices": (sample(choices=[1]), "choices are no texts"),
    "failed": (sample(error={"message": "x"}), "no sample with an answer"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_sample_that_is_none(name: str, tmp_path: Path) -> None:
    made, message = BROKEN[name]
    made = json.dumps(made) if isinstance(made, str) else made
    assert message in refused(log_of(tmp_path / "a.eval", made))


def test_archives_that_cannot_be_read(tmp_path: Path) -> None:
    whole = (INSPECT / "shuffled.eval").read_bytes()
    path = tmp_path / "a.eval"
    path.write_bytes(whole[: len(whole) // 2])
    assert "It may be cut off, or still being written" in refused(path)
    # One byte within the first packed sample.
    with zipfile.ZipFile(INSPECT / "shuffled.eval") as zipped:
        info = zipped.getinfo("samples/Age-1356_epoch_1.json")
    damaged = bytearray(whole)
    damaged[info.header_offset + info.compress_size // 2] ^= 0xFF
    path.write_bytes(damaged)
    assert "samples/Age-1356_epoch_1.json is damaged" in refused(path)
    path = log_of(tmp_path / "b.eval", sample())
    content = bytearray(path.read_bytes())
    for sign, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        struct.pack_into("<H", content, content.index(sign) + at, 1)
    path.write_bytes(content)
    assert "header.json is encrypted" in refused(path)
    assert "without header.json: no log of Inspect" in refused(
        archive(tmp_path / "c.eval", {"x": "1"})
    )
    assert "is a zip archive, which is no known format" in refused(
        archive(tmp_path / "d.zip", {"x": "1"})
    )


def test_an_archive_that_would_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("header.json", json.dumps(header()))
        with zipped.open("samples/a.json", "w") as member:
            for _ in range(257):
                member.write(b" " * (1 << 20))
    assert path.stat().st_size < 1_000_000
    assert "samples/a.json is larger than 256 MiB" in refused(path)


# lm-evaluation-harness


def test_harness_with_options() -> None:
    log = read_answers([samples("bbq")])
    assert (log.format, log.tool) == ("lm-eval", "lm-evaluation-harness")
    assert (log.version, log.model, log.task) == ("0.4.13", "tiny/gpt2", "bbq")
    assert (len(log.answers), log.notices, log.unfinished) == (4, (), None)
    one = log.answers[0]
    assert one.options[:3] == ("The teen", "The retiree", "Unknown")
    assert (len(one.options), [*one.values]) == (12, [*one.options])
    assert (one.kind, one.answer, one.item) == ("log-likelihood", None, None)
    assert one.texts[1] == "Who is a binge drinker?"
    assert one.texts[2] == f"{one.texts[0]}\n\nQ: {one.texts[1]}\nA:"


def test_harness_with_pairs_of_sentences() -> None:
    path = samples("crows_pairs_english")
    first = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    one = read_answers([path]).answers[0]
    assert one.texts == (first["doc"]["sent_more"], first["doc"]["sent_less"])
    more, less = (one.values[text] for text in one.texts)
    # The harness's own metric, from the same numbers.
    assert abs(more - less) == pytest.approx(first["likelihood_diff"])
    assert (more > less) == bool(first["pct_stereotype"])


def test_harness_with_generated_texts() -> None:
    log = read_answers([samples("bbq_generate")])
    lines = samples("bbq_generate").read_text(encoding="utf-8").splitlines()
    assert said(log) == [json.loads(line)["resps"][0][0] for line in lines]
    assert all(not a.values and not a.options for a in log.answers)


def rewritten(path: Path, change: Any) -> Path:
    lines = samples("crows_pairs_english").read_text(encoding="utf-8").splitlines()
    rows = [row for line in lines for row in change(json.loads(line))]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_harness_before_0_4_4_repeats_and_filters(tmp_path: Path) -> None:
    new = read_answers([samples("crows_pairs_english")])

    def old(row: Any) -> list[Any]:
        row["arguments"] = [[*one.values()] for one in row["arguments"].values()]
        row["resps"] = [[[float(v), g == "True"] for v, g in r] for r in row["resps"]]
        return [row, row | {"filter": "strict"}]

    log = read_answers([rewritten(tmp_path / "samples_x.jsonl", old)])
    assert [dict(a.values) for a in log.answers] == [dict(a.values) for a in new.answers]
    assert (log.model, log.version) == (None, None)
    assert "no results_*.json beside it" in log.notices[0]
    assert "what the filters none, strict made" in log.notices[1]


def test_harness_that_asked_without_context_as_well(tmp_path: Path) -> None:
    def mutual(row: Any) -> list[Any]:
        asked = [*row["arguments"].values()]
        with_context = [one | {"arg_0": "Say:"} for one in asked]
        row["arguments"] = {f"gen_args_{n}": one for n, one in enumerate([*with_context, *asked])}
        row["resps"] = [*row["resps"], [["-1.0", "False"]], [["-2.0", "False"]]]
        return [row]

    log = read_answers([rewritten(tmp_path / "a.jsonl", mutual)])
    expected = read_answers([samples("crows_pairs_english")])
    assert [dict(a.values) for a in log.answers] == [dict(a.values) for a in expected.answers]


def test_harness_with_fewer_samples_than_its_results_count(tmp_path: Path) -> None:
    for path in samples("crows_pairs_english").parent.iterdir():
        shutil.copy(path, tmp_path)
    (path,) = tmp_path.glob("samples_*")
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:3]))
    assert "has 3 of the 4 samples" in str(read_answers([path]).unfinished)
    path.write_bytes(path.read_bytes()[:-40])
    assert f"{path.name}, line 3 is not JSON" in refused(path)
    (results,) = tmp_path.glob("results_*")
    assert "has scores, and no answers" in refused(results)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda row: row["resps"].pop(), "line 1 has 2 requests and 1 responses"),
        (lambda row: row["resps"][1][0].__setitem__(0, "nan"), "line 1: the log-likelihood is nan"),
        (lambda row: row["resps"][1][0].__setitem__(0, "-inf"), "line 1: the log-likelihood is -i"),
        (lambda row: row["resps"].__setitem__(0, 5), "line 1 is not as lm-evaluation-harness"),
        (lambda row: row.pop("doc"), "line 1 has no doc, which lm-evaluation-harness writes"),
    ],
)
def test_a_sample_of_the_harness_that_is_none(change: Any, message: str, tmp_path: Path) -> None:
    def changed(row: Any) -> list[Any]:
        change(row)
        return [row]

    assert message in refused(rewritten(tmp_path / "a.jsonl", changed))


def test_logs_of_two_models_are_two_reports() -> None:
    both = [samples("crows_pairs_english", m) for m in ("gpt2", "gpt2_begin")]
    assert "2 models: tiny/gpt2 (" in refused(*both)
    assert "is samples of lm-eval" in refused(both[0], INSPECT / "shuffled.eval")
    tasks = read_answers([samples("bbq"), samples("crows_pairs_english")])
    assert (tasks.task, len(tasks.answers)) == ("bbq, crows_pairs_english", 8)


# Every Eval Ever


def test_instances_converted_from_inspect() -> None:
    log = read_answers([HERE / "eee" / "from_inspect_samples.jsonl"])
    assert (log.format, log.version, log.model) == ("eee", "0.3.0", "hf/mock")
    first = log.answers[0]
    assert (first.item, first.answer, first.finished) == ("Age-1356", "B", "stop")
    assert first.options == ("The teen", "Not enough info", "The retiree")
    assert first.texts[0].startswith(CONTEXT)


def test_instances_are_read_once_though_written_for_every_metric() -> None:
    path = HERE / "eee" / "from_lm_eval_samples.jsonl"
    assert len(path.read_text(encoding="utf-8").splitlines()) == 8
    log = read_answers([path])
    assert len(log.answers) == 4
    assert [a.item for a in log.answers] == [None] * 4
    assert "only numbers the samples" in log.notices[0]
    # The converter keeps which sentence was likelier, and no log-likelihood.
    likelier = [max(a.values, key=a.values.__getitem__) for a in harness_pairs().answers]
    assert said(log) == likelier
    assert "has scores, and no answers" in refused(HERE / "eee" / "from_lm_eval.json")


def harness_pairs() -> AnswerLog:
    return read_answers([samples("crows_pairs_english")])


def test_instances_of_several_turns(tmp_path: Path) -> None:
    row = json.loads((HERE / "eee" / "from_inspect_samples.jsonl").read_text().splitlines()[0])
    turns = [("user", "Q?"), ("assistant", "Hm."), ("user", "So?"), ("assistant", "A")]
    messages = [{"turn_idx": n, "role": r, "content": c} for n, (r, c) in enumerate(turns)]
    many = row | {"interaction_type": "multi_turn", "output": None, "messages": messages}
    failed = row | {"sample_id": "x", "error": "refused"}
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(many) + "\n" + json.dumps(failed) + "\n", encoding="utf-8")
    log = read_answers([path])
    assert said(log) == ["A"]
    assert log.notices == ("a.jsonl: 1 without an answer: a.jsonl, line 2.",)
