"""Tests, in the rooms of what they are about; `support` has what several of them need."""
