"""Pages in a browser: of a run while it is going, and in one file to give away."""

from .html import Page, write_html
from .live import LivePage

__all__ = ["LivePage", "Page", "write_html"]
