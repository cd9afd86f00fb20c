"""Sentence templates, word lists and page templates of pytest-bias, as data."""
