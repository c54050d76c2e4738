"""Looking at a host: everything a plan needs, read in one go and frozen."""
