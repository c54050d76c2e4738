"""Questions to the results repository."""
