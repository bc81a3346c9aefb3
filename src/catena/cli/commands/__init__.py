"""One file for each command: what it is called, its options, and what it does."""
