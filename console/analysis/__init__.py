"""What figures mean: pure functions of values, without a host, a clock or randomness of their own."""
