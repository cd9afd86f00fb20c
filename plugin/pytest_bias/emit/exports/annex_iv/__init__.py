"""Technical documentation after Annex IV of the EU AI Act, as far as a report can fill it."""
