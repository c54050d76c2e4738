"""A simulated host for newcomers and fast tests. Imports nothing of the rest."""
