"""Models and data that are not what they should be: one message, an exit code, no traceback."""

import json
import re
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    BertForPreTraining,
    BertForTokenClassification,
    ElectraConfig,
    ElectraForPreTraining,
    XLNetConfig,
    XLNetForSequenceClassification,
)

import tiny_models
from commands import Command, headline, read, statuses, suite
from tiny_architectures import CLASSIFIER, QA, SEQ2SEQ, head

STRUCTURE = ("--suite", "structure")
CROWS = "crows_pairs/crows_pairs_anonymized.csv"
HEADER = ",sent_more,sent_less,stereo_antistereo,bias_type\n"

Tiny = Callable[[str], Path]


@pytest.fixture
def model(tiny: Tiny, tmp_path: Path) -> Path:
    """Return a masked model's folder, to damage."""
    return Path(shutil.copytree(tiny("bert"), tmp_path / "model"))


def edit(path: Path, **changes: Any) -> None:
    plain = {**json.loads(path.read_text(encoding="utf-8")), **changes}
    path.write_text(json.dumps(plain), encoding="utf-8")


# What is no model at all


@pytest.mark.parametrize(
    ("given", "code", "words"),
    [
        ("no/such", 3, ("no/such is not in the cache", "folder", "hf download no/such")),
        ("no/such@v1", 3, ("no/such@v1 is not in the cache",)),
        ("./nowhere", 3, ("'./nowhere'", "no such folder", "org/name@revision")),
        ("/nowhere/at/all", 3, ("no such folder",)),
        ("a/b/c", 3, ("no such folder",)),
        ("nowhere.gguf", 3, ("no such folder or file",)),
        ("org/name@", 2, ("is not a model", "org/name@revision")),
        ("org name", 2, ("is not a model",)),
        ("https://huggingface.co/a/b/tree/main", 2, ("is an address", "name alone: a/b")),
        ("https://huggingface.co", 2, ("is an address", "name alone: org/name")),
        ("", 2, ("no model was named",)),
    ],
)
def test_names(bias: Command, given: str, code: int, words: tuple[str, ...]) -> None:
    ran = bias("run", given, *STRUCTURE).refused(code, *words)
    assert ran.reports == []


@pytest.mark.parametrize("given", ["a" * 300, "~nobody-of-this-name/model"])
def test_names_that_the_system_refuses(bias: Command, given: str) -> None:
    ran = bias("run", given, *STRUCTURE)
    assert ran.code in (2, 3)
    assert "unexpected" not in ran.err


def test_unknown_model_offline_says_offline(bias: Command) -> None:
    assert "offline" in bias("run", "no/such", "--offline").err


def test_hint_for_a_revision_fetches_that_revision(bias: Command) -> None:
    assert "hf download no/such --revision v1" in bias("run", "no/such@v1").err


def test_file_that_is_no_model(bias: Command, tmp_path: Path) -> None:
    (tmp_path / "weights.bin").write_bytes(b"")
    bias("run", "weights.bin").refused(2, "not a .gguf file")
    (tmp_path / "empty.gguf").write_bytes(b"")
    bias("run", "empty.gguf", *STRUCTURE).refused(3, "empty.gguf")
    (tmp_path / "bad.gguf").write_bytes(b"GGUF" + b"\xff" * 200)
    bias("run", "bad.gguf", *STRUCTURE).refused(3, "bad.gguf")


# Incomplete and damaged folders


def test_no_config(bias: Command, model: Path) -> None:
    (model / "config.json").unlink()
    bias("run", model).refused(3, "model has no config.json", "save_pretrained")


@pytest.mark.parametrize("content", ["", "{", "not JSON", "[1, 2]", '"text"'])
def test_config_that_is_no_table(bias: Command, model: Path, content: str) -> None:
    (model / "config.json").write_text(content)
    bias("run", model).refused(3, "the config.json of model is not")


