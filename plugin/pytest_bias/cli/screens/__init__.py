"""What commands print, as text for a terminal."""
