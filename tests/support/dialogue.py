"""The commands of a scenario.

A `Dialogue` has a world and runs commands. A scenario is compared with its output. Each verb is a
method; the first line of its docstring shows how the command is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from itertools import groupby
from typing import TypeAlias

from canvass.cluster import core
from canvass.cluster.duty_cycle import EVENT_LENGTH, Received, StepRecorder
from canvass.cluster.effects import Effect, Send
from canvass.cluster.member import (
    NULL_RECORD,
    ElectionState,
    Input,
    Member,
    MemberRecord,
    ModuleState,
    Role,
    TermEntry,
)
from canvass.cluster.messages import NULL_VALUE, Message, sender_of, wire_name
from canvass.cluster.predicates import RECORDS_READ, in_election
from canvass.cluster.recording_log import last_term
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member
from canvass.simulation.world import AttemptedStep, Log, Segment, World, append, cut, length
from support.scenario_language import (
    Command,
    ScenarioError,
    blocks,
    command,
    heard,
    integer,
    number,
    place,
    said,
    span,
)

BY_HAND = 1 << 40
"""The first number of messages that a scenario makes by hand."""


def entries_text(log: tuple[TermEntry, ...]) -> str:
    """The recording log: each term with its base and end."""
    words = [
        span(entry.leadership_term_id, entry.term_base_log_position, entry.log_position)
        for entry in log
    ]
    return " ".join(words) or "empty"


def contents_text(log: Log) -> str:
    """The content of a log: each term with the positions at which its bytes begin and end."""
    return " ".join(f"{part.term}[{part.start},{part.end})" for part in log) or "empty"


def _effect(effect: Effect) -> str:
    words = [type(effect).__name__]
    for part in fields(effect):
        value = getattr(effect, part.name)
        shown = entries_text(value) if isinstance(value, tuple) else str(value)
        words.append(f"{wire_name(part.name)}={shown}")
    return " ".join(words)


def effect_lines(sequence: tuple[Effect, ...]) -> Iterator[str]:
    """The effects of a step in order; equal messages to several members are one line."""

    def kind(effect: Effect) -> object:
        return effect.message if isinstance(effect, Send) else effect

    for _, same in groupby(sequence, key=kind):
        group = list(same)
        first = group[0]
        if isinstance(first, Send):
            to = " ".join(str(one.to) for one in group if isinstance(one, Send))
            yield f"  -> {to}  {said(first.message)}"
        else:
            yield f"   !  {_effect(first)}"


def step_lines(taken: AttemptedStep) -> Iterator[str]:
    """A step: its member, its cause and its effects."""
    message = taken.input.message
    cause = taken.action if message is None else f"<- {said(message)}"
    if taken.outcome is None:
        yield f"{taken.member} {cause}: not enabled"
        return
    quiet = taken.outcome.next == taken.before and not taken.outcome.effects
    yield f"{taken.member} {cause}{': ignored' if quiet and message is not None else ''}"
    yield from effect_lines(taken.outcome.effects)


def _record(j: int, record: MemberRecord) -> str:
    vote = {0: " no", 1: " yes"}.get(record.vote, "")
    heard = "?"
    if record.log_position != NULL_VALUE:
        heard = place(record.leadership_term_id, record.log_position)
    return f"{j}={heard}{vote}{' replay' if record.catchup_replay else ''}"


def _more_of_an_election(s: Member) -> Iterator[str]:
    yield f"candidate={number(s.candidate_term_id)}"
    if s.persisted_candidate_term_id != s.candidate_term_id:
        yield f"persisted={number(s.persisted_candidate_term_id)}"
    if s.recorded_position != s.append_position:
        yield f"recorded={s.recorded_position}"
    if s.catchup_join_position != NULL_VALUE:
        yield f"join={s.catchup_join_position}"
    if s.replication_stop_position != NULL_VALUE:
        copied = span(
            s.replication_leadership_term_id,
            s.replication_term_base_log_position,
            s.replication_stop_position,
        )
        yield f"{'copying' if s.log_replication else 'copy'}={copied}"
    if s.replay_stop_position != NULL_VALUE:
        yield f"replay={s.replay_stop_position}"
    if s.graceful_closed_leader_id != NULL_VALUE:
        yield f"gone={s.graceful_closed_leader_id}"


def _more(s: Member) -> Iterator[str]:
    if in_election(s):
        yield f"commit={s.commit_position}/{number(s.notified_commit_position)}"
        yield from _more_of_an_election(s)
    else:
        yield f"commit={s.commit_position}/{s.module_notified_commit_position}"
    if s.leader_member_id != NULL_VALUE:
        yield f"leader={s.leader_member_id}"
    if s.publication_position != NULL_VALUE:
        yield f"published={s.publication_position}"
    if s.log_subscription:
        yield "subscribed"
    if s.catchup_destination:
        yield "catchup"
    if s.termination_position != NULL_VALUE:
        yield f"ends={place(s.termination_leadership_term_id, s.termination_position)}"


def member_lines(i: int, s: Member) -> Iterator[str]:
    """The fields of a member's state that are not null; below them its records of the others."""
    if s.module_state is ModuleState.CLOSED:
        disk = place(last_term(s.recording_log), s.recorded_position)
        yield f"{i} DOWN  log={disk} candidate={number(s.persisted_candidate_term_id)}"
        return
    state, role = s.election_state.value, s.role.value
    if s.election_state is ElectionState.CLOSED:
        term, log = (
            s.module_leadership_term_id,
            place(last_term(s.recording_log), s.recorded_position),
        )
    else:
        term, log = s.leadership_term_id, place(s.log_leadership_term_id, s.append_position)
    yield " ".join((f"{i} {state:<24} {role:<9} term={number(term):<2} log={log:<8}", *_more(s)))
    reads = s.election_state in RECORDS_READ or s.role is Role.LEADER
    if reads and any(record != NULL_RECORD for record in s.members):
        yield "    knows " + "  ".join(_record(j, record) for j, record in enumerate(s.members))


