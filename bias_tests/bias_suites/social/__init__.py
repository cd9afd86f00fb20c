"""Social-bias suites."""
