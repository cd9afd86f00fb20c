"""Answers of models that others have asked, read from their logs."""

from pytest_bias.data.answer_logs.formats import read_answers
from pytest_bias.data.answer_logs.log import AnswerLog, LoggedAnswer

__all__ = ["AnswerLog", "LoggedAnswer", "read_answers"]
