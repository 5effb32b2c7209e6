"""``canvass disks``: assess the disks of a cluster without event logs.

This module has the command line, and the verdict as text on one screen, question by question.
`canvass.disks.verdict` makes the verdict.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from canvass.cli.options import Output, existing, need_disks
from canvass.cli.output import Format, emit, result_console
from canvass.cluster.messages import NULL_VALUE
from canvass.disks.findings import ALL_MEMBERS, Finding, Kind, verdict_of

if TYPE_CHECKING:
    from canvass.disks.comparison import MemberLog
    from canvass.disks.outlook import Leadership, Outlook
    from canvass.disks.verdict import DisksVerdict

SHOWN: Final = 6
"""The greatest number of findings, tails or quorums of a member in the text; JSON has all."""


def register(app: typer.Typer) -> None:
    """Add the sub-command."""
    app.command("disks")(disks)


def disks(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR",
            help="Folder of one member, with its archive and cluster folders; or of all members.",
            callback=existing,
        ),
    ],
    lost: Annotated[
        list[int] | None,
        typer.Option(
            "--assume-lost",
            metavar="MEMBER",
            min=0,
            help="Assume that this member's disk is lost; repeatable.",
        ),
    ] = None,
    members: Annotated[
        int | None,
        typer.Option("--members", min=1, max=99, help="Number of members. Default: as found."),
    ] = None,
    client: Annotated[
        Path | None,
        typer.Option(
            "--client", help="File of the answers to clients, as JSON lines (see the guide)."
        ),
    ] = None,
    output: Output = Format.HUMAN,
) -> None:
    """Assess the disks of a cluster: are they sound, is anything lost, who can lead?

    Reads the files of Aeron 1.44 to 1.53, without Aeron. Writes nothing to the disks.
    Stop the members first, or give copies; the files may be gzipped.

    Exit code 0: sound. 1: something is lost, diverged or damaged.
    2: a file cannot be read, or is of an unknown release.
    3: a file is missing, the rest is sound.

    canvass disks /data/member-0 /data/member-1 /data/member-2
    """
    need_disks(folders)
    from canvass.disks.verdict import assess

    verdict = assess(
        folders,
        lost=lost or (),
        member_count=members,
        client=client,
        now_ms=time.time_ns() // 1_000_000,
    )
    emit(output, verdict, lambda: result_console().print("\n".join(lines(verdict))))
    raise typer.Exit(verdict.exit_code)


def lines(verdict: DisksVerdict) -> Iterator[str]:
    """The lines of a report."""
    yield from _head(verdict)
    yield "1. Is each disk sound in itself?"
    for log in verdict.logs:
        yield from _disk(log, [one for one in verdict.findings if one.member_id == log.member_id])
    for i in verdict.without_disk:
        yield f"  member {i}: no disk"
        yield from _findings([one for one in verdict.findings if one.member_id == i])
    yield ""
    yield "2. Where do the logs agree and differ?"
    yield from _logs(verdict)
    yield ""
    yield "3. Who can lead?"
    yield from _outlook(verdict.outlook)
    if verdict.with_empty is not None:
        empty = ", ".join(map(str, verdict.with_empty.started_empty))
        yield f"  If member {empty} is started with an empty disk:"
        yield from ("  " + line for line in _outlook(verdict.with_empty))
    yield f"  ({verdict.outlook.bounds})"
    yield ""
    yield "4. What can be done? (canvass changes nothing)"
    for option in verdict.options:
        yield f"  * {option.action}:"
        yield f"      {option.consequence}"
    yield ""
    yield _last(verdict)


def _head(verdict: DisksVerdict) -> Iterator[str]:
    there = ", ".join(map(str, verdict.member_ids))
    yield (
        f"disks of {len(verdict.member_ids)} of {verdict.member_count} members ({there}); a quorum "
        f"is {verdict.outlook.quorum}"
    )
    if verdict.schema_version == NULL_VALUE:
        yield f"no entry of a log was found; protocol {verdict.revision}, assumed"
    else:
        yield _written_by(verdict)
    yield ""


def _written_by(verdict: DisksVerdict) -> str:
    """The release that wrote the logs, and the protocol; a finding has all if there are several."""
    several = len({log.schema_version for log in verdict.logs} - {NULL_VALUE}) > 1
    newest = "the newest of several releases, " if several else "release "
    return (
        f"the logs were written by {newest}{verdict.releases} (schema version"
        f" {verdict.schema_version}); protocol {verdict.revision}, chosen by the"
        f" {'newest ' if several else ''}release"
    )


def _disk(log: MemberLog, findings: Sequence[Finding]) -> Iterator[str]:
    gravest = verdict_of(findings)
    term = (
        "no term"
        if log.log_leadership_term_id == NULL_VALUE
        else (f"term {log.log_leadership_term_id}")
    )
    snapshot = f"snapshot {log.snapshot_position}" if log.snapshot_position else "no snapshot"
    yield (
        f"  member {log.member_id}: log {log.start} to {log.end}, {term}, {snapshot}, "
        f"candidate term {log.candidate_term_id}: {gravest.lower()}"
    )
    yield from _findings(findings)


def _findings(findings: Sequence[Finding]) -> Iterator[str]:
    order = list(Kind)
    ranked = sorted(findings, key=lambda one: order.index(one.kind))
    for one in ranked[:SHOWN]:
        yield f"    {one.kind.value} {one.place}"
        yield f"      {one.text}"
        if one.consequence:
            yield f"      then: {one.consequence}"
    if len(ranked) > SHOWN:
        yield f"    {len(ranked) - SHOWN} more (--format json has all)"


def _logs(verdict: DisksVerdict) -> Iterator[str]:
    after = "Beyond that member" if len(verdict.logs) > 1 else "Member"
    if len(verdict.logs) > 1:
        yield f"  All readable logs are the same up to {verdict.common_position}."
    for log in verdict.logs:
        for tail in log.beyond_common[-SHOWN:]:
            led = f", led by member {tail.leader_member_id}" if tail.leader_member_id >= 0 else ""
            yield (
                f"  {after} {log.member_id} holds {tail.start} to {tail.end} of "
                f"term {tail.leadership_term_id}{led}."
            )
    if verdict.committed is not None:
        one = verdict.committed
        place = one.file if one.offset < 0 else f"{one.file}:{one.offset}"
        yield (
            f"  Committed for certain: up to {one.position}, as the disk of member"
            f" {one.member_id} proves."
        )
        yield f"    {one.text} ({place})"
    yield from _findings([one for one in verdict.findings if one.member_id == ALL_MEMBERS])


def _outlook(outlook: Outlook) -> Iterator[str]:
    for i, why in outlook.cannot_start.items():
        yield f"  member {i} does not start: {why}"
    for one in outlook.leaderships:
        yield from _leadership(one, outlook)
    for i, why in outlook.never_join.items():
        yield f"  member {i} can never join: {why}"
    if not any(one.quorums for one in outlook.leaderships):
        yield "  No member can lead with these disks."


def _leadership(one: Leadership, outlook: Outlook) -> Iterator[str]:
    i = one.leader_member_id
    if not one.quorums:
        why = next(iter(one.refused.values()), "there is no quorum with it")
        yield f"  member {i} cannot lead: {why}"
        return
    smallest = min(len(members) for members in one.quorums)
    sets = ["{" + ", ".join(map(str, members)) + "}" for members in one.quorums]
    shown = " or ".join(sets[:SHOWN]) + (" ..." if len(sets) > SHOWN else "")
    with_ = shown if one.refused else f"any {smallest} or more of the members that start"
    yield f"  member {i} can lead, with {with_}"
    if one.refused:
        members, why = next(iter(one.refused.items()))
        yield f"    not in {{{members}}}: {why}"
    for cut in one.truncations:
        what = "never on a quorum"
        if cut.committed_until > cut.start:
            what = f"COMMITTED up to {cut.committed_until}"
        elif cut.possible_until > cut.start:
            what = f"may have been committed up to {cut.possible_until}"
        yield f"    then member {cut.member_id} truncates {cut.start} to {cut.end}: {what}"
    for j, why in one.stuck.items():
        if j not in outlook.never_join:
            yield f"    then member {j} does not join: {why}"


def _last(verdict: DisksVerdict) -> str:
    counts = [
        f"{sum(one.kind is kind for one in verdict.findings)} {kind.value.lower()}"
        for kind in Kind
        if kind is not Kind.NOTE and any(one.kind is kind for one in verdict.findings)
    ]
    return f"{verdict.verdict}: " + (", ".join(counts) if counts else "no contradiction found")
