"""Structural checks."""
