"""The player: a movie as one page that needs nothing else, in a browser, a notebook or a report."""

from catena.view.player.page import page

__all__ = ["page"]
