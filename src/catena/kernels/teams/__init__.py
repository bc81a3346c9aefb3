"""Threads that share a batch, or one state, and the compiled code that hands work to them."""
