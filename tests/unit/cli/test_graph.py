"""``canvass graph``: a graph is built, verified, asked; what is wrong is one line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from canvass.conformance.verify import make_lookup
from canvass.graph import GraphError
from canvass.graph.artifact import FILES, open_graph
from canvass.graph.build import cache_folder, load_model
from canvass.spec.manifest import load_manifest
from canvass.steps.answers import EDGES_FILE, KEYS_FILE
from support.graphs import graph_of

pytestmark = pytest.mark.tlc

Command = Callable[..., tuple[int, str, str]]

MODEL = "MCMemberGraph1"


@pytest.fixture(scope="module")
def folder(pytestconfig: pytest.Config) -> Path:
    graph_of(pytestconfig, MODEL)
    assert pytestconfig.cache is not None
    return cache_folder(load_model(MODEL), pytestconfig.cache.mkdir("graphs"))


@pytest.mark.night
def test_two_builds_make_the_same_files(command: Command, folder: Path, tmp_path: Path) -> None:
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    code, out, _ = command("graph", "build", MODEL, "--out", tmp_path / "again")

    assert code == 0
    assert out.startswith("MCMemberGraph1: 1 member, revision 1.50; TLC ")
    assert before == {file.name: file.read_bytes() for file in (tmp_path / "again").iterdir()}


def test_stats_say_what_the_manifest_of_the_spec_expects(command: Command, folder: Path) -> None:
    code, out, _ = command("graph", "stats", folder, "--format", "json")
    document = json.loads(out)
    entry = next(model for model in load_manifest().models if model.name == MODEL)

    assert code == 0
    assert document["manifest"]["complete"] is True
    assert document["manifest"]["counts"]["expanded"] == entry.distinct_states
    assert "Election.tla" in document["manifest"]["modules"]


def test_states_are_found_by_their_ids_and_paths_lead_between_them(
    command: Command, folder: Path
) -> None:
    graph = open_graph(folder)
    rows = graph.expanded.nonzero()[0].tolist()
    new = next(row for row in rows if graph.member(row).persisted_candidate_term_id == -1)
    far = next(row for row in rows if graph.member(row).snapshot_log_position > 0)
    start, end = (bytes(graph.ids[row]).hex() for row in (new, far))
    code, out, _ = command("graph", "find", folder, end)
    path_code, path, _ = command("graph", "path", folder, start, end)

    assert (code, path_code) == (0, 0)
    assert "snapshotLogPosition" in out
    assert "Restart" in out
    assert path.splitlines()[0].split()[0] == "Restart"
    hops = [line.split() for line in path.splitlines() if not line.startswith(" ")]
    assert hops[-1][1] == end
    assert "    moduleState: " in path
    assert "TakeSnapshot" in path


@pytest.mark.parametrize("name", FILES)
def test_damage_is_noticed(command: Command, folder: Path, tmp_path: Path, name: str) -> None:
    spoilt = shutil.copytree(folder, tmp_path / "spoilt")
    whole = (folder / name).read_bytes()
    (spoilt / name).write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    code, _, err = command("graph", "stats", spoilt)

    assert code == 2
    assert f"{name}: damaged" in err


@pytest.mark.parametrize("name", [KEYS_FILE, EDGES_FILE])
@pytest.mark.parametrize("place", [10, 200, -1])
def test_no_run_is_checked_with_damaged_keys(
    folder: Path, tmp_path: Path, name: str, place: int
) -> None:
    spoilt = shutil.copytree(folder, tmp_path / "spoilt")
    data = bytearray((spoilt / name).read_bytes())
    data[place] ^= 4
    (spoilt / name).write_bytes(data)

    with pytest.raises(GraphError, match=f"{name}: damaged"):
        make_lookup([spoilt], None)
