"""The engine: plan, measure and report any number of suites on one model."""
