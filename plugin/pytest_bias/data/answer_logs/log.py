"""What a log of another tool says: which model answered what, and to which question."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class LoggedAnswer:
    """One answer of a log.

    Parameters
    ----------
    where : str
        Place in the log, for messages: ``answers.csv, line 12``.
    item : str or None
        Identifier of the item, as the log states it.
    texts : tuple of str
        Texts that identify the item where no identifier does: sentence, question, whole prompt.
    options : tuple of str
        Options of the question in the order in which the model was shown them; empty if none.
    answer : str or None
        What the model wrote, or the label that a classifier gave; None if only `values` are known.
    values : mapping of str to float
        Log-likelihoods in nats, by the role of a text (``more``), by the text itself, or by the
        label or text of an option; or probabilities of a classifier's labels, as the log says.
    kind : str
        What `values` are: ``log-likelihood`` or ``probability``; empty if there are none.
    finished : str or None
        Why the text ended, where the log says: ``stop`` or ``length``.
    sample : int
        Number of the answer among several samples of one question, from 0.
    tokens : mapping of str to int
        Numbers of tokens, by keys of `values`; empty where the log does not say.
    """

    where: str
    item: str | None = None
    texts: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    answer: str | None = None
    values: Mapping[str, float] = field(default_factory=dict)
    kind: str = ""
    finished: str | None = None
    sample: int = 0
    tokens: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AnswerLog:
    """The answers of one model in one or several files of a tool.

    Parameters
    ----------
    tool, version : str or None
        Tool that wrote the files, and its version, where they say; None for a plain table.
    format : str
        ``inspect``, ``lm-eval``, ``eee``, ``csv`` or ``jsonl``.
    model : str or None
        The model's name, as the files state it: untrusted text.
    task : str or None
        Name of the task or benchmark, as the files state it.
    sha256 : mapping of str to str
        Base name of each file to the SHA-256 of its content.
    answers : tuple of LoggedAnswer
        In the order of the files.
    notices : tuple of str
        What a reader has to know about the files, such as rows without an answer.
    unfinished : str or None
        Why the tool did not finish, as one sentence; None if it did, or does not say.
    """

    format: str
    answers: tuple[LoggedAnswer, ...]
    sha256: Mapping[str, str]
    tool: str | None = None
    version: str | None = None
    model: str | None = None
    task: str | None = None
    notices: tuple[str, ...] = ()
    unfinished: str | None = None
