"""A run on disk: its directory, its event log, its socket, and the one fold of events into a state."""
