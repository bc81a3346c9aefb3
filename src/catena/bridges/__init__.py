"""Catena's dynamics inside JAX and PyTorch: batched, with first derivatives from Catena's own lanes.

    from catena.bridges.torch import forward_dynamics        # pip install "catena-dynamics[torch]"
    from catena.bridges.jax import forward_dynamics          # pip install "catena-dynamics[jax]"

For CasADi, `system.equations(...).casadi()` is a Function with derivatives of any order.
"""
