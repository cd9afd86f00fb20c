"""A report in the formats that other tools read."""
