"""The page to look into tables: rendered by the server, without scripts, and read-only. The address holds all of its state."""
