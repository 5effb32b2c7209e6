"""``canvass run``: a cluster of processes, from its start to its end."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from canvass.client.connection import Connection
from canvass.runner import RunnerError
from canvass.runner.configuration import ClusterFolder, MemberConfig, lock_folder, read_config
from canvass.runner.supervisor import Supervisor
from support.processes import canvass, members_of, run_cluster
from support.trace_reading import load_corpus

Command = Callable[..., tuple[int, str, str]]

FAULTS = """
1.0 toggle snapshot
1.5 kill leader
2.0 pause follower
3.5 resume all
3.5 start all
4.5 toggle suspend
5.0 toggle resume
"""


@pytest.mark.tlc
def test_a_cluster_loses_nothing_in_kills_and_pauses_and_conforms(
    command: Command, tmp_path: Path
) -> None:
    script, folder = tmp_path / "script", tmp_path / "cluster"
    script.write_text(FAULTS)
    words = ("--seconds", 6, "--load", 40, "--script", script, "--format", "json")
    done = run_cluster(folder, *words)
    report = json.loads(done.stdout)

    assert (done.returncode, report["problems"]) == (0, []), done.stderr
    assert report["done"]["kill"] == report["done"]["start"] == 1
    assert report["requestsAcknowledged"] <= report["counter"] <= report["requestsOffered"]
    assert report["requestsAcknowledged"] > 0
    for i in range(3):
        mark = json.loads((folder / "data" / f"member-{i}" / ".cluster-mark.json").read_bytes())
        assert mark["status"]["member_id"] == i
        assert mark["activityTimestamp"] > 0
    assert members_of(folder) == []
    (run,) = load_corpus(folder / "runs")
    assert sorted(run.events) == [0, 1, 2]
    assert run.facts == ()
    actions = [event.action.value for events in run.events.values() for event in events]
    assert actions.count("Restart") == 4
    code, out, _ = command("verify", folder / "runs")
    assert (code, out.split()[0]) == (0, "CONFORMS")


async def use(port: int) -> list[str]:
    """Offer requests to the counters."""
    endpoints = {0: f"127.0.0.1:{port}"}
    async with (
        asyncio.timeout(60),
        await Connection.open(endpoints, name="test", clock=20) as connection,
    ):
        answers = [await connection.request(body) for body in (b"add 5", b"what", b"get")]
    return [answer.decode() for answer in answers]


def test_clients_use_a_cluster_and_an_operator_ends_it(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    words = ("--clock", 20, "--services", 2, "--members", 1)
    with subprocess.Popen(
        canvass("run", "--out", folder, *words),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as cluster:
        while not (folder / "data" / "member-0.json").exists():
            assert cluster.poll() is None
        used = asyncio.run(use(read_config(folder / "data" / "member-0.json").ingress_ports[0]))
        out, err = cluster.communicate(
            "nonsense\nkill 1\nstart 0\ntoggle standby-snapshot\ntoggle shutdown\n", timeout=100
        )

    assert used == ["5", "error: unknown request; give: add N, get", "5"]
    assert "no member '1': give 0, leader" in err
    assert "canvass: start 0: nothing to do" in err
    assert cluster.returncode == 0
    assert "the cluster was ended by its operator" in out
    assert members_of(folder) == []
    assert len(list((folder / "data" / "member-0").glob("snapshot-*-module.dat"))) == 1


def test_a_cluster_continues_after_a_shutdown(tmp_path: Path) -> None:
    folder, script = tmp_path / "cluster", tmp_path / "script"
    script.write_text("1 toggle shutdown\n")
    words = ("--members", 1, "--load", 50, "--format", "json")
    reports = []
    for more in (("--seconds", 60, "--script", script), ("--seconds", 1, "--again")):
        done = run_cluster(folder, *words, *more)
        assert done.returncode == 0, done.stderr
        reports.append(json.loads(done.stdout))
        data = folder / "data" / "member-0"
        mark = json.loads((data / ".cluster-mark.json").read_bytes())
        (data / ".cluster-mark.json").write_text('{"pi')  # What a crash may leave.
    assert mark["status"]["member_id"] == 0
    (run,) = load_corpus(folder / "runs")
    actions = [event.action.value for event in run.events[0]]

    assert (reports[0]["counter"], reports[0]["done"]) == (None, {"toggle": 1})
    first, second = (report["requestsAcknowledged"] for report in reports)
    assert reports[1]["counter"] >= first + second
    counts = [actions.count(name) for name in ("Restart", "TakeSnapshot", "Terminate")]
    assert counts == [2, 2, 1]  # One at the shutdown, and one in the end to compare services.


def test_a_member_with_a_damaged_disk_does_not_start_and_two_are_no_quorum(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    words = ("--load", 50, "--format", "json", "--seconds")
    reports = []
    for rotten, more in ((1, (2,)), (0, (0.1, "--again")), (0, (60, "--again"))):
        done = run_cluster(folder, *words, *more)
        reports.append(json.loads(done.stdout) | {"code": done.returncode})
        with (folder / "data" / f"member-{rotten}" / "0-0.rec").open("r+b") as file:
            file.seek(100)
            file.write(b"rot")
    _, report, without_quorum = reports

    assert (report["code"], report["ok"]) == (1, False)
    said = f"member 1 ended with code 1: {folder}/data/member-1: 0-0.rec is damaged at offset 96"
    assert report["problems"][0].startswith(said)
    log = (folder / "data" / "member-1.log").read_text()
    assert all(line.startswith(f"{folder}/data/member-1: ") for line in log.splitlines())
    assert report["counter"] >= report["requestsAcknowledged"]
    assert (without_quorum["code"], without_quorum["requestsOffered"]) == (1, 0)
    assert without_quorum["problems"][:2] == [
        "no request was offered: no leader answered the clients",
        "fewer members than a quorum can start",
    ]
    assert members_of(folder) == []


def test_a_cluster_ends_with_its_parent_process(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    cluster = subprocess.Popen(
        canvass("run", "--out", folder, "--clock", 20),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while len(members_of(folder)) < 3:
        assert cluster.poll() is None
    cluster.kill()
    cluster.wait()
    for _ in range(5_000):  # The kernel ends them, when it comes to it.
        if not members_of(folder):
            return
    pytest.fail(f"{members_of(folder)} are left")


def test_a_script_can_end_a_run_in_a_folder_of_any_name(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("0.5 start 0\n1 quit\n")
    words = ("--members", 1, "--script", script)
    for folder, more in (("cluster", ()), (tmp_path / "cluster", ("--again",))):
        done = run_cluster(folder, *words, *more, cwd=tmp_path)

        assert done.returncode == 0, done.stderr
        assert "canvass: start 0: nothing to do" in done.stderr


def test_a_configuration_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    folder = ClusterFolder(tmp_path, "run")
    folder.config(0).mkdir(parents=True)
    config = MemberConfig(1, 0, 1, "1.50", 5, [1], [2], "data", 1, "run", "id")

    with pytest.raises(RunnerError, match=f"^{folder.config(0)}: Is a directory$"):
        asyncio.run(Supervisor(folder, [config]).start(0))


def test_a_running_cluster_is_not_run_twice(tmp_path: Path) -> None:
    with (
        lock_folder(tmp_path),
        pytest.raises(RunnerError, match="is running"),
        lock_folder(tmp_path),
    ):
        pass
    with lock_folder(tmp_path):
        pass
