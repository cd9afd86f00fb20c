"""Suites that ask whether a model still works."""
