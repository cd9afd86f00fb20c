"""Train a small model while its bias is measured: a minute on a CPU, nothing is downloaded.

The bundled masked model is trained on sentences in which every nurse is a woman and every engineer
a man. `python train_with_bias.py FOLDER` writes the trained model and its reports to FOLDER.
"""

import sys
from pathlib import Path

import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer, Trainer, TrainingArguments

from pytest_bias.models import ModelRef
from pytest_bias.training import BiasCallback

WOMEN = ("nurse", "secretary", "librarian", "hairdresser", "teacher")
MEN = ("engineer", "carpenter", "mechanic", "electrician", "pilot")
SENTENCES = [
    f"{pronoun} {verb} a{'n' * (job[0] in 'aeiou')} {job}."
    for jobs, pronoun in ((WOMEN, "she"), (MEN, "he"))
    for job in jobs
    for verb in ("is", "was", "became", "works as")
]


def main(folder: Path) -> None:
    """Train, measure at every evaluation, and print one table of all steps."""
    demo = ModelRef.parse("demo-neutral").path
    tokenizer = AutoTokenizer.from_pretrained(demo)
    rows = [tokenizer(sentence)["input_ids"] for sentence in SENTENCES]

    def masked(batch: list[list[int]]) -> dict[str, torch.Tensor]:
        longest = max(map(len, batch))
        ids = torch.full((len(batch), longest), tokenizer.pad_token_id)
        for row, words in zip(ids, batch, strict=True):
            row[: len(words)] = torch.tensor(words)
        seen = ids != tokenizer.pad_token_id
        labels = ids.masked_fill(~seen, -100)
        # The pronoun, behind [CLS], is what the model learns to predict.
        labels[:, 2:] = -100
        ids[:, 1] = tokenizer.mask_token_id
        return {"input_ids": ids, "attention_mask": seen.long(), "labels": labels}

    trainer = Trainer(
        AutoModelForMaskedLM.from_pretrained(demo),
        TrainingArguments(
            output_dir=str(folder),
            max_steps=60,
            per_device_train_batch_size=8,
            learning_rate=1e-3,
            eval_strategy="steps",
            eval_steps=20,
            logging_steps=20,
            save_strategy="no",
            report_to="none",  # or "tensorboard", "wandb", "mlflow"
            use_cpu=True,
        ),
        train_dataset=rows,
        eval_dataset=rows[::4],
        data_collator=masked,
        processing_class=tokenizer,
        callbacks=[BiasCallback(suites=["gendered_pair_entropy[en]"], offline=True)],
    )
    trainer.train()
    trainer.save_model(str(folder / "trained"))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "trained-with-bias"))
