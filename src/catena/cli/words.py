"""Numbers of things in words."""


def counted(number: int, one: str, many: str = "") -> str:
    """`1 loop`, `2 loops`; `many` where the plural is not formed with an s."""
    return f"{number} {one if number == 1 else many or one + 's'}"
