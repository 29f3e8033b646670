"""Effects: what the outside world can do, as protocols, and the real ones."""
