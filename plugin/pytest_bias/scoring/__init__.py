"""Records to scores: estimators, intervals and tests. Pure: no model, no files, no suites."""
