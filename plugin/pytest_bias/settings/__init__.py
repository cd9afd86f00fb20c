"""Options over environment over file over defaults, as one frozen value."""
