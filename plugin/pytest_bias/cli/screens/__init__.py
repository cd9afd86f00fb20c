"""The output of commands, as text for a terminal."""
