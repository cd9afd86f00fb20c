"""What a suite is, and where suites come from."""