def test_config_of_an_unknown_kind(bias: Command, model: Path) -> None:
    edit(model / "config.json", model_type="no-such-kind")
    bias("run", model).refused(3, "the configuration of model cannot be read", "no-such-kind")
    (model / "config.json").write_text("{}")
    bias("run", model).refused(3, "the configuration of model cannot be read")


@pytest.mark.parametrize("architectures", [None, ["BertLMHeadModel"]])
def test_bidirectional_network_is_no_causal_model(
    bias: Command, model: Path, architectures: list[str] | None
) -> None:
    edit(model / "config.json", architectures=architectures)
    ran = bias("run", model, "--suite", "seat[en]")
    assert ran.code == 3, ran.said


def test_config_in_another_encoding(bias: Command, model: Path) -> None:
    text = (model / "config.json").read_text(encoding="utf-8")
    (model / "config.json").write_bytes(text.encode("utf-16"))
    bias("run", model).refused(3, "the config.json of model is not JSON", "utf-8")


def test_no_weights(bias: Command, model: Path) -> None:
    (model / "model.safetensors").unlink()
    ran = bias("run", model).refused(3, "model has no weights", "model.safetensors")
    assert "Loading" not in ran.out


def test_no_tokenizer(bias: Command, model: Path) -> None:
    for path in model.glob("*token*"):
        path.unlink()
    ran = bias("run", model, *STRUCTURE)
    assert ran.code == 3, ran.said
    assert "tokenizer" in ran.said


def test_damaged_tokenizer(bias: Command, model: Path) -> None:
    (model / "tokenizer.json").write_text("{")
    bias("run", model).refused(3, "the tokenizer of model cannot be read")


@pytest.mark.parametrize(
    "damage", [lambda b: b[: len(b) // 2], lambda b: b"\xff" * 999, lambda b: b""]
)
def test_damaged_weights(bias: Command, model: Path, damage: Callable[[bytes], bytes]) -> None:
    weights = model / "model.safetensors"
    weights.write_bytes(damage(weights.read_bytes()))
    bias("run", model, *STRUCTURE).refused(
        3, "the weights of model cannot be read", "damaged or incomplete"
    )


def test_missing_shard(bias: Command, model: Path) -> None:
    (model / "model.safetensors").rename(model / "model-00001-of-00002.safetensors")
    names = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")
    index = {"weight_map": {"a": names[0], "b": names[1]}}
    (model / "model.safetensors.index.json").write_text(json.dumps(index))
    bias("run", model).refused(
        *(3, "not all of its weights: 1 of the 2 files that model.safetensors.index.json lists is"),
        *(f"missing: {names[1]}", f"There is {names[0]}"),
    )
    (model / "model.safetensors.index.json").unlink()
    bias("run", model).refused(
        3, f"{names[0]} exists, but model.safetensors.index.json", "is missing"
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("tf_model.h5", "There is tf_model.h5."),
        ("model.safetensors.incomplete", "There is model.safetensors.incomplete."),
        ("notes.txt", "None of the files looks like weights."),
    ],
)
def test_what_is_there_in_place_of_weights_is_named(
    bias: Command, model: Path, name: str, words: str
) -> None:
    (model / "model.safetensors").rename(model / name)
    ran = bias("run", model, "--out", "out").refused(3, "model has no weights: neither", words)
    assert not (ran.folder / "out").exists()


LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 170000\n"
SEEN = {
    "lfs": (LFS, "is a pointer of Git LFS, not the file itself (git lfs pull)"),
    "page": (b"\n<!DOCTYPE html><html><body>Log in", "is a web page, not the file itself"),
    "empty": (b"", "is empty"),
    "zip": (b"PK\x03\x04" + b"\0" * 99, "is a ZIP archive"),
}


@pytest.mark.parametrize(("content", "words"), SEEN.values(), ids=SEEN)
@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json"])
def test_damage_is_told_by_its_cause(
    bias: Command, model: Path, name: str, content: bytes, words: str
) -> None:
    (model / name).write_bytes(content)
    ran = bias("run", model, *STRUCTURE, "--out", "out").refused(3, name, words)
    assert not (ran.folder / "out").exists()


def test_weights_that_are_cut_off_say_of_how_much(bias: Command, model: Path) -> None:
    weights = model / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[: len(whole) // 2])
    told = f"is cut off: it has {len(whole) // 2:,} of {len(whole):,} bytes"
    bias("run", model, *STRUCTURE).refused(3, "model.safetensors", told)


@pytest.mark.parametrize("content", ["{", "{}", "[]", '{"weight_map": []}'])
def test_damaged_index(bias: Command, model: Path, content: str) -> None:
    (model / "model.safetensors").rename(model / "model-00001-of-00001.safetensors")
    (model / "model.safetensors.index.json").write_text(content)
    bias("run", model).refused(3, "model.safetensors.index.json")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("1_Pooling/config.json"),
        "sentence_bert_config.json",
    ],
)
def test_damaged_side_files(bias: Command, tiny: Tiny, tmp_path: Path, name: str) -> None:
    folder = Path(shutil.copytree(tiny("encoder"), tmp_path / "model"))
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("{")
    bias("run", folder, *STRUCTURE).refused(3, "model")


