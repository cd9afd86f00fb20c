"""Reports: read, written, compared, and decided against limits."""
