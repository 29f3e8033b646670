"""Where bytes live: locations, stores with declared capabilities, retries, secrets."""
