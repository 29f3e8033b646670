"""Settings for every test."""

from __future__ import annotations

from hypothesis import settings

# A busy machine is no failure: examples have no deadline.
settings.register_profile("floeberg", deadline=None)
settings.load_profile("floeberg")
