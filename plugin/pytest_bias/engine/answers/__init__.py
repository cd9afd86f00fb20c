"""Scores of answers that somebody has: matched with the items of a suite, and replayed."""