def test_card_that_cannot_be_read_is_no_obstacle(bias: Command, model: Path) -> None:
    (model / "README.md").write_bytes(b"---\nlanguage: [en\n\xff---\n")
    bias("run", model, *STRUCTURE).done(0)


# Weights that load and say nothing


def test_nan_is_never_a_score(bias: Command, model: Path, tmp_path: Path) -> None:
    weights = load_file(model / "model.safetensors")
    weights["bert.embeddings.LayerNorm.weight"][:] = float("nan")
    save_file(weights, model / "model.safetensors", metadata={"format": "pt"})
    own_data(tmp_path, rows(20))
    words = ("--suite", "crows_pairs", "--suite", "seat[en]", "--data-dir", "data")
    ran = bias("run", model, *words).done(3)
    found = statuses(ran.report)
    assert found == dict.fromkeys(found, "inconclusive")
    assert len(found) == 3
    assert "finite outputs" in suite(ran.report, "structure")["reason"]
    assert "finite outputs" in suite(ran.report, "seat")["reason"]
    assert suite(ran.report, "seat")["scores"] == []
    assert ran.decision["status"] == "could-not-measure"
    assert list(ran.at.glob("badges/*")) == []
    json.loads((ran.at / "report.json").read_text(), parse_constant=pytest.fail)


def test_constant_weights_are_found(bias: Command, model: Path) -> None:
    weights = {k: torch.zeros_like(v) for k, v in load_file(model / "model.safetensors").items()}
    save_file(weights, model / "model.safetensors", metadata={"format": "pt"})
    ran = bias("run", model, "--suite", "gendered_pair_entropy[en]").done(3)
    assert "sensible range" in suite(ran.report, "structure")["reason"]


def test_missing_head_is_refused(bias: Command, tiny: Tiny, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny("encoder"), tmp_path / "model"))
    edit(folder / "config.json", architectures=["BertForMaskedLM"])
    ran = bias("run", folder, *STRUCTURE)
    ran.refused(3, "not a complete BertForMaskedLM", "cls.predictions", "random", "architectures")
    assert ran.reports == []


def test_missing_layer_is_refused(bias: Command, model: Path) -> None:
    weights = load_file(model / "model.safetensors")
    gone = "bert.encoder.layer.1.output.dense.weight"
    save_file({k: v for k, v in weights.items() if k != gone}, model / "model.safetensors")
    bias("run", model, *STRUCTURE).refused(3, "1 weights are missing", gone)


def test_weights_of_another_shape_are_named(bias: Command, model: Path) -> None:
    edit(model / "config.json", vocab_size=700)
    bias("run", model, *STRUCTURE).refused(3, "word_embeddings", "wrong shape", "instead of 700")


def test_a_model_that_cannot_be_loaded_leaves_no_folder(bias: Command, model: Path) -> None:
    edit(model / "config.json", intermediate_size=65)
    ran = bias("run", model, *STRUCTURE, "--out", "out").refused(3, "of the wrong shape")
    assert not (ran.folder / "out").exists()
    bias("run", model, *STRUCTURE).refused(3, "of the wrong shape")
    assert not (ran.folder / "bias-report").exists()
    (ran.folder / "out").mkdir()
    (ran.folder / "out" / "notes.txt").write_text("mine")
    bias("run", model, *STRUCTURE, "--out", "out").refused(3, "of the wrong shape")
    assert (ran.folder / "out" / "notes.txt").is_file()


# Kinds


def test_pretraining_class_is_masked(bias: Command, tiny: Tiny, tmp_path: Path) -> None:
    tokenizer = tiny_models.wordpiece()
    config = tiny_models.BertConfig(
        vocab_size=len(tokenizer), max_position_embeddings=128, **tiny_models.SIZE
    )
    folder = tiny_models.save(BertForPreTraining, config, tokenizer, tmp_path / "model", 0)
    assert bias("run", folder, *STRUCTURE).done(0).report["model"]["kind"] == "masked"


@pytest.mark.parametrize(
    ("network", "config", "words"),
    [
        (ElectraForPreTraining, ElectraConfig, ("ELECTRA discriminator", "generator")),
        (
            BertForTokenClassification,
            tiny_models.BertConfig,
            ("BertForTokenClassification", "seq2seq, masked, causal", "ForSequenceClassification"),
        ),
    ],
)
def test_kinds_that_are_refused(
    bias: Command, tmp_path: Path, network: Any, config: Any, words: tuple[str, ...]
) -> None:
    tokenizer = tiny_models.wordpiece()
    about = config(vocab_size=len(tokenizer), **tiny_models.SIZE)
    folder = tiny_models.save(network, about, tokenizer, tmp_path / "model", 0)
    ran = bias("run", folder).refused(3, "model", *words)
    assert "Loading" not in ran.out


@pytest.mark.parametrize(
    ("architecture", "model_type", "changes"),
    [
        ("Qwen2AudioForConditionalGeneration", "qwen2_audio", {}),
        ("ProphetNetForConditionalGeneration", "prophetnet", {}),
        ("LayoutLMForSequenceClassification", "layoutlm", {}),
    ],
)
def test_what_is_more_than_text_is_refused(
    bias: Command, model: Path, architecture: str, model_type: str, changes: dict[str, Any]
) -> None:
    (model / "config.json").write_text(
        json.dumps({"architectures": [architecture], "model_type": model_type, **changes})
    )
    ran = bias("run", model).refused(3, architecture, "models of text")
    assert "Loading" not in ran.out


def test_decoder_without_a_start_is_refused(bias: Command, tmp_path: Path) -> None:
    folder = head(SEQ2SEQ, "mbart", tmp_path / "model", decoder_start_token_id=None)
    ran = bias("run", folder).refused(3, "no decoder_start_token_id", "of the language for mBART")
    assert "Loading" not in ran.out


def test_encoder_with_nothing_to_read_is_refused(bias: Command, tmp_path: Path) -> None:
    folder = head(SEQ2SEQ, "t5", tmp_path / "model")
    path = folder / "tokenizer.json"
    edit(path, post_processor=None)
    bias("run", folder).refused(3, "an encoder needs at least one token")


@pytest.mark.parametrize(
    ("table", "gone"), [(CLASSIFIER, "classifier.weight"), (QA, "qa_outputs.bias")]
)
def test_missing_head_of_a_classifier_is_refused(
    bias: Command, tmp_path: Path, table: Any, gone: str
) -> None:
    folder = head(table, "bert", tmp_path / "model")
    weights = load_file(folder / "model.safetensors")
    del weights[gone]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    ran = bias("run", folder, *STRUCTURE)
    ran.refused(3, "1 weights are missing", gone, "random numbers")
    assert ran.reports == []


