"""What holds for all tests: how hypothesis draws."""

from __future__ import annotations

import os

from hypothesis import settings

# A push draws the same examples every time, so that a red run is about the change.
settings.register_profile("push", derandomize=True, deadline=None, database=None)
settings.register_profile("night", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "push"))
