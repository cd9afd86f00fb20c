"""Suites that are data: files ``*.bias.yaml``."""
