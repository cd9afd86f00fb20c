"""The callback in trainers of TRL, and in several processes."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tiny_training
from pytest_bias.training import BiasCallback

pytestmark = pytest.mark.slow

SEVERAL = """
import sys
from pathlib import Path

sys.path.insert(0, sys.argv[2])
import torch
import tiny_training
from pytest_bias.training import BiasCallback

folder, callbacks = Path(sys.argv[1]), []
if sys.argv[3] == "with":
    callbacks = [BiasCallback([str(folder / "suite/planted.bias.yaml")], offline=True, fresh=True)]
found = tiny_training.trainer(
    folder, callbacks, max_steps=6, eval_steps=3, save_strategy="no",
    metric_for_best_model=f"{tiny_training.NAME}_distance" if callbacks else None,
    greater_is_better=False if callbacks else None,
)
found.train()
name = f"{sys.argv[3]}-{found.args.process_index}.pt"
best = found.state.best_metric
rows = [row for row in found.state.log_history if tiny_training.NAME in row]
torch.save((tiny_training.weights(found), best, len(rows), found.args.world_size), folder / name)
"""


@pytest.mark.filterwarnings("ignore")
def test_sft_of_trl_is_the_same_bits(tmp_path: Path) -> None:
    trl = pytest.importorskip("trl")
    import peft
    from datasets import Dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer

    import tiny_models

    made = tiny_models.gpt2(tmp_path / "model")
    suite = tiny_training.suite_file(tmp_path / "suite")
    rows = Dataset.from_list([{"text": more} for more, _ in tiny_training.PAIRS])

    def train(name: str, *callbacks: Any) -> Any:
        tokenizer = AutoTokenizer.from_pretrained(made)
        tokenizer.pad_token = tokenizer.eos_token
        arguments = trl.SFTConfig(
            output_dir=str(tmp_path / name),
            **{"max_steps": 12, "per_device_train_batch_size": 8, "learning_rate": 3e-2},
            **{"eval_strategy": "steps", "eval_steps": 6, "logging_steps": 1, "bf16": False},
            **{"save_strategy": "no", "report_to": "none", "use_cpu": True, "max_length": 64},
        )
        lora = peft.LoraConfig(r=16, target_modules=["c_attn", "c_fc"], fan_in_fan_out=True)
        found = trl.SFTTrainer(
            AutoModelForCausalLM.from_pretrained(made),
            arguments,
            train_dataset=rows,
            eval_dataset=rows.select(range(8)),
            processing_class=tokenizer,
            peft_config=lora,
            callbacks=list(callbacks),
        )
        found.train()
        return found

    with_it = train("with", BiasCallback([str(suite)], offline=True))
    without = train("without")
    assert tiny_training.weights(with_it) == tiny_training.weights(without)
    logged = {r["step"]: r for r in with_it.state.log_history if tiny_training.NAME in r}
    assert list(logged) == [0, 6, 12]
    assert logged[12][tiny_training.NAME] > logged[0][tiny_training.NAME]
    # TRL's own means are not taken away.
    kinds = [
        [sorted(r) for r in found.state.log_history if tiny_training.NAME not in r]
        for found in (with_it, without)
    ]
    assert kinds[0] == kinds[1]


def test_in_several_processes_the_main_one_measures(tmp_path: Path) -> None:
    import torch

    tiny_training.suite_file(tmp_path / "suite")
    tiny_training.tiny_models.gpt2(tmp_path / "model")
    script = tmp_path / "several.py"
    script.write_text(SEVERAL, encoding="utf-8")
    support = str(Path(tiny_training.__file__).parent)
    for how in ("with", "without"):
        launch = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
        command = [sys.executable, *launch, str(script), str(tmp_path), support, how]
        done = subprocess.run(
            command, capture_output=True, text=True, encoding="utf-8", check=False
        )
        assert done.returncode == 0, done.stderr[-3000:]
        if how == "with":
            assert done.stderr.count("Bias is measured before the first step") == 1
    found = {
        name: torch.load(tmp_path / f"{name}.pt", weights_only=False)
        for name in ("with-0", "with-1", "without-0", "without-1")
    }
    assert found["with-0"][0] == found["with-1"][0] == found["without-0"][0]
    assert found["with-0"][1:] == found["with-1"][1:]
    assert found["with-0"][1] is not None
    assert found["with-0"][2:] == (3, 2)
    assert len([*(tmp_path / "out/bias-steps").glob("step-*")]) == 3
