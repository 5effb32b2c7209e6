"""Which release wrote the logs, which revision is used for it, and what limits the choice."""

from __future__ import annotations

import msgspec
import pytest

from canvass.cluster.rules import Rules
from canvass.traces.aeron_log.releases import (
    MAX_NAMED,
    RELEASES,
    LogReleases,
    RevisionChoice,
    noted_releases,
    releases_of,
    releases_of_run,
)
from canvass.traces.schema import Run, encode
from support.aeron_lines import commit, header, logs_of

ROLE = "[103.000000000] CLUSTER: ROLE_CHANGE [9/9]: memberId=0 FOLLOWER -> CANDIDATE"
START_1_53 = '[101.000000000] CLUSTER: START version="1.53.0-SNAPSHOT"'


def releases(*members: tuple[str, ...], revision: str = "") -> LogReleases:
    """The releases of a cluster, given those in each member's headers. A line follows each header.

    An empty text is a header without a release, ``-`` is no header at all.
    """
    logs = [
        tuple(
            line
            for k, one in enumerate(named, 1)
            for line in (header(one, 100 * k), commit(64, 100 * k + 1, i))
            if one != "-" or line != header(one, 100 * k)
        )
        for i, named in enumerate(members)
    ]
    return releases_of(logs_of(*logs), revision)


def test_one_release_chooses_the_revision() -> None:
    found = releases(("1.52.2",), ("1.52.2", "1.52.2"), ("1.52.2",))

    assert found.choice is RevisionChoice.RELEASE
    assert str(found) == (
        "Aeron 1.52.2 (members 0, 1, 2); revision 1.50 of the spec, chosen by the release"
    )
    assert found.remarks == ()
    assert releases(("1.49.3",)).revision == "1.49"


def test_the_built_in_logger_names_its_release_in_the_event_start() -> None:
    found = releases_of(logs_of((header(), START_1_53, commit(64))))

    assert str(found).startswith("Aeron 1.53.0 (member 0); revision 1.50 of the spec")
    assert found.remarks == ()


@pytest.mark.parametrize(("release", "revision"), [("1.42.0", "1.49"), ("1.60.0", "1.50")])
def test_a_release_that_was_not_tried_is_named(release: str, revision: str) -> None:
    found = releases((release,), (release,))

    (remark,) = found.remarks
    assert remark == (
        f"release {release} (members 0, 1) has not been tried, only 1.43 to 1.53; revision"
        f" {revision} is used for it: read the verdict with this in mind"
    )


@pytest.mark.parametrize("release", ["1.43.0", "1.53.7"])
def test_the_first_and_last_release_that_are_read_have_no_remark(release: str) -> None:
    assert releases((release,)).remarks == ()


def test_members_of_several_releases() -> None:
    """The newest release decides; the rules of the other are not those expected."""
    found = releases(("1.49.3",), ("1.50.0",), ("1.50.0",))

    assert str(found) == (
        "Aeron 1.49.3 (member 0), 1.50.0 (members 1, 2); revision 1.50 of the spec, chosen by the"
        " newest release"
    )
    [remark] = found.remarks
    assert remark == (
        "release 1.49.3 (member 0) has the rules of revision 1.49; its steps are checked by those"
        " of revision 1.50, and correct ones can be refused"
    )


def test_a_member_that_was_upgraded() -> None:
    found = releases(("1.49.3", "1.50.0", "1.50.0"), ("1.49.3",))

    assert str(found).startswith("Aeron 1.49.3, then 1.50.0 (member 0), 1.49.3 (member 1); ")
    assert "1.49.3 (members 0, 1) has the rules of revision 1.49" in found.remarks[0]


def test_releases_with_the_same_rules_have_no_remark() -> None:
    assert releases(("1.50.0",), ("1.52.2",)).remarks == ()


@pytest.mark.parametrize("named", ["-", ""])
def test_logs_that_name_no_release(named: str) -> None:
    """The head is cut off, or the agent is older than 1.49.2."""
    found = releases((named,), (named,))

    assert found.choice is RevisionChoice.LINES
    assert str(found) == (
        f"Aeron, release unknown (members 0, 1); revision {found.revision} of the spec, assumed"
        " from the fields of the lines"
    )
    (remark,) = found.remarks
    assert "no log names its release" in remark
    assert "--revision" in remark


def test_the_lines_bound_a_release_that_is_not_named() -> None:
    """Releases before 1.50 print no reason."""
    assert releases_of(logs_of((ROLE,))).revision == "1.49"
    assert releases_of(logs_of((f'{ROLE} reason="x"',))).revision == "1.50"


def test_a_log_without_its_head_beside_others() -> None:
    found = releases(("1.52.2",), ("-",))

    assert str(found).startswith("Aeron 1.52.2 (member 0), release unknown (member 1); ")
    assert found.remarks == ("the release of member 1 is taken to be that of the other members",)


def test_a_revision_that_the_user_chose() -> None:
    found = releases(("1.52.2",), revision="1.49")

    assert str(found).endswith("; revision 1.49 of the spec, chosen by --revision")
    (remark,) = found.remarks
    assert "1.52.2 (member 0) has the rules of revision 1.50" in remark
    assert releases(("1.52.2",), revision="1.50").remarks == ()


def test_few_releases_of_a_log_are_kept() -> None:
    found = releases(tuple(f"1.50.{patch}" for patch in range(2 * MAX_NAMED)))

    assert found.members[0] == tuple(f"1.50.{patch}" for patch in range(MAX_NAMED))


def decoded(source: dict[str, object], revision: str = "1.50") -> Run:
    """A run with a source, as it is read again."""
    return msgspec.json.decode(encode(Run.of(Rules.of(revision, 3), "run", source)), type=Run)


def test_a_run_keeps_the_releases_and_has_the_revision_itself() -> None:
    found = releases(("1.49.3", "1.50.0"))
    source: dict[str, object] = {RELEASES: noted_releases(found)}

    assert releases_of_run(decoded(source)) == found
    other = releases_of_run(decoded(source, "1.49"))
    assert other is not None
    assert (other.members, other.revision) == (found.members, "1.49")
    assert "1.50.0 (member 0) has the rules of revision 1.50" in other.remarks[0]


@pytest.mark.parametrize(
    "given",
    [
        None,
        "1.52.2",
        [],
        {"members": {"0": ["1.52.2"]}},
        {"members": {"0": ["1.52.2\n"]}, "choice": "RELEASE"},
        {"members": {"0": ["1.52"]}, "choice": "RELEASE"},
        {"members": {"0": ["1.052.2"]}, "choice": "RELEASE"},
        {"members": {"0": ["1.1.1"] * (MAX_NAMED + 1)}, "choice": "RELEASE"},
        {"members": {"99": ["1.52.2"]}, "choice": "RELEASE"},
        {"members": {"0": ["1.52.2"]}, "choice": "CHANCE"},
    ],
)
def test_releases_of_another_form_count_as_none(given: object) -> None:
    """No verdict depends on them, so no run is malformed for them."""
    assert releases_of_run(decoded({} if given is None else {RELEASES: given})) is None
