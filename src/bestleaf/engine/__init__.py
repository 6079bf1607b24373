"""The graph and what is known of it: records, intervals, bounds, rules, compiled kernels."""
