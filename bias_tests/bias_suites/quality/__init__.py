"""Suites that check whether a model still works."""
