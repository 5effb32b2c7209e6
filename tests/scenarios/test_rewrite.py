"""Golden files are not written again where nobody reads the difference."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def test_rewrite_is_refused_in_ci() -> None:
    command = [sys.executable, "-m", "pytest", "--rewrite", "--collect-only", "-q", str(HERE)]

    done = subprocess.run(
        command, env=os.environ | {"CI": "true"}, check=False, capture_output=True, text=True
    )

    assert done.returncode == 4
    assert "not in CI" in done.stderr
