"""Tests of the suites, on stand-in models whose numbers are known."""
