"""Speed side by side with other engines; run `python -m benchmarks`."""
