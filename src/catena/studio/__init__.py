"""The studio: a page in the browser in which a mechanism is drawn, run, changed and shared, without programming.

The text of a scenario is the only truth. What somebody does in the page is a named edit of that text, made here in
Python; the text is then read, planned and shown as any file would be.
"""

from catena.errors import renamed
from catena.studio.edits import EDITS
from catena.studio.session import EditingSession
from catena.studio.studio import Studio, studio

__all__ = ["EDITS", "EditingSession", "Studio", "studio"]

__getattr__ = renamed("catena.studio", {"Session": "EditingSession"})
