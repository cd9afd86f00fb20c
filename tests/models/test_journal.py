"""Answers that are kept: what is written comes back, to its model and its question."""

from pathlib import Path

import numpy as np
import pytest

from pytest_bias.errors import OutputError
from pytest_bias.models import load
from pytest_bias.models.journal import Journal, Page
from pytest_bias.models.reads import Reads

MODEL = {"weights_sha256": "aa", "dtype": "float32"}


def fill(page: Page, *parts: list[int]) -> None:
    for which in parts:
        page.add(np.array(which), np.array(which, dtype=np.float64) / 3)
    page.flush()


def kept(page: Page) -> dict[int, float]:
    return {
        int(i): float(a)
        for which, answers in page.kept()
        for i, a in zip(which, answers, strict=True)
    }


def test_answers_come_back_to_the_last_bit(tmp_path: Path) -> None:
    journal = Journal(tmp_path, MODEL)
    fill(journal.page("q"), [0, 5], [7])
    fill(journal.page("q"), [2])
    assert kept(journal.page("q")) == {i: i / 3 for i in (0, 5, 7, 2)}


def test_vectors_come_back(tmp_path: Path) -> None:
    page = Journal(tmp_path, MODEL).page("q")
    vectors = np.arange(6, dtype=np.float32).reshape(2, 3)
    page.add(np.array([4, 1]), vectors)
    page.flush()
    ((which, answers),) = page.kept()
    assert which.tolist() == [4, 1]
    assert np.array_equal(answers, vectors)
    assert answers.dtype == np.float32


@pytest.mark.parametrize(
    "other", [{"weights_sha256": "bb"}, {"dtype": "bfloat16"}, {"device": "H100"}]
)
def test_no_model_gets_another_models_answers(tmp_path: Path, other: dict[str, str]) -> None:
    fill(Journal(tmp_path, MODEL).page("q"), [1])
    assert kept(Journal(tmp_path, MODEL | other).page("q")) == {}
    assert kept(Journal(tmp_path, MODEL).page("another question")) == {}


@pytest.mark.parametrize("torn", [b"", b"PK\x03\x04", "half"])
def test_a_torn_file_is_answered_anew(tmp_path: Path, torn: bytes | str) -> None:
    page = Journal(tmp_path, MODEL).page("q")
    fill(page, [1, 2, 3])
    (file,) = tmp_path.rglob("*.npz")
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2] if isinstance(torn, str) else torn)
    fill(page, [4])
    assert kept(page) == {4: 4 / 3}


def test_what_was_not_finished_writing_does_not_count(tmp_path: Path) -> None:
    page = Journal(tmp_path, MODEL).page("q")
    fill(page, [1])
    (file,) = tmp_path.rglob("*.npz")
    file.rename(file.with_suffix(".partial"))
    assert kept(page) == {}


def test_nothing_is_kept_without_a_folder() -> None:
    page = Page()
    fill(page, [1])
    assert kept(page) == {}
    assert not page.is_due


def test_a_full_disk_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    page = Journal(tmp_path / "file", MODEL).page("q")
    with pytest.raises(OutputError, match="cannot be written"):
        fill(page, [1])


def asked(*reads: tuple[list[int], int, int], mask_id: int = 0, mask: bool = True) -> Reads:
    made = Reads(mask_id)
    for ids, position, target in reads:
        made.add(ids, position, target, mask=mask)
    return made


def test_a_question_is_all_that_is_asked() -> None:
    base = ([7, 8, 9], 1, 8)
    questions = [
        asked(base),
        asked(base, mask=False),
        asked(base, mask_id=1),
        asked(([7, 8, 9], 1, 5)),
        asked(([7, 8, 9], 2, 8)),
        asked(([7, 8], 1, 8)),
        asked(base, ([7, 8, 9], 2, 8)),
        asked(([7, 8, 9], 2, 8), base),
    ]
    assert len({q.digest() for q in questions}) == len(questions)
    assert asked(base).digest() == questions[0].digest()


def test_a_row_is_left_while_a_read_of_it_is() -> None:
    reads = asked(([7, 8, 9], 1, 8), ([7, 8, 9], 1, 5), ([7, 8, 9], 2, 9), ([7, 8], 0, 7))
    missing = np.array([False, True, False, False])
    assert reads.rows_of(missing).tolist() == [True, False, False]
    assert reads.rows_of(~missing).tolist() == [True, True, True]


def test_only_what_a_run_before_has_answered_is_said_to_be_of_it(tiny, tmp_path):
    texts = ["The doctor came late.", "My aunt is a nurse.", "He is."]

    def asked_twice() -> list[str]:
        model, told = load(str(tiny("gpt2"))), []
        model.meter.on_notice = told.append
        for _ in ("one suite", "another"):
            model.keep(tmp_path)
            model.score(texts)
            model.keep(None)
        return told

    assert asked_twice() == []
    assert asked_twice() == ["3 of 3 sequences were completed by an earlier run"]
