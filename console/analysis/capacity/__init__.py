"""Will a context fit: what a token costs, what the pool holds, what stands in the way."""
