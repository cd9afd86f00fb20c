"""What a model is now: the digests that a run writes of it, and what makes it another model."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import peft
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

import pytest_bias
from pytest_bias.errors import ModelError
from pytest_bias.models import ModelRef, Trust, describe, load
from pytest_bias.models.fingerprint import (
    PARTS,
    ModelFingerprint,
    differences,
    fingerprint,
    is_beside,
)
from pytest_bias.records.identity import AdapterIdentity, ModelIdentity

DEMO = Path(pytest_bias.__file__).parent / "models" / "demo" / "planted"
Tiny = Callable[[str], Path]


def now(model: Path | str) -> ModelFingerprint:
    return fingerprint(ModelRef.parse(str(model)))


def as_measured(model: Path | str, trust: Trust = Trust()) -> ModelIdentity:
    """Return what a run writes into its report: a model that is loaded."""
    return load(describe(str(model), trust=trust)).identity


def same(found: ModelFingerprint, identity: ModelIdentity) -> bool:
    values = {name: getattr(found, name) for name in (*PARTS, "revision", "adapter")}
    assert values == {name: getattr(identity, name) for name in values}
    return differences(identity, found) == ()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Return a copy of the demo."""
    return Path(shutil.copytree(DEMO, tmp_path / "model"))


def test_it_is_what_a_run_measures(tiny: Tiny) -> None:
    for model in ("demo", tiny("bert"), tiny("llama")):
        assert same(now(model), as_measured(model))


def test_shards_and_pickled_weights(tiny: Tiny, tmp_path: Path) -> None:
    shards = Path(shutil.copytree(tiny("bert"), tmp_path / "shards"))
    (shards / "model.safetensors").unlink()
    network = AutoModelForMaskedLM.from_pretrained(tiny("bert"))
    network.save_pretrained(shards, max_shard_size="50KB")
    assert len(list(shards.glob("model-*.safetensors"))) > 1
    assert same(now(shards), as_measured(shards))

    pickled = Path(shutil.copytree(tiny("bert"), tmp_path / "pickled"))
    (pickled / "model.safetensors").unlink()
    torch.save(network.state_dict(), pickled / "pytorch_model.bin")
    # That they are never unpickled is no reason not to know them.
    assert same(now(pickled), as_measured(pickled, Trust(allow_pickle=True)))


@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing:FutureWarning")
def test_an_adapter_and_its_base(tiny: Tiny, tmp_path: Path) -> None:
    network = AutoModelForCausalLM.from_pretrained(tiny("gpt2"))
    config = peft.LoraConfig(
        r=2, target_modules=["c_attn"], task_type="CAUSAL_LM", fan_in_fan_out=True
    )
    peft.get_peft_model(network, config).save_pretrained(tmp_path / "adapter")
    found = now(tmp_path / "adapter")
    assert same(found, as_measured(tmp_path / "adapter"))
    assert found.adapter
    assert found.adapter_files
    assert "adapter_model.safetensors" in found.adapter_files
    assert "model.safetensors" in found.files


@pytest.mark.slow
def test_a_gguf_file(smollm2: Path) -> None:
    described = describe(str(smollm2)).identity
    found = now(smollm2)
    assert described.chat_template_sha256
    assert same(found, replace(described, weights_sha256=found.weights_sha256))
    assert found.files == {smollm2.name: f"sha256:{found.weights_sha256}"}


CHAT = "{% for m in messages %}{{ m.content }}{% endfor %}"


@pytest.mark.parametrize(
    "how", ["configuration", "list", "list without default", "file", "file first", "more", "empty"]
)
def test_the_chat_template_in_all_its_places(how: str, tiny: Tiny, tmp_path: Path) -> None:
    model = Path(shutil.copytree(tiny("gpt2"), tmp_path / "chat"))
    config, file = model / "tokenizer_config.json", model / "chat_template.jinja"
    named = [{"name": "tool_use", "template": "tools"}, {"name": "default", "template": CHAT}]
    stated: Any = {
        "configuration": CHAT,
        "list": named,
        "list without default": named[:1],
        "file first": "another",
        "empty": "",
    }.get(how)
    if stated is not None:
        plain = json.loads(config.read_text())
        config.write_text(json.dumps(plain | {"chat_template": stated}))
    if how in ("file", "file first", "more"):
        file.write_bytes(CHAT.replace("}{{", "}\r\n{{").encode())
    if how == "more":
        (model / "additional_chat_templates").mkdir()
        (model / "additional_chat_templates" / "tool_use.jinja").write_text("tools")
    identity = describe(str(model)).identity
    found = now(model)
    assert (found.chat_template_sha256 is None) == (how in ("list without default", "empty"))
    assert found.chat_template_sha256 == identity.chat_template_sha256


