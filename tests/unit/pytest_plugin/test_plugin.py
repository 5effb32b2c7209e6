"""The pytest plugin, in sessions of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from canvass.cluster.rules import Rules
from canvass.conformance import verify
from canvass.conformance.findings import Verdict
from canvass.conformance.report import make_case
from canvass.conformance.verify import check_run
from canvass.pytest_plugin.session import seed_of
from canvass.selftest.runs import record_run
from canvass.steps.answers import StepLookup
from canvass.tlc.errors import TlcError
from support import corruptions
from support.core_lookup import core_lookup
from support.corruptions import corrupted

pytest_plugins = "pytester"

OFFICE = """
from examples.outsider.adapter import watcher
from examples.outsider.ledger import Clerk, HastyClerk, Office

def office(recorder, seed, kind=Clerk, run_id="office"):
    recording = recorder(members=3, revision="1.50", appointed_leader_id=0, run_id=run_id)
    Office(seed, watcher(recording.member), kind=kind).run(entries=6)
    return recording
"""


@pytest.fixture(autouse=True)
def without_tlc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the core answer in place of TLC."""
    monkeypatch.setattr(verify, "make_lookup", lambda *_, **__: core_lookup())


@pytest.fixture(autouse=True)
def without_browser(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the browser plugin, which allows no session within a session.

    `pytester` comes first: it removes the variable.
    """
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:playwright")


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good") / "run"
    record_run(folder, Rules.of("1.50"), 0, 300, faults=0.0, run_id="good")
    return folder


@pytest.fixture(scope="module", autouse=True)
def _loaded(good: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Load the modules of inner sessions beforehand.

    Inner sessions unload the modules that they load, and compiled code cannot be loaded twice.
    """
    numba.njit(lambda rows: rows.sum())(np.zeros(2, np.int64))
    bad = corrupted(good, tmp_path_factory.mktemp("bad") / "run", corruptions.commit_too_far)
    found = check_run(bad, core_lookup())
    assert found.verdict is Verdict.DIVERGES
    make_case(found, core_lookup())


def test_a_recording_is_checked_when_its_test_ends(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        OFFICE + "def test_it(canvass_recorder, canvass_seed):\n"
        "    office(canvass_recorder, canvass_seed)\n"
    )

    ended = pytester.runpytest()

    ended.assert_outcomes(passed=1)
    ended.stdout.fnmatch_lines(["*= canvass =*", "1 run checked, * events: 1 CONFORMS"])
    assert not (pytester.path / ".pytest_cache/d/canvass/failed").exists()


def test_a_divergence_fails_the_test_and_shows_what_to_do(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        OFFICE + "def test_it(canvass_recorder, canvass_seed):\n"
        "    office(canvass_recorder, canvass_seed, HastyClerk)\n"
    )

    ended = pytester.runpytest("--canvass-seed", "11")

    ended.assert_outcomes(passed=1, errors=1)
    kept = pytester.path / ".pytest_cache/d/canvass/failed"
    (folder,) = kept.iterdir()
    assert (folder / "run.json").is_file()
    ended.stdout.fnmatch_lines(
        [
            "canvass: the run office is DIVERGES, not CONFORMS",
            "DIVERGES: UpdateLeaderPosition at member 0, step *",
            "*What the spec allows instead*",
            "*commitPosition: observed *, allowed *",
            "*sends to 1: observed CommitPosition(*",
            "*Replication.tla:*",
            "*✖ * UpdateLeaderPosition*",
            f"see it again: canvass trace show {folder} --around 0:*",
            f"run kept:     {folder}",
            "seed:         11",
            "repeat:       pytest *::test_it --canvass-seed 11",
        ]
    )


def test_an_explicit_check_fails_the_test_or_accepts_the_expected_verdict(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        OFFICE + "def test_fails(canvass_recorder):\n"
        "    office(canvass_recorder, 5, HastyClerk).check()\n"
        "def test_expects(canvass_recorder):\n"
        "    checked = office(canvass_recorder, 5, HastyClerk).check(expect='DIVERGES')\n"
        "    assert checked.verdict == 'DIVERGES' and checked.result.divergences\n"
        "def test_goes_on(canvass_recorder):\n"
        "    recording = canvass_recorder(members=3, revision='1.50', appointed_leader_id=0)\n"
        "    the = Office(3, watcher(recording.member))\n"
        "    the.run(1)\n"
        "    before = recording.check().result.events\n"
        "    the.run(1)\n"
        "    assert recording.check().result.events > before\n"
    )

    ended = pytester.runpytest()

    ended.assert_outcomes(passed=2, failed=1)


@pytest.mark.parametrize(
    "lost",
    [
        "    thread = threading.Thread(target=check)\n    thread.start()\n    thread.join()\n",
        "    with ThreadPoolExecutor(1) as pool:\n        pool.submit(check)\n",
        "    try:\n        check()\n    except BaseException:\n        pass\n",
        "    with contextlib.suppress(pytest.fail.Exception):\n        check()\n    check(None)\n",
        "    with pytest.raises(pytest.fail.Exception):\n        check()\n",
        "    try:\n        check()\n    finally:\n        return\n",
    ],
    ids=["thread", "pool", "loop", "suppressed", "raises", "finally"],
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_a_failed_check_whose_exception_is_lost_fails_the_test(
    pytester: pytest.Pytester, lost: str
) -> None:
    pytester.makepyfile(
        "import contextlib, threading, pytest\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        f"{OFFICE}def test_it(canvass_recorder):\n"
        f"    check = office(canvass_recorder, 5, HastyClerk).check\n{lost}"
    )

    ended = pytester.runpytest()

    ended.assert_outcomes(passed=1, errors=1)
    ended.stdout.fnmatch_lines(
        [
            "canvass: a check failed, but its test went on",
            "canvass: the run office is DIVERGES, not CONFORMS",
        ]
    )


def test_a_failed_check_counts_no_more_after_one_that_passes(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import pytest\n" + OFFICE + "def test_waits(canvass_recorder):\n"
        "    recording = canvass_recorder(members=3, revision='1.50', appointed_leader_id=0)\n"
        "    with pytest.raises(pytest.fail.Exception, match='no events'):\n"
        "        recording.check()\n"
        "    Office(3, watcher(recording.member)).run(1)\n"
        "    recording.check()\n"
        "@pytest.mark.xfail(strict=True)\n"
        "def test_is_known_to_fail(canvass_recorder):\n"
        "    office(canvass_recorder, 5, HastyClerk).check()\n"
    )

    ended = pytester.runpytest()

    ended.assert_outcomes(passed=1, xfailed=1)


def test_hypothesis_finds_the_smallest_example_that_diverges(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        OFFICE + "from hypothesis import HealthCheck, given, settings, strategies as st\n"
        "@settings(max_examples=8, deadline=None, derandomize=True, database=None,\n"
        "          suppress_health_check=[HealthCheck.function_scoped_fixture])\n"
        "@given(st.integers(1, 3), st.booleans())\n"
        "def test_it(canvass_recorder, entries, hasty):\n"
        "    run = {'members': 3, 'revision': '1.50', 'appointed_leader_id': 0}\n"
        "    kind = HastyClerk if hasty else Clerk\n"
        "    with canvass_recorder(**run) as recording:\n"
        "        Office(5, watcher(recording.member), kind=kind).run(entries)\n"
    )

    ended = pytester.runpytest()

    ended.assert_outcomes(failed=1)
    ended.stdout.fnmatch_lines(["*hasty=True*"])
    assert len(list((pytester.path / ".pytest_cache/d/canvass/failed").iterdir())) == 1


def test_a_step_that_does_not_fit_the_format_fails_where_it_is_recorded(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        "from support.trace_events import initial_member\n"
        "def test_it(canvass_recorder):\n"
        "    recording = canvass_recorder(members=3, revision='1.50')\n"
        "    recording.member(1).record(1, 'Restart', initial_member())\n"
        "    recording.member(1).record(2.5, 'Restart', initial_member())\n"
    )

    ended = pytester.runpytest()

    ended.assert_outcomes(failed=1)
    ended.stdout.fnmatch_lines(["E *ValueError: member 1, step 1, Restart: *`$.timeNs`"])


def test_an_empty_recording_fails(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "def test_it(canvass_recorder):\n    canvass_recorder(members=3, revision='1.50')\n"
        "def test_never_called(canvass_recorder):\n    pass\n"
    )

    ended = pytester.runpytest()

    ended.assert_outcomes(passed=2, errors=1)
    ended.stdout.fnmatch_lines(["MALFORMED: the run has no events: nothing was checked"])


def test_a_failed_test_shows_the_verdict_of_its_run(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        OFFICE + "def test_it(canvass_recorder):\n"
        "    office(canvass_recorder, 5, HastyClerk)\n    assert 0\n"
    )

    ended = pytester.runpytest()

    ended.assert_outcomes(failed=1)
    ended.stdout.fnmatch_lines(["*Captured stdout teardown*", "canvass: the run office is *"])


def test_a_run_with_invalid_fields_is_refused(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import pytest\n"
        "@pytest.mark.parametrize('described', [{'members': 0, 'revision': '1.50'},\n"
        "    {'members': 3, 'revision': '2'},\n"
        "    {'members': 3, 'revision': '1.50', 'run_id': '../x'}])\n"
        "def test_it(canvass_recorder, described):\n"
        "    with pytest.raises(ValueError, match='not a run'):\n"
        "        canvass_recorder(**described)\n"
    )

    pytester.runpytest().assert_outcomes(passed=3)


def test_the_marker_calls_a_test_once_for_each_run(pytester: pytest.Pytester, good: Path) -> None:
    corpus = pytester.mkdir("corpus")
    corrupted(good, corpus / "bad", corruptions.commit_too_far)
    corrupted(good, corpus / "gap", corruptions.event_dropped)
    corrupted(good, corpus / "good", lambda _: None)
    pytester.makepyfile(
        "import pytest\n"
        "@pytest.mark.canvass_runs('corpus')\n"
        "def test_all(canvass_run):\n    assert canvass_run.run_id == 'good'\n"
        "@pytest.mark.canvass_runs('corpus/bad', expect='DIVERGES')\n"
        "def test_bad(canvass_run):\n    assert canvass_run.result.divergences\n"
        "@pytest.mark.canvass_runs('corpus', expect=None)\n"
        "def test_any(canvass_run):\n    assert canvass_run.path.name\n"
    )

    ended = pytester.runpytest("-v")

    ended.assert_outcomes(passed=5, errors=2)
    ended.stdout.fnmatch_lines(["*test_all?bad? ERROR*", "*test_all?gap? ERROR*"])
    ended.stdout.fnmatch_lines(["INCOMPLETE: GAP of member *"])


def test_a_test_with_the_marker_must_use_the_fixture(pytester: pytest.Pytester, good: Path) -> None:
    corrupted(good, pytester.mkdir("corpus") / "bad", corruptions.commit_too_far)
    pytester.makepyfile(
        "import pytest\n@pytest.mark.canvass_runs('corpus')\ndef test_all():\n    pass\n"
    )

    ended = pytester.runpytest()

    ended.assert_outcomes(errors=1)
    ended.stdout.fnmatch_lines(["*test_all: function uses no *canvass_run*"])


@pytest.mark.parametrize("named", ["'nowhere'", "", "'empty'"])
def test_a_marker_that_names_no_run_is_an_error(pytester: pytest.Pytester, named: str) -> None:
    pytester.mkdir("empty")
    pytester.makepyfile(
        f"import pytest\n@pytest.mark.canvass_runs({named})\ndef test_it(canvass_run):\n    pass\n"
    )

    ended = pytester.runpytest()

    assert ended.ret == pytest.ExitCode.INTERRUPTED
    ended.assert_outcomes(errors=1)
    ended.stdout.fnmatch_lines(["*canvass_runs*"])
    ended.stdout.no_fnmatch_line("*_hookexec*")  # One line, no traceback.


def test_a_session_without_canvass_prints_nothing_and_loads_no_heavy_module(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeconftest(
        "import json, sys\n"
        "def pytest_unconfigure(config):\n"
        "    heavy = {'numpy', 'pyarrow', 'numba', 'msgspec', 'rich', 'canvass.cluster'}\n"
        "    print('LOADED', json.dumps(sorted(heavy & set(sys.modules))))\n"
        "    print('PLUGIN', 'canvass.pytest_plugin' in sys.modules)\n"
    )
    pytester.makepyfile("def test_it():\n    pass\n")

    ended = pytester.runpytest_subprocess("-p", "no:hypothesispytest", "-s")

    ended.assert_outcomes(passed=1)
    reported = dict(
        line.split(" ", 1) for line in ended.outlines if line[:7] in ("LOADED ", "PLUGIN ")
    )
    assert json.loads(reported["LOADED"]) == []
    assert reported["PLUGIN"] == "True"
    ended.stdout.no_fnmatch_line("*= canvass =*")


def test_artifacts_are_kept_in_the_named_folder(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        OFFICE + "def test_it(canvass_recorder):\n"
        "    office(canvass_recorder, 5, HastyClerk).check()\n"
    )

    ended = pytester.runpytest("--canvass-artifacts", "kept", "-p", "no:cacheprovider")

    ended.assert_outcomes(failed=1)
    (kept,) = (pytester.path / "kept").iterdir()
    assert kept.name.startswith("test_artifacts_are_kept_in_the_named_folder.py-test_it-")


def test_every_reported_run_is_kept(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        OFFICE + "import pytest\n"
        "@pytest.mark.parametrize('name', ['a/b', 'a:b'])\n"
        "def test_it(canvass_recorder, name):\n"
        "    first = office(canvass_recorder, 5, HastyClerk, f'first-{ord(name[1])}')\n"
        "    office(canvass_recorder, 5, HastyClerk, f'second-{ord(name[1])}')\n"
        "    first.check()\n"
    )

    pytester.runpytest("--canvass-artifacts", "kept")

    kept = (pytester.path / "kept").iterdir()
    runs = [json.loads((path / "run.json").read_text())["runId"] for path in kept]
    assert sorted(runs) == ["first-47", "first-58", "second-47", "second-58"]


def test_a_step_that_tlc_cannot_check_fails_the_test_once_and_without_a_traceback(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_java(*_: object) -> StepLookup:
        def oracle(*_: object) -> list[Any]:
            raise TlcError("no Java: install it")

        return StepLookup(oracle=oracle)

    monkeypatch.setattr(verify, "make_lookup", without_java)
    pytester.makepyfile(
        OFFICE + "def test_it(canvass_recorder):\n    office(canvass_recorder, 5).check()\n"
    )

    ended = pytester.runpytest()

    ended.assert_outcomes(failed=1)
    ended.stdout.fnmatch_lines(["canvass: no Java: install it"])
    ended.stdout.no_fnmatch_line("*session.py*")


def test_the_seed_is_a_hash_of_the_name_or_the_given_one(request: pytest.FixtureRequest) -> None:
    own = seed_of(request.node, None)

    assert own == seed_of(request.node, None)
    assert seed_of(request.node, "42") == 42
    assert 0 <= seed_of(request.node, "random") < 1 << 32
    with pytest.raises(pytest.UsageError, match="a number or 'random'"):
        seed_of(request.node, "x")


def test_coverage_of_several_processes_adds_up(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        OFFICE + "import pytest\n"
        "@pytest.mark.parametrize('seed', [1, 2])\n"
        "def test_it(canvass_recorder, seed):\n    office(canvass_recorder, seed)\n"
    )

    ended = pytester.runpytest("-n", "2")

    ended.stdout.fnmatch_lines(["2 runs checked, * events: 2 CONFORMS", "actions of the spec: *"])
