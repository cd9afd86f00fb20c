"""Answers of models that others have asked, read from their logs."""
