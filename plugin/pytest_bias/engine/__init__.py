"""Suites times a model: planned, measured, put into one report."""
