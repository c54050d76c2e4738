"""Each engine's own language: spellings, requests and replies, log lines, limits."""
