"""Files that users write, read with line numbers and checked key by key."""
