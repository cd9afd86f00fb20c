"""Own prompts with the group exchanged: what a file says, its prompts, answers and scores."""
