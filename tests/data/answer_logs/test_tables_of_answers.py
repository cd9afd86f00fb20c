"""Tables of answers that users write: what is read, and what each mistake is told."""

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_bias.data.answer_logs import LoggedAnswer, read_answers
from pytest_bias.errors import BiasError, DataError, DataMissing


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def jsonl(path: Path, *rows: Any) -> Path:
    return write(path, "".join(json.dumps(row) + "\n" for row in rows))


def refused(*paths: Path) -> str:
    with pytest.raises(BiasError) as found:
        read_answers(paths)
    return str(found.value)


def test_a_table_of_answers(tmp_path: Path) -> None:
    path = write(
        tmp_path / "answers.csv",
        "\ufeffitem,question,options,answer,sample,finished\r\n"
        'age-1,"Who, of them?\nSay it.","[""Ann"", ""Zoë""]","(b) Zoë",1,length\r\n'
        "\r\n"
        "age-2,,,,,\r\n",
    )
    log = read_answers([path])
    assert log.answers == (
        LoggedAnswer(
            "answers.csv, line 2",
            "age-1",
            ("Who, of them?\nSay it.",),
            ("Ann", "Zoë"),
            "(b) Zoë",
            finished="length",
            sample=1,
        ),
        # The model wrote nothing: that is an answer.
        LoggedAnswer("answers.csv, line 5", "age-2", answer=""),
    )
    assert (log.format, log.tool, log.version, log.model, log.task) == ("csv", *[None] * 4)
    assert [*log.sha256] == ["answers.csv"]
    assert log.notices == ()


def test_json_lines_say_the_same(tmp_path: Path) -> None:
    row = {"id": 7, "context": "C.", "question": "Q?", "A": "x", "B": "y", "C": "z"}
    path = jsonl(
        tmp_path / "a.jsonl",
        row | {"response": "y", "model": "org/m", "task": "bbq"},
        row | {"id": 8, "response": None},
        row | {"id": 9, "response": 1, "sample": 2},
    )
    log = read_answers([path])
    assert log.answers == (
        LoggedAnswer("a.jsonl, line 1", "7", ("C.", "Q?"), ("x", "y", "z"), "y"),
        LoggedAnswer("a.jsonl, line 3", "9", ("C.", "Q?"), ("x", "y", "z"), "1", sample=2),
    )
    assert (log.format, log.model, log.task) == ("jsonl", "org/m", "bbq")
    assert log.notices == ("a.jsonl: 1 without an answer: a.jsonl, line 2.",)


def test_log_likelihoods_in_columns_or_nested(tmp_path: Path) -> None:
    table = write(tmp_path / "a.tsv", "item\tloglik_more\tloglik_less\n1\t-20.5\t-1e1\n2\t-3\t\n")
    found = read_answers([table]).answers
    assert [dict(a.values) for a in found] == [{"more": -20.5, "less": -10.0}, {"more": -3.0}]
    lines = jsonl(
        tmp_path / "a.jsonl",
        {"item": "1", "loglik": {"more": -20.5, "less": -10}},
        {"item": "2", "values": {"more": -3, "less": None}, "kind": "log-likelihood"},
    )
    nested = read_answers([lines]).answers
    assert [(dict(a.values), a.kind, a.answer) for a in nested] == [
        (dict(a.values), "log-likelihood", None) for a in found
    ]


def test_a_classifiers_label_with_probabilities(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "text,answer,prob_hate,prob_not hate\nT.,hate,0.75,0.25\n")
    (answer,) = read_answers([path]).answers
    assert (answer.answer, answer.kind) == ("hate", "probability")
    assert answer.values == {"hate": 0.75, "not hate": 0.25}


def test_columns_that_are_not_read_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "item,answer,optoins,gold,loglik\n1,a,b,c,\n")
    assert read_answers([path]).notices == (
        "a.csv: not read: optoins (did you mean options?), gold.",
    )


def test_several_files_are_one_log(tmp_path: Path) -> None:
    for folder, item in (("x", "1"), ("y", "2")):
        (tmp_path / folder).mkdir()
        jsonl(tmp_path / folder / "a.jsonl", {"item": item, "answer": "b", "model": "m"})
    log = read_answers([tmp_path / "y" / "a.jsonl", tmp_path / "x" / "a.jsonl"])
    assert [a.item for a in log.answers] == ["2", "1"]
    assert [*log.sha256] == ["y/a.jsonl", "x/a.jsonl"]
    assert log.model == "m"


GOOD = "item,answer\n1,a\n"

