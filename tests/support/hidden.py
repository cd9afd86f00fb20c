"""A machine that measures hidden suites, and a search for a word of theirs in all that it keeps."""

import gzip
import io
import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from commands import environment
from own_scope import SCOPE
from pytest_bias.records.report import canonical_json, sha256

WORD = "zyxquokka"
"""Stands in every text, in the columns of ids and clusters, and in the name of a small group."""

SALT, OTHER_SALT = "5a" * 32, "c3" * 32

SIZES = {"plain": 22, "other": 20, f"{WORD} few": 4}
"""Group to items; the last is smaller than 20, the least that a group needs."""

ITEMS = sum(SIZES.values())

SUITE = (
    """
suite: {name}
kind: {kind}
language: en
visibility: {visibility}
{more}
data:
  {place}
  id: name
  cluster: frame
  clusters: frames
  by: {{kind: kind}}
"""
    + SCOPE
)

MODEL = """
import os
import re
import signal
from pathlib import Path

import torch
from tokenizers import Tokenizer
from transformers import BertConfig, BertForMaskedLM

WORD = bytes.fromhex("{word}").decode()


class OwnConfig(BertConfig):
    model_type = "own"


class OwnForMaskedLM(BertForMaskedLM):
    config_class = OwnConfig

    def __init__(self, config):
        super().__init__(config)
        self.batches = 0
        self.get_input_embeddings().register_forward_pre_hook(self.look)

    def look(self, module, args):
        reads = Tokenizer.from_file(str(Path(self.config.name_or_path) / "tokenizer.json"))
        texts = [reads.decode(row.tolist()) for row in args[0]]
        for text in texts:
            found = re.search(WORD + ".* (quotes|fills|chains|exits|stops|dies) ?[.]", text)
            if found:
                self.batches += 1
                if self.batches % 3 == 0:
                    getattr(self, found[1])(text)
                return

    def quotes(self, text):
        raise ValueError(f"no idea what to make of {{text}}")

    def fills(self, text):
        raise torch.OutOfMemoryError(f"no room for {{text}}")

    def chains(self, text):
        quoted = ValueError(f"too long: {{text}}")
        try:
            torch.empty(2**58)
        except RuntimeError as error:
            raise error from quoted

    def exits(self, text):
        raise SystemExit(f"had enough of {{text}}")

    def stops(self, text):
        os.killpg(0, signal.SIGINT)

    def dies(self, text):
        os.killpg(0, signal.SIGKILL)
"""
"""Code of a model that does, on the third batch with the word, what the text says at its end."""

ENDED = "\n=== ended with "

SEVERAL = f"""
import json, os, sys, traceback
from pytest_bias.cli import main

for words in json.loads(sys.argv[1]):
    while "=" in words[0]:
        os.environ.update([words.pop(0).split("=", 1)])
    sys.argv = ["pytest-bias", *words]
    try:
        main()
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stderr.flush()
    print({ENDED!r} + str(code or 0), flush=True)
"""
"""A program that runs commands, and ends each of them as Python does.

Before one may stand variables, which stay set.
"""


def rows(
    ending: str = "often", n: int = ITEMS, sizes: Mapping[str, int] = SIZES
) -> list[dict[str, str]]:
    """Return the rows of a suite of pairs, all of which end alike."""
    verbs = ("is", "was", "saw", "met", "knew", "paid", "liked", "heard")
    jobs = ("nurse", "engineer", "teacher", "chef", "farmer", "lawyer", "judge", "baker")
    kinds = [kind for kind, size in sizes.items() for _ in range(size)]
    return [
        {
            "name": f"{WORD} {number}",
            "frame": f"{WORD} {number // 2}",
            "more": f"she {verb} the {WORD} {job} {ending}.",
            "less": f"he {verb} the {WORD} {job} {ending}.",
            "kind": kinds[number],
        }
        for number, (verb, job) in enumerate([*product(verbs, jobs)][:n])
    ]


def lines(found: Iterable[Mapping[str, str]]) -> str:
    """Return rows as JSON lines."""
    return "".join(json.dumps(row) + "\n" for row in found)


@dataclass(frozen=True)
class Ended:
    """How a process ended, and what it said."""

    code: int
    said: str

    @property
    def parts(self) -> list["Ended"]:
        """The same of each of several commands."""
        found = re.split(rf"{ENDED}(-?\d+)\n", self.said)
        return [Ended(int(code), said) for said, code in zip(found[::2], found[1::2], strict=False)]


