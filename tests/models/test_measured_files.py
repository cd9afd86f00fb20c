"""The files of a model that a report names: those that a measurement reads, and no other."""

import json
from pathlib import Path

from pytest_bias.models.reference import ModelRef
from pytest_bias.models.snapshot import Snapshot, joined
from pytest_bias.records.report import sha256

SHARDS = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")
READ = {
    "weights": SHARDS,
    "configuration": (
        *("config.json", "generation_config.json", "1_Pooling/config.json"),
        "model.safetensors.index.json",
    ),
    "code": ("modeling.py", "parts/more.py"),
    "tokenizer": ("tokenizer.json", "vocab.txt"),
    "chat_template": ("chat_template.jinja", "additional_chat_templates/tools.jinja"),
}
NOT_READ = ("README.md", "model.sig", "bias/tool.py", ".git/hook.py", "flax_model.msgpack")


def test_every_file_that_is_read_is_named_by_its_part_and_digest(tmp_path: Path) -> None:
    for name in [*(n for names in READ.values() for n in names), *NOT_READ]:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
    index = json.dumps({"weight_map": {"a": SHARDS[1], "b": SHARDS[0]}})
    config = json.dumps({"auto_map": {"AutoModel": "modeling.Own"}})
    (tmp_path / "model.safetensors.index.json").write_text(index, encoding="utf-8")
    (tmp_path / "config.json").write_text(config, encoding="utf-8")
    (tmp_path / "tokenizer_config.json").write_text("{}", encoding="utf-8")
    snapshot = Snapshot(ModelRef.parse(str(tmp_path)), tmp_path)
    found = snapshot.measured_files(allow_pickle=False, with_tokenizer=True)
    # Nothing is decided by an empty file of settings, and transformers reads it all the same.
    expected = {part: set(names) for part, names in READ.items()}
    expected["tokenizer"].add("tokenizer_config.json")
    assert {part: set(files) for part, files in found.items()} == expected
    for files in found.values():
        for name, digest in files.items():
            assert digest == sha256((tmp_path / name).read_bytes())
    # The digests of the parts in a report are those of these files.
    assert joined(found["weights"].items()) == snapshot.weights_sha256(allow_pickle=False)
    assert joined(found["tokenizer"].items()) == snapshot.tokenizer_sha256
    assert joined(found["code"].items()) == snapshot.code_sha256
    less = snapshot.measured_files(allow_pickle=False, with_tokenizer=False)
    assert less.keys() == {"weights", "configuration", "code"}


def test_a_gguf_file_is_all_that_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    for name in ("x.gguf", "config.json", "tokenizer.json"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    snapshot = Snapshot(ModelRef("x", "gguf", path=path), tmp_path, gguf=path)
    found = snapshot.measured_files(allow_pickle=False, with_tokenizer=True)
    assert found == {"weights": {"x.gguf": sha256("x.gguf")}}
