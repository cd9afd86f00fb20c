"""A report as text: terminal, badges, summary, page. Pure: `pytest_bias.reports` writes files."""
