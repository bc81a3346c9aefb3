"""Names in the comments of sources that are written: a stranger's model may call a joint anything."""

import string

PLAIN = frozenset(string.ascii_letters + string.digits + " !#$%&'()+,-./:;<=>@[]^_`{|}~")
"""The characters that no language gives a meaning to inside of a comment. In C an asterisk may end it, a backslash
goes on with it in the next line, and question marks stand for either; in Python quotation marks and backslashes end or
change a docstring. Ends of lines are told apart in several ways, and compilers read other letters by the table of their
system."""


def in_comment(text: str) -> str:
    """Return a text as it can stand in a comment of C or a docstring of Python: other characters as <U+005C>."""
    return "".join(c if c in PLAIN else f"<U+{ord(c):04X}>" for c in text)