Recorders: TypeAlias = Callable[[Rules], Sequence[StepRecorder]]

_FACTS = ("interval", "commit", "timeout")


class Dialogue:
    """Runs the commands of one scenario.

    Parameters
    ----------
    recorders
        Gives, once the rules are known, where each member records its steps.
    """

    def __init__(self, recorders: Recorders = lambda _: ()) -> None:
        self._recorders = recorders
        self._world: World | None = None
        self.by_hand = 0
        """The number of messages that were made by hand: no member of this world has sent them."""
        self._verbs: dict[str, Callable[[Command], None]] = {
            "cluster": self._cluster,
            "disk": self._disk,
            "start": self._start,
            "crash": self._crash,
            "tick": self._tick,
            "do": self._do,
            "receive": self._receive,
            "deliver": self._deliver,
            "drop": self._drop,
            "append": self._append,
            "record": self._record,
            "consume": self._consume,
            "settle": self._settle,
            "elect": self._elect,
            "logs": self._logs,
            "show": self._show,
        }
        self._lines: list[str] = []

    @property
    def world(self) -> World:
        """The cluster of the scenario.

        Raises
        ------
        ScenarioError
            If no command has made one yet.
        """
        if self._world is None:
            raise ScenarioError("a scenario begins with `cluster`")
        return self._world

    def run(self, lines: tuple[str, ...]) -> str:
        """Run the commands of a block.

        Returns
        -------
        str
            The steps in order, then the members that have changed.

        Raises
        ------
        ScenarioError
            If a command cannot be read or carried out.
        """
        self._lines = []
        before = list(self._world.members) if self._world else []
        for line in lines:
            self._run(line)
        after = self.world.members
        if len(before) != len(after):
            before = [persistent_member(self.world.rules)] * len(after)
        for i, s in enumerate(after):
            if s != before[i]:
                self._lines += member_lines(i, s)
        return "\n".join(self._lines) or "ok"

    def _run(self, line: str) -> None:
        read = command(line)
        if read.verb not in self._verbs:
            raise ScenarioError(f"there is no command {read.verb!r}")
        try:
            self._verbs[read.verb](read)
        except (IndexError, KeyError, ValueError, TypeError, RuntimeError) as error:
            raise ScenarioError(f"{line!r} cannot be carried out: {error}") from error

    def _print_steps_from(self, first: int) -> None:
        """Print the steps from number ``first`` on."""
        for taken in self.world.steps[first:]:
            self._lines += step_lines(taken)

    def _each(self, read: Command) -> Iterator[int]:
        """The members that a command names, without its other words."""
        everybody = range(self.world.rules.member_count)
        for word in read.words:
            if word not in _FACTS:
                yield from everybody if word == "all" else (integer(word),)

    def _cluster(self, read: Command) -> None:
        """``cluster 3 1.50 [appointed=0] [event=96]``: make members with empty disks."""
        count, revision = read.words
        rules = Rules.of(revision, int(count), integer(read.values.get("appointed", "-")))
        if "hardening" in read.values:
            hardening = frozenset(read.values["hardening"].split(","))
            rules = Rules(rules.member_count, rules.revision, hardening, rules.appointed_leader_id)
        event = read.integer("event")
        self._world = World(
            rules,
            EVENT_LENGTH if event is None else event,
            core.step,
            self._recorders(rules),
        )

    def _disk(self, read: Command) -> None:
        """``disk 0 terms=0:0-2848,1:2848- recorded=4064``: set the content of members' disks.

        Optional: ``candidate=1``, ``snapshot=0:0:96`` and ``log=...``. Each term has its base and,
        if it is closed, its end. The content of the log follows from the terms and ``recorded``,
        unless ``log`` gives other terms in the same notation.
        """
        terms = tuple(_entries(read.values.get("terms", "")))
        recorded = read.integer("recorded") or 0
        written = tuple(_entries(read.values["log"])) if "log" in read.values else terms
        candidate = read.integer("candidate")
        snapshot = [integer(k) for k in read.values.get("snapshot", "-:0:0").split(":")]
        found = persistent_member(
            self.world.rules,
            NULL_VALUE if candidate is None else candidate,
            terms,
            recorded,
            *snapshot,
        )
        log = _contents(written, recorded)
        if length(log) != recorded:
            raise ScenarioError(f"the log has {length(log)} bytes, not {recorded}")
        for i in self._each(read):
            self.world.set_disk(i, found, log)

    def _start(self, read: Command) -> None:
        """``start 0 1 ...``: start or restart members from their disks."""
        for i in self._each(read):
            self.world.start(i)

    def _crash(self, read: Command) -> None:
        """``crash 0 1 ...``: kill members."""
        for i in self._each(read):
            self.world.crash(i)

    def _input(self, read: Command, i: int) -> Input:
        everybody = frozenset(self.world.up)
        active, accepted = read.members("active"), read.members("accepted")
        position = read.integer("position")
        gone = read.integer("gone")
        return Input(
            interval="interval" in read.words,
            commit_interval="commit" in read.words,
            timeout="timeout" in read.words,
            active=everybody if active is None else active,
            accepted=everybody - {i} if accepted is None else accepted,
            position=NULL_VALUE if position is None else position,
            graceful_closed_leader_id=NULL_VALUE if gone is None else gone,
        )

    def _tick(self, read: Command) -> None:
        """``tick 0 1 [interval] [commit] [timeout]``: one duty cycle of each member.

        The step is that of the election state; after the election it is a follower's report or a
        leader's commit. Optional: ``active=0,1``, ``accepted=1`` and ``position=96``.
        """
        first = len(self.world.steps)
        for i in self._each(read):
            self.world.tick(i, self._input(read, i))
        self._print_steps_from(first)

    def _do(self, read: Command) -> None:
        """``do 0 EnterElection [gone=1] ...``: take an action by its name."""
        i, action = integer(read.words[0]), read.words[1]
        first = len(self.world.steps)
        self.world.take(i, action, self._input(read, i))
        self._print_steps_from(first)

    def _active(self, read: Command) -> frozenset[int]:
        active = read.members("active")
        return frozenset(self.world.up) if active is None else active

    def _receive(self, read: Command) -> None:
        """``receive 0 RequestVote log=0@96 term=1 candidate=2``: handle a message made by hand."""
        text = " ".join(word for word in read.line.split()[2:] if not word.startswith("active="))
        first = len(self.world.steps)
        self._by_hand(integer(read.words[0]), heard(text), self._active(read))
        self._print_steps_from(first)

    def _by_hand(self, j: int, message: Message, active: frozenset[int]) -> None:
        """Let member ``j`` handle a message that no member of this world has sent.

        In a recording, its number is larger than all numbers that its sender has recorded, as if
        the sender had sent it later.
        """
        self.by_hand += 1
        sender = sender_of(message)
        if sender == NULL_VALUE:
            sender = self.world.members[j].leader_member_id
        if sender in (j, NULL_VALUE):
            sender = 0 if j else 1
        self.world.handle(j, Received(sender, BY_HAND + self.by_hand, message), active)

    def _channel(self, read: Command) -> Iterator[tuple[int, int]]:
        """Each pair of members that ``1->0`` or ``*->0`` names."""
        for word in read.words:
            if "->" in word:
                sender, receiver = word.split("->")
                for i, j in self.world.channels:
                    if sender in ("*", str(i)) and receiver in ("*", str(j)):
                        yield i, j

    def _deliver(self, read: Command) -> None:
        """``deliver 1->0 ... [count=1|all] [active=0,1]``: the next messages of channels arrive."""
        first = len(self.world.steps)
        for i, j in self._channel(read):
            for _ in range(self._count(read, i, j)):
                self.world.deliver(i, j, self._active(read))
        self._print_steps_from(first)

    def _drop(self, read: Command) -> None:
        """``drop 1->0 ... [count=1|all]``: the next messages of channels are lost."""
        for i, j in self._channel(read):
            for _ in range(self._count(read, i, j)):
                self._lines.append(f"{j} xx {said(self.world.channels[i, j].popleft().message)}")

    def _count(self, read: Command, i: int, j: int) -> int:
        waiting = len(self.world.channels[i, j])
        asked = read.values.get("count", "all")
        return waiting if asked == "all" else min(waiting, integer(asked))

    def _append(self, read: Command) -> None:
        """``append 0 to=6496``: a closed leader writes entries up to a position."""
        first = len(self.world.steps)
        position = read.integer("to")
        for i in self._each(read):
            self.world.take(
                i, "AppendEntry", Input(position=NULL_VALUE if position is None else position)
            )
        self._print_steps_from(first)

    def _record(self, read: Command) -> None:
        """``record 0 ... [to=5280] [term=2]``: the archive records available bytes to a position.

        With ``term`` it records bytes of that term, even if no member has them.
        """
        first = len(self.world.steps)
        for i in self._each(read):
            self.world.record(i, read.integer("to"), read.integer("term"))
        self._print_steps_from(first)

    def _consume(self, read: Command) -> None:
        """``consume 0 ... [to=4064]``: process the log as far as allowed, or up to a position."""
        first = len(self.world.steps)
        for i in self._each(read):
            self.world.consume(i, read.integer("to"))
        self._print_steps_from(first)

    def _settle(self, read: Command) -> None:
        """``settle 0 1 ...``: members take steps until nothing changes; only they communicate.

        Optional: ``until=1:FOLLOWER_REPLAY`` stops when a member is in that state, and ``rounds=9``
        stops after that number of rounds.
        """
        self._let_go_on(frozenset(self._each(read)), None, read)

    def _elect(self, read: Command) -> None:
        """``elect 0 with=0,1``: like `settle`, but the deadlines of the first member pass, too."""
        together = read.members("with")
        everybody = frozenset(self.world.up)
        self._let_go_on(everybody if together is None else together, integer(read.words[0]), read)

    def _let_go_on(self, together: frozenset[int], standing: int | None, read: Command) -> None:
        until = None
        if "until" in read.values:
            i, state = read.values["until"].split(":")
            until = integer(i), ElectionState(state)
        self.world.settle(together, standing, until, read.integer("rounds"))

    def _logs(self, read: Command) -> None:
        """``logs 0 1 ...``: print the content of the logs and of the recording logs."""
        for i in self._each(read):
            recording_log = entries_text(self.world.members[i].recording_log)
            self._lines.append(
                f"{i} holds {contents_text(self.world.logs[i])}  knows {recording_log}"
            )

    def _show(self, read: Command) -> None:
        """``show 0 1 ...``: print the states of members, even if they have not changed."""
        for i in self._each(read):
            self._lines += member_lines(i, self.world.members[i])


