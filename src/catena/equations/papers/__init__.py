"""What the papers print about cost and parallelism, computed: their families of chains, and the forms of the equations
of motion that they compare."""
