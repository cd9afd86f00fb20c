"""What flows through a run: items, records, scores, results of suites, reports."""
