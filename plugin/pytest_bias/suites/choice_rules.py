"""Reading the option that a generated answer to a multiple-choice question chooses."""