MISTAKES = {
    "no answers": (
        "item,answr\n1,a\n",
        "no column of answers; it has item, answr (did you mean an",
    ),
    "no items": ("itm,answer\n1,a\n", "no column of items or texts; it has itm (did you mean item"),
    "header only": ("item,answer\n", "no answer in any row"),
    "two answers": ("item,answer,output\n1,a,b\n", "answer and output, which all mean answer"),
    "two items": ("item,id,answer\n1,2,b\n", "item and id, which all mean item"),
    "twice": ("item,answer,answer\n1,a,b\n", "has the column answer 2 times"),
    "few cells": ("item,answer\n1,a\n2\n", "line 3 has 1 cell, and the header 2"),
    "header again": ("item,answer\n1,a\nitem,answer\n", "line 3 is the header once more"),
    "semicolons": ("item;answer\n1;a\n", "separate its cells by ';'; write commas"),
    "quotes": ('item,answer\n1,"a\n', "not well-formed: unexpected end of data"),
    "NaN": ("item,loglik_a\n1,-2\n2,nan\n", "a.csv, line 3: loglik_a is nan, not a finite"),
    "infinite": ("item,loglik_a\n1,-inf\n", "line 2: loglik_a is -inf, not a finite number"),
    "negated": ("item,loglik_a\n1,21.5\n", "loglik_a is 21.5. A log-likelihood is at most 0"),
    "no number": ("item,loglik_a\n1,low\n", "line 2: loglik_a is 'low', not a number"),
    "percent": ("item,prob_a\n1,75\n", "line 2: prob_a is 75. A probability is between 0 and 1"),
    "both": ("item,prob_a,loglik_a\n1,0.5,-1\n", "has log-likelihoods and probabilities"),
    "sample": ("item,answer,sample\n1,a,first\n", "sample is 'first', not a whole number"),
    "options": ("item,answer,options\n1,a,x;y\n", "line 2: options is not JSON"),
    "gap": ("item,answer,A,B,D\n1,a,x,y,z\n", "has options up to D, but no C"),
    "two options": ('item,answer,options,A,B\n1,a,"[]",y,z\n', "its options in two ways"),
    "nobody": ("item,answer\n,a\n", "a.csv, line 2 names no item and no text"),
    "models": ("item,answer,model\n1,a,m\n2,a,n\n", "2 models: m (a.csv, line 2) and n (a.csv, li"),
    "latin": (b"item,answer\n1,a\n2,\xe9t\xe9\n", "a.csv, line 3 is not UTF-8 (byte 0xe9)"),
    "UTF-16": ("item,answer\n1,a\n".encode("utf-16"), "a.csv is UTF-16; save it as UTF-8"),
    "empty": ("\ufeff\n \n", "a.csv is empty"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_a_table(name: str, tmp_path: Path) -> None:
    content, said = MISTAKES[name]
    assert said in refused(write(tmp_path / "a.csv", content))


LINES = {
    "damaged": ('{"item": 1, "answer": "a"}\n{"item": 2, "answ', "a.jsonl, line 2 is not JSON"),
    "no object": ('{"item": 1, "answer": "a"}\n["a"]\n', "line 2 is no JSON object, but a list"),
    "key twice": ('{"item": 1, "answer": "a", "item": 2}', "names 'item' more than once"),
    "NaN": ('{"item": 1, "loglik": {"a": NaN}}', "line 1: loglik.a is nan, not a finite"),
    "large": ('{"item": 1, "loglik": {"a": -1e999}}', "loglik.a is -inf, not a finite"),
    "NaN answer": ('{"item": 1, "answer": NaN}', "line 1: answer is nan, not a text"),
    "nested": ('{"item": 1, "answer": ["a"]}', "line 1: answer is a list, not a text"),
    "options": ('{"item": 1, "answer": "a", "options": [1]}', "options is no JSON list of texts"),
    "no kind": ('{"item": 1, "values": {"a": -1}}', "no kind: log-likelihood or probability"),
    "kind": ('{"item": 1, "values": {"a": -1}, "kind": "loglik"}', "mean 'log-likelihood'?"),
    "true": ('{"item": 1, "loglik": {"a": true}}', "loglik.a is 'True', not a number"),
    "flat": ('{"item": 1, "loglik": -2}', "loglik is a number, not an object of numbers"),
}


@pytest.mark.parametrize("name", LINES)
def test_a_mistake_in_json_lines(name: str, tmp_path: Path) -> None:
    content, said = LINES[name]
    assert said in refused(write(tmp_path / "a.jsonl", content))


def test_half_a_surrogate_pair_can_be_written(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"item": "1", "answer": "a\\ud800b \\ud83d\\ude00"}')
    assert read_answers([path]).answers[0].answer == "a\ufffdb \U0001f600"


def test_files_that_are_no_answers(tmp_path: Path) -> None:
    with pytest.raises(DataMissing, match="There is no file"):
        read_answers([tmp_path / "none.csv"])
    assert "is a folder" in refused(tmp_path)
    assert "There is no file of answers" in refused()
    text = refused(write(tmp_path / "a.txt", "Some words."))
    assert text.startswith("a.txt begins with 'Some words.', which is no known format. Known: ")
    assert "JSON list (write one object a line)" in refused(write(tmp_path / "a.json", "[{}]"))
    assert "begins with '[build]'" in refused(write(tmp_path / "a.toml", "[build]\n"))
    assert "compressed with gzip" in refused(write(tmp_path / "a.gz", b"\x1f\x8b\x08\0"))
    assert "Parquet" in refused(write(tmp_path / "a.parquet", b"PAR1\0"))


def test_files_that_do_not_fit_together(tmp_path: Path) -> None:
    table = write(tmp_path / "a.csv", GOOD)
    assert "a.csv is named twice" in refused(table, tmp_path / "." / "a.csv")
    assert "a.csv and b.csv have the same" in refused(table, write(tmp_path / "b.csv", GOOD))
    lines = jsonl(tmp_path / "a.jsonl", {"item": 1, "answer": "a", "model": "m"})
    assert "a.csv is a CSV table" in refused(table, lines)
    other = jsonl(tmp_path / "b.jsonl", {"item": 1, "answer": "a", "model": "n"})
    assert "2 models: m (a.jsonl) and n (b.jsonl)" in refused(lines, other)


def test_names_are_made_safe_to_show(tmp_path: Path) -> None:
    path = write(tmp_path / "a\x1b[31m.csv", "item,answer\n1\n")
    assert "\x1b" not in refused(path)
    with pytest.raises(DataError) as found:
        read_answers([write(tmp_path / "b.csv", "it\x1b[2J,ans\u202e\n1,2\n")])
    assert not {"\x1b", "\u202e"} & set(str(found.value))
