"""The version, where every folder may look it up."""

from __future__ import annotations

VERSION = "0.1.0"
