"""How large the next step should be; for numbers, arrays and symbols alike."""

from typing import Any

from catena.spatial.scalars import sqrt

# A step grows or shrinks by no more than these factors, and aims a little below the tolerance.
SHRINK, GROW, SAFETY = 0.2, 5.0, 0.9


def error_ratio(errors: list[Any], sqrt: Any = sqrt) -> Any:
    """Return the error as a part of the tolerance, from the norms of the method's estimates. Two of them, of orders 5
    and 3, make one of order 8 (Hairer, Norsett and Wanner, II.10)."""
    if len(errors) == 1:
        return errors[0]
    fifth, third = errors
    return fifth * fifth / sqrt(fifth * fifth + 0.01 * third * third + 1e-300)


def root(x: Any, k: int, sqrt: Any = sqrt) -> Any:
    """Return x^(1/k) for x between 1e-10 and 1e10, by square roots and Newton's method, which compile into lanes."""
    halvings = k.bit_length() - 1
    y = x
    for _ in range(halvings):
        y = sqrt(y)
    if 1 << halvings == k:
        return y
    for _ in range(6):
        power = y
        for _ in range(k - 2):
            power = power * y
        y = y + (x / power - y) / k
    return y