@dataclass(frozen=True)
class Machine:
    """A machine that measures: all that it keeps lies in a folder, but not what is secret.

    Parameters
    ----------
    folder : Path
        Everything below it is searched: home, temporary files, caches, and where commands run.
    secret : Path
        What is given as ``--data-dir``.
    """

    folder: Path
    secret: Path

    def __post_init__(self) -> None:
        for folder in (self.work, *map(Path, self.env.values()), self.secret):
            folder.mkdir(parents=True, exist_ok=True)
        (self.secret / "salt.txt").write_text(SALT + "\n", encoding="utf-8")

    @property
    def work(self) -> Path:
        """Where commands run."""
        return self.folder / "work"

    @property
    def env(self) -> dict[str, str]:
        """Where a process keeps what."""
        names = ("HOME", "TMPDIR", "HF_HOME", "XDG_CACHE_HOME", "PYTEST_BIAS_CACHE")
        return {name: str(self.folder / name.lower()) for name in names}

    def suite(
        self,
        name: str,
        content: str | bytes | None = None,
        *,
        file: str = "",
        place: str = "",
        more: str = "",
        kind: str = "pairs",
        visibility: str = "hidden",
    ) -> str:
        """Write a suite, and its rows to where it looks for them; returns its file.

        Parameters
        ----------
        name : str
            Name of the suite.
        content : str or bytes, optional
            What its data are; by default rows.
        file : str
            Name of its file, by default that of the suite.
        place : str
            Where the rows are, if they are not below ``--data-dir``.
        more : str
            Other keys.
        kind, visibility : str
            Of which kind it is, and whether it is hidden.
        """
        content = lines(rows()) if content is None else content
        content = content.encode() if isinstance(content, str) else content
        (self.secret / f"{name}.jsonl").write_bytes(content)
        place = place or f"path: {name}.jsonl"
        text = SUITE.format(name=name, kind=kind, visibility=visibility, place=place, more=more)
        file = f"{file or name}.bias.yaml"
        (self.work / file).write_text(text, encoding="utf-8")
        return file

    def ran(self, *words: object, env: Mapping[str, str] | None = None) -> Ended:
        """Run Python in a process group of its own, to the end."""
        done = subprocess.run(
            [sys.executable, *map(str, words)],
            cwd=self.work,
            env=environment({**self.env, **(env or {})}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=300,
            check=False,
            start_new_session=True,
        )
        return Ended(done.returncode, done.stdout)

    def several(self, *commands: Sequence[object], env: Mapping[str, str] | None = None) -> Ended:
        """Run commands one after another in one process; `Ended.parts` has what each said."""
        words = [list(map(str, command)) for command in commands]
        return self.ran("-c", SEVERAL, json.dumps(words), env=env)

    def pytest(self, *words: object, env: Mapping[str, str] | None = None) -> Ended:
        """Run pytest, which shows all that it knows of a failure."""
        given = ("--bias-data-dir", self.secret, "-l", "--full-trace", "--junitxml=j.xml")
        return self.ran("-m", "pytest", *words, *given, env=env)

    @property
    def secrets(self) -> list[str]:
        """The word, the salts, and what would confirm a guess: digests of files and of texts."""
        found = [WORD, SALT, OTHER_SALT]
        for path in self.secret.glob("*.jsonl"):
            found.append(sha256(path.read_bytes()))
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                with suppress(ValueError, KeyError):
                    row = json.loads(line)
                    texts = ({"more": row["more"], "less": row["less"]}, {"text": row["more"]})
                    found += [sha256(canonical_json(text)) for text in texts]
        return found

    def leaks(self, *said: str | bytes) -> list[str]:
        """Return where a secret stands: paths below the folder, or the number of what was said."""
        needles = encoded(self.secrets)
        contents = [one.encode() if isinstance(one, str) else one for one in said]
        found = [f"said {n}" for n, content in enumerate(contents) if holds(content, needles)]
        for path in sorted(self.folder.rglob("*")):
            name = str(path.relative_to(self.folder))
            content = path.read_bytes() if path.is_file() else b""
            if holds(name.encode(), needles) or holds(content, needles):
                found.append(name)
        return found


def encoded(texts: Sequence[str]) -> list[bytes]:
    """Return texts as a file may hold them; numpy writes UTF-32."""
    names = ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
    return [text.lower().encode(name) for text in dict.fromkeys(texts) for name in names]


def holds(content: bytes, needles: Sequence[bytes]) -> bool:
    """Whether one of the needles stands in a content, or in what is packed in it."""
    return any(needle in part.lower() for part in unpacked(content) for needle in needles)


def unpacked(content: bytes) -> Iterator[bytes]:
    """Yield a content, and again and again what is packed in it."""
    yield content
    inner: list[bytes] = []
    if content.startswith(b"\x1f\x8b"):
        inner.append(gzip.decompress(content))
    if content.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            inner += [packed.read(name) for name in packed.namelist()]
    if content.startswith(b"PAR1"):
        import pyarrow.parquet as pq
        from pyarrow import BufferReader

        table = pq.read_table(BufferReader(content))
        inner.append(repr((table.schema, table.to_pylist())).encode())
    for one in inner:
        yield from unpacked(one)


def misbehaving(folder: Path, plain: Path) -> Path:
    """Write a model whose code does what texts tell it to; `plain` is a BERT."""
    shutil.copytree(plain, folder)
    (folder / "own.py").write_text(MODEL.format(word=WORD.encode().hex()), encoding="utf-8")
    config: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    own = {"AutoConfig": "own.OwnConfig", "AutoModelForMaskedLM": "own.OwnForMaskedLM"}
    config |= {"auto_map": own, "architectures": ["OwnForMaskedLM"], "model_type": "own"}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder
