"""Progress of long work, told to whoever watches."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int], None]
"""Called with what is being done, and how much of it is done."""
