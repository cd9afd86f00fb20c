"""Many models and all suites in one run."""
