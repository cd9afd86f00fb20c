"""Rendering of a report as text, without writing files (`pytest_bias.reports` does)."""
