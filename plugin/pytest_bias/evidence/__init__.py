"""Published reports: verified, reproduced, published, locked."""
