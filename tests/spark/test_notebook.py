"""The notebook of the guide, from top to bottom in a kernel of its own."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from traitlets.config import Config

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "guide" / "verdicts.ipynb"


def outputs(cell: Any, kind: str) -> list[Any]:
    """The output of a cell in one format."""
    return [one["data"][kind] for one in cell.get("outputs", ()) if kind in one.get("data", {})]


@pytest.mark.night
def test_the_notebook_loads_verifies_plots_and_opens_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(
        "PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    )
    monkeypatch.setenv("PYTHONWARNINGS", "default")
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "MPLCONFIGDIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    folder = {"metadata": {"path": str(tmp_path)}}
    # Sockets in a folder: a free port may be another process's by the time the kernel binds it.
    sockets = {"transport": "ipc", "ip": str(tmp_path / "kernel")}
    config = Config(AsyncKernelManager=sockets)

    NotebookClient(
        notebook,
        config=config,
        kernel_name="python3",
        resources=folder,
        startup_timeout=300,
        timeout=600,
    ).execute()

    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    verify = "".join(one["text"] for one in code[2].outputs)
    assert "9 runs, " in verify
    assert "3 CONFORMS, 6 DIVERGES" in verify
    assert [len(outputs(cell, "image/png")) for cell in code].count(1) == 1
    assert "member " in "".join(one.get("text", "") for one in code[-2].outputs)
    assert "run.html" in outputs(code[-2], "text/html")[0]
    assert (tmp_path / "run.html").stat().st_size > 10_000
