"""Report to text: terminal, badges, summary. Pure; writing is done in `pytest_bias.folder`."""