def _entries(text: str) -> Iterator[TermEntry]:
    """Read ``0:0-2848,1:2848-``: terms with base and end; an open term has no end."""
    for part in text.split(",") if text else ():
        term, span = part.split(":")
        base, end = span.split("-")
        yield TermEntry(int(term), int(base), int(end) if end else NULL_VALUE)


def _contents(written: tuple[TermEntry, ...], recorded: int) -> Log:
    log: Log = ()
    for entry in written:
        base = entry.term_base_log_position
        end = recorded if entry.log_position == NULL_VALUE else entry.log_position
        log = append(log, Segment(entry.leadership_term_id, base, base, end))
    return cut(log, recorded)


def replay(text: str, dialogue: Dialogue | None = None) -> str:
    """Run a scenario, and write it again with its current output.

    Parameters
    ----------
    text
        The scenario.
    dialogue
        A new dialogue that runs it; by default one that records nothing.

    Raises
    ------
    ScenarioError
        If it cannot be read or carried out; the message names the line.
    """
    dialogue = Dialogue() if dialogue is None else dialogue
    written = []
    for block in blocks(text):
        if not block.commands:
            written.append("\n".join(block.prose) + "\n")
            continue
        try:
            written.append(block.text(dialogue.run(block.commands)))
        except ScenarioError as error:
            raise ScenarioError(f"line {block.line}: {error}") from error
    return "\n".join(written)