def test_head_for_other_labels_is_refused(bias: Command, tmp_path: Path) -> None:
    folder = head(CLASSIFIER, "bert", tmp_path / "model")
    edit(folder / "config.json", id2label={str(i): f"label {i}" for i in range(5)})
    bias("run", folder, *STRUCTURE).refused(3, "classifier.weight", "2×32 instead of 5×32")


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ({"0": "a", "2": "b"}, "output 1 has no name"),
        ({"0": "a", "1": "a"}, "'a' appears twice"),
        ({"0": "a", "1": None}, "output 1 has no name"),
        ({"0": "a", "1": {"x": 1}}, "output 1 has no name"),
    ],
)
def test_labels_that_do_not_name_the_outputs(
    bias: Command, tmp_path: Path, labels: dict[str, Any], words: str
) -> None:
    folder = head(CLASSIFIER, "bert", tmp_path / "model")
    edit(folder / "config.json", id2label=labels)
    ran = bias("run", folder)
    assert ran.code == 3, ran.said
    assert words in ran.said or "cannot be read" in ran.said
    assert ran.reports == []


def test_classifier_that_reads_the_padding_is_refused(bias: Command, tmp_path: Path) -> None:
    tokenizer = tiny_models.wordpiece()
    about = XLNetConfig(vocab_size=len(tokenizer), d_model=32, n_layer=2, n_head=4, d_inner=64)
    folder = tiny_models.save(
        XLNetForSequenceClassification, about, tokenizer, tmp_path / "model", 0
    )
    weights = load_file(folder / "model.safetensors")
    torch.manual_seed(0)
    weights = {k: torch.randn_like(v) for k, v in weights.items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    bias("run", folder, *STRUCTURE).refused(3, "XLNetForSequenceClassification", "padding")


def _loading_at(lines: list[str]) -> int:
    return next(i for i, line in enumerate(lines) if line.startswith("Loading"))


def test_masked_model_without_mask_token(bias: Command, tmp_path: Path) -> None:
    folder = tiny_models.bert(tmp_path / "model", mask=False)
    ran = bias("run", folder, "--suite", "template_association", "--suite", "seat[en]").done(0)
    reason = suite(ran.report, "template_association")["reason"]
    assert "no mask token" in reason
    assert statuses(ran.report)["seat"] == "scored"
    lines = ran.out.splitlines()
    at = lines.index("template_association[en]: not applicable")
    assert at < _loading_at(lines)


def test_what_does_not_apply_to_an_encoder_is_said_before_weights_load(
    bias: Command, tiny: Tiny, data_dir: Path
) -> None:
    words = (
        "--suite",
        "seat[en]",
        "--suite",
        "crows_pairs",
        "--suite",
        "gendered_pair_entropy[en]",
    )
    ran = bias("run", tiny("encoder"), *words, "--data-dir", data_dir).done(0)
    assert statuses(ran.report) == {
        "structure": "scored",
        "crows_pairs": "not_applicable",
        "gendered_pair_entropy": "not_applicable",
        "seat": "scored",
    }
    lines = ran.out.splitlines()
    assert lines.index("crows_pairs[en]: not applicable") < _loading_at(lines)
    assert "a sentence encoder does not do" in suite(ran.report, "crows_pairs")["reason"]


# Trust


def test_pickle_needs_consent(bias: Command, model: Path) -> None:
    torch.save(load_file(model / "model.safetensors"), model / "pytorch_model.bin")
    kept = bias("run", model, *STRUCTURE, "--out", "a").done(0).report["model"]
    (model / "model.safetensors").unlink()
    ran = bias("run", model, *STRUCTURE)
    ran.refused(3, "only pickled weights", "can run any code", "--allow-pickle")
    bias("run", model, *STRUCTURE, "--allow-pickle", "--out", "b").done(0)
    other = read(model.parent / "b" / "report.json")["model"]
    assert other["weights_sha256"] != kept["weights_sha256"]
    assert other["config_sha256"] == kept["config_sha256"]


def test_a_pickle_is_never_run_without_consent(bias: Command, model: Path, tmp_path: Path) -> None:
    class Touch:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (tmp_path / "touched",)

    torch.save({"weight": Touch()}, model / "pytorch_model.bin")
    (model / "model.safetensors").unlink()
    bias("run", model, *STRUCTURE).refused(3, "--allow-pickle")
    assert not (tmp_path / "touched").exists()
    # transformers unpickles with weights_only, so even then it does not run.
    bias("run", model, *STRUCTURE, "--allow-pickle").refused(3, "cannot be read")
    assert not (tmp_path / "touched").exists()


REMOTE = """
from transformers import BertConfig, BertForMaskedLM
from pathlib import Path

Path({touched!r}).touch()


class OwnConfig(BertConfig):
    model_type = "own"


class OwnForMaskedLM(BertForMaskedLM):
    config_class = OwnConfig
"""


@pytest.fixture
def remote(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a model that brings its own code, which leaves a file when it runs."""
    code = REMOTE.format(touched=str(tmp_path / "touched"))
    (model / "own.py").write_text(code)
    auto_map = {"AutoConfig": "own.OwnConfig", "AutoModelForMaskedLM": "own.OwnForMaskedLM"}
    edit(
        model / "config.json", auto_map=auto_map, architectures=["OwnForMaskedLM"], model_type="own"
    )
    return model


def test_remote_code_needs_consent(bias: Command, remote: Path, tmp_path: Path) -> None:
    bias("run", remote).refused(3, "needs its own code", "--trust-remote-code")
    assert not (tmp_path / "touched").exists()


def test_remote_code_runs_with_consent(
    tiny: Tiny, command: Command, remote: Path, tmp_path: Path
) -> None:
    env = {"HF_MODULES_CACHE": str(tmp_path / "modules")}
    ran = command("run", remote, *STRUCTURE, "--trust-remote-code", env=env)
    assert (tmp_path / "touched").exists()
    ran.done(0)
    assert ran.report["model"]["kind"] == "masked"


def test_remote_code_of_a_tokenizer_needs_consent(bias: Command, model: Path) -> None:
    edit(
        model / "tokenizer_config.json",
        auto_map={"AutoTokenizer": ["own.OwnTokenizer", None]},
        tokenizer_class="OwnTokenizer",
    )
    bias("run", model, *STRUCTURE).refused(3, "--trust-remote-code")


# Names


@pytest.mark.parametrize(
    "name",
    [
        'a"><script>alert(1)',
        "two\nlines",
        "back`tick` $(touch x) ${HOME}",
        "]]>&amp;{{ value }}|*_~",
        "..",
        "\u202egnp.exe",
        "x" * 200,
    ],
    ids=["html", "newline", "shell", "markup", "dots", "direction", "long"],
)
def test_name_of_a_folder(bias: Command, model: Path, tmp_path: Path, name: str) -> None:
    if name == "..":
        folder = model / "sub" / ".."
        (model / "sub").mkdir()
    else:
        folder = model.rename(tmp_path / name)
    own_data(tmp_path, rows(20))
    ran = bias("run", folder, "--suite", "crows_pairs", "--data-dir", "data").done(0)
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*-[0-9a-f]{7}", ran.at.name)
    assert ran.at.parent == tmp_path / "bias-report"
    assert len(list(ran.at.glob("badges/*.svg"))) == 3
    for path in ran.at.glob("badges/*.svg"):
        root = ET.parse(path).getroot()
        assert [e.tag for e in root.iter() if "script" in e.tag] == []
        read(path.with_suffix(".json"))
    shown = (ran.at / "summary.md").read_text(encoding="utf-8")
    assert "<script" not in shown
    assert shown.startswith("## ")
    assert ": social-bias tests" in shown.splitlines()[0]
    assert "\u202e" not in shown + ran.out
    if name != "..":
        assert ran.report["model"]["reference"] == name
    assert not (tmp_path / "x").exists()
    bias("verify", ran.at).done(0)


def test_name_in_a_message_stays_on_its_line(bias: Command, model: Path, tmp_path: Path) -> None:
    (model / "config.json").unlink()
    folder = model.rename(tmp_path / "a\n\x1b[2Jerror: all is well")
    ran = bias("run", folder).refused(3, "has no config.json")
    assert "\x1b[2J" not in ran.err
    assert not any(line.startswith("error: all") for line in ran.err.splitlines())


# Sensitivity


@pytest.mark.nightly
def test_score_depends_on_the_weights_and_on_nothing_else(
    bias: Command, tiny: Tiny, model: Path, tmp_path: Path
) -> None:
    own_data(tmp_path, rows(20))
    words = ("--suite", "crows_pairs", "--data-dir", "data", "--out")
    first = bias("run", model, *words, "a").done(0).report
    bias("run", model, *words, "b").done(0)
    again = read(tmp_path / "b" / "report.json")
    assert again["digest"] == first["digest"]
    other = tiny_models.bert(tmp_path / "other", seed=1)
    bias("run", other, *words, "c").done(0)
    changed = read(tmp_path / "c" / "report.json")
    values = [
        score["value"]
        for report in (first, changed)
        for score in suite(report, "crows_pairs")["scores"]
        if score["metric"] == "log_odds_per_token" and not score["by"]
    ]
    assert len(set(values)) == 2
    assert changed["model"]["weights_sha256"] != first["model"]["weights_sha256"]
    assert changed["model"]["config_sha256"] == first["model"]["config_sha256"]


def test_changed_weights_are_another_thing_to_the_folder(bias: Command, model: Path) -> None:
    bias("run", model, *STRUCTURE, "--out", "out").done(0)
    weights = load_file(model / "model.safetensors")
    weights["bert.embeddings.word_embeddings.weight"] += 0.01
    save_file(weights, model / "model.safetensors", metadata={"format": "pt"})
    bias("run", model, *STRUCTURE, "--out", "out").refused(2, "something else")


# Data


def own_data(folder: Path, content: bytes) -> Path:
    path = folder / "data" / CROWS
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return folder / "data"


def rows(n: int, *more: str) -> bytes:
    """Return a file of pairs made up of bundled words."""
    jobs = ("nurse", "plumber", "baker", "engineer", "librarian")
    lines = [
        f"{i},He works as a {jobs[i % 5]}.,She works as a {jobs[i % 5]}.,stereo,gender"
        for i in range(n)
    ]
    return "\n".join([HEADER.strip(), *lines, *more, ""]).encode()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "holds no pairs"),
        (HEADER.encode(), "holds no pairs"),
        (b"a,b\n1,2\n", "has no sent_more, sent_less, stereo_antistereo, bias_type; it has"),
        (b"\xff\xfe\x00", "is not UTF-8"),
    ],
    ids=["empty", "header", "columns", "bytes"],
)
def test_data_that_cannot_be_read(
    bias: Command, model: Path, tmp_path: Path, content: bytes, words: str
) -> None:
    data = own_data(tmp_path, content)
    ran = bias("run", model, "--suite", "crows_pairs", "--data-dir", data).done(3)
    assert statuses(ran.report) == {"structure": "scored", "crows_pairs": "error"}
    assert words in suite(ran.report, "crows_pairs")["reason"]
    assert CROWS in ran.said
    assert words in ran.said


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (CROWS, rows(3, f'3,"{"a " * 100_000}",b,stereo,gender')),
        (f"{CROWS}.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03garbage"),
    ],
    ids=["field too long", "damaged gzip"],
)
def test_data_that_a_library_refuses(
    bias: Command, model: Path, tmp_path: Path, name: str, content: bytes
) -> None:
    path = tmp_path / "data" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    ran = bias("run", model, "--suite", "crows_pairs", "--data-dir", "data").done(3)
    assert statuses(ran.report) == {"structure": "scored", "crows_pairs": "error"}


def test_byte_order_mark_and_line_ends_change_nothing(
    bias: Command, model: Path, tmp_path: Path
) -> None:
    words = ("run", model, "--suite", "crows_pairs", "--data-dir", "data", "--out")
    own_data(tmp_path, rows(20))
    plain = bias(*words, "a").done(0).report
    own_data(tmp_path, b"\xef\xbb\xbf" + rows(20).replace(b"\n", b"\r\n"))
    bias(*words, "b").done(0)
    other = read(tmp_path / "b" / "report.json")
    assert (
        suite(other, "crows_pairs")["records"]["sha256"]
        == (suite(plain, "crows_pairs")["records"]["sha256"])
    )
    assert headline(plain, "crows_pairs")["n"] == 20
    assert suite(plain, "crows_pairs")["data"]["local"]
    assert suite(plain, "crows_pairs")["data"]["revision"] is None


def test_texts_that_cannot_be_scored_are_counted(
    bias: Command, model: Path, tmp_path: Path
) -> None:
    long = "nurse " * 300
    own_data(tmp_path, rows(40, f"40,{long}a,{long}b,stereo,gender", "41,He is,She is,neither,age"))
    words = ("run", model, "--suite", "crows_pairs", "--data-dir", "data", "--out")
    ran = bias(*words, "a").done(0)
    score = headline(ran.report, "crows_pairs")
    assert (score["n"], score["n_unscored"]) == (40, 2)
    assert "2 unscored" in ran.said
    # A twentieth of them is too much for a score.
    own_data(tmp_path, rows(20, *[f"{20 + i},{long}a,{long}b,stereo,gender" for i in range(2)]))
    bias(*words, "b").done(3)
    report = read(tmp_path / "b" / "report.json")
    assert statuses(report)["crows_pairs"] == "inconclusive"
    assert "tokens, the model takes 128" in suite(report, "crows_pairs")["reason"]
    assert headline(report, "crows_pairs")["value"] is None


def test_missing_data(bias: Command, model: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    named = bias("run", model, "--suite", "crows_pairs", "--data-dir", "data", "--out", "a").done(3)
    reason = suite(named.report, "crows_pairs")["reason"]
    assert statuses(named.report)["crows_pairs"] == "unavailable"
    assert f"not in --data-dir/{CROWS}" in reason
    assert "offline" in reason
    assert "--data-dir" in reason
    assert "https://" in reason
    words = ("run", model, "--suite", "@crowdsourced", "--out", "b")
    ran = bias(*words).done(3)
    assert statuses(read(tmp_path / "b" / "report.json"))["crows_pairs"] == "unavailable"
    assert "could not be had. Not everything could be measured." in ran.said
    # What was left out by choice, such as controls under no licence, is told behind it.
    without = ran.said.partition("Without a score")[2]
    assert 0 < without.index("· unavailable") < without.index("· skipped")
    allowed = "which is allowed. Measured; this project sets no limits."
    assert allowed in bias(*words, "--allow-missing-data").done(0).said
    (tmp_path / "pytest-bias.yaml").write_text("allow_missing_data: true\n")
    assert allowed in bias(*words).done(0).said


def test_other_data_are_another_thing_to_the_folder(
    bias: Command, model: Path, tmp_path: Path
) -> None:
    words = ("run", model, "--suite", "crows_pairs", "--data-dir", "data", "--out", "out")
    own_data(tmp_path, rows(20))
    bias(*words).done(0)
    own_data(tmp_path, rows(25))
    bias(*words).refused(2, "something else")
