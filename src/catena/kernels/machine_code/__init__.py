"""From expression graphs to machine code for this processor: LLVM text, its compilation, and what is kept of it."""