def test_code_counts_where_it_can_be_run(model: Path) -> None:
    def code() -> str | None:
        assert describe(str(model)).identity.code_sha256 == now(model).code_sha256
        return now(model).code_sha256

    (model / "train.py").write_text("print()")
    assert code() is None
    config = model / "config.json"
    plain = json.loads(config.read_text())
    # A class that the library has as well: the code is run if the user trusts it.
    plain["auto_map"] = {"AutoModel": "modeling.Model", "AutoTokenizer": ["tok.Slow", None]}
    config.write_text(json.dumps(plain))
    found = [code()]
    for name, text in {
        "train.py": "print(1)",
        "modeling.py": "class Model: ...",
        "parts/layers.py": "x = 1",
    }.items():
        (model / name).parent.mkdir(exist_ok=True)
        (model / name).write_text(text)
        found.append(code())
    assert len(set(found)) == 4
    # What is no part of the model.
    for name in ("bias/badges/draw.py", ".venv/lib/site.py", "README.md"):
        (model / name).parent.mkdir(parents=True, exist_ok=True)
        (model / name).write_text("x = 1")
        assert code() == found[-1]


def test_code_of_generation_needs_no_configuration(model: Path) -> None:
    (model / "custom_generate").mkdir()
    (model / "custom_generate" / "generate.py").write_text("def generate(model): ...")
    code = now(model).code_sha256
    assert code
    assert code == describe(str(model)).identity.code_sha256


def test_code_in_another_repository_is_named(model: Path) -> None:
    plain = json.loads((model / "config.json").read_text())
    plain["auto_map"] = {"AutoModel": "org/code--modeling.Model"}
    (model / "config.json").write_text(json.dumps(plain))
    assert now(model).code_elsewhere == ("org/code",)
    assert now(model).code_sha256 is None


CHANGES = {
    "weights": ("model.safetensors", lambda c: c[:-4] + b"\0\0\0\1"),
    "configuration": ("config.json", lambda c: c.replace(b'"model_type"', b'"x": 1, "model_type"')),
    "tokenizer": ("tokenizer.json", lambda c: c + b" "),
    "chat template": ("chat_template.jinja", lambda _: CHAT.encode()),
    "remote code": ("custom_generate/generate.py", lambda _: b"x = 1"),
    "nothing: the card": ("README.md", lambda _: b"# A model"),
    "nothing: what is published": ("bias/current.json", lambda _: b"{}"),
    "nothing: code that is not run": ("train.py", lambda _: b"x = 1"),
    "nothing: who saved it": (
        "config.json",
        lambda c: c.replace(b'"model_type"', b'"transformers_version": "0", "model_type"'),
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_makes_it_another_model(what: str, model: Path) -> None:
    before = now(model)
    name, change = CHANGES[what]
    path = model / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(change(path.read_bytes() if path.exists() else b""))
    after = now(model)
    assert differences(before, after) == (() if what.startswith("nothing") else (what,))
    assert {n for n in after.files if before.files.get(n) != after.files[n]} == {name}


def test_differences_of_an_adapter() -> None:
    def with_adapter(weights: str | None, config: str = "c") -> ModelIdentity:
        one = AdapterIdentity("org/adapter", "1" * 40, weights, config) if weights else None
        return ModelIdentity("org/base+org/adapter", "causal", "LlamaForCausalLM", adapter=one)

    assert differences(with_adapter("w"), with_adapter("w")) == ()
    assert differences(with_adapter("w"), with_adapter("x", "d")) == (
        "weights of the adapter",
        "configuration of the adapter",
    )
    assert differences(with_adapter("w"), with_adapter(None)) == ("adapter",)


def test_what_only_speaks_of_a_model() -> None:
    beside = ("README.md", "bias/a/report.json", ".eval_results/a.yaml")
    assert all(map(is_beside, beside))
    assert not any(map(is_beside, ("docs/README.md", "bias.json", "config.json", "eval_results/a")))


def test_what_has_no_head(model: Path, tmp_path: Path) -> None:
    (model / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="no weights"):
        now(model)
    with pytest.raises(ModelError, match="not in the cache, and this run is offline"):
        now("org/name")
