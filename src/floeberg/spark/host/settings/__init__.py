"""Settings of a session: what they mean to SQL text, and how one is changed for a piece of work."""
