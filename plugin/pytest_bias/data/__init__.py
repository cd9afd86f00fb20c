"""Data files: pinned, fetched, and read to rows."""
