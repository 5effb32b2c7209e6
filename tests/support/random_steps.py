"""Random steps: members in arbitrary states, inputs that fit the action, outcomes of the core or
corrupted ones.
"""

from __future__ import annotations

import random
from typing import Any

from msgspec.structs import replace

from canvass.cluster import core
from canvass.cluster.member import (
    ElectionState,
    Input,
    Member,
    MemberRecord,
    ModuleState,
    Role,
    TermEntry,
)
from canvass.cluster.messages import Message, Vote
from canvass.cluster.rules import HAZARDS, Rules
from canvass.steps.core_answer import core_answer
from canvass.steps.form import Form, form_of
from canvass.steps.kernel import Status
from canvass.steps.renaming import map_step
from canvass.steps.step import Sends, Step
from canvass.traces.actions import ACTION_INPUTS, ACTIONS, Action
from canvass.traces.layout import NumberKind, kind

ELECTION_ACTIONS = {
    ElectionState(name): Action("".join(word.capitalize() for word in name.split("_")))
    for name in (state.value for state in ElectionState)
    if name not in ("INIT", "CLOSED")
}
ELECTION_ACTIONS[ElectionState.INIT] = Action.ELECTION_INIT


class Numbers:
    """Where terms and positions come from: few small ones, so that they are often equal."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.terms = [-1, 0, 1, 2, 3, 5]
        self.positions = [-1, 0, 32, 64, 96, 1000]

    def number(self, name: str, members: int, lowest: int = -1) -> int:
        which = kind(name)
        if which is NumberKind.TERM:
            return self.rng.choice(self.terms[1 + lowest :])
        if which is NumberKind.POSITION:
            return self.rng.choice(self.positions[1 + lowest :])
        if which is NumberKind.MEMBER:
            return self.rng.randrange(lowest, members)
        return self.rng.choice((0, 1)) if name == "flags" else self.rng.choice((-1, 0, 1))


def random_log(numbers: Numbers) -> tuple[TermEntry, ...]:
    rng = numbers.rng
    log, base = [], 0
    for term in sorted(rng.sample(range(6), rng.choice((0, 0, 1, 2, 3, 4)))):
        end = base + rng.choice((0, 32, 64))
        log.append(TermEntry(term, base, end))
        base = end
    if log and rng.random() < 0.6:
        log[-1] = replace(log[-1], log_position=-1)
    return tuple(log)


def random_state(numbers: Numbers, members: int) -> Member:
    rng = numbers.rng
    values: dict[str, Any] = {
        name: numbers.number(name, members)
        for name, kept in Member.__annotations__.items()
        if kept == "Int64"
    }
    values |= {
        name: rng.random() < 0.5 for name, kept in Member.__annotations__.items() if kept == "bool"
    }
    values["module_state"] = rng.choice([ModuleState.ACTIVE] * 9 + [ModuleState.CLOSED])
    values["role"] = rng.choice(list(Role))
    values["election_state"] = rng.choice([*ElectionState, *[ElectionState.CLOSED] * 10])
    values["recording_log"] = random_log(numbers)
    values["members"] = tuple(
        MemberRecord(
            numbers.number("leadership_term_id", members),
            numbers.number("log_position", members),
            numbers.number("candidate_term_id", members),
            rng.choice((-1, 0, 1)),
            rng.random() < 0.5,
            rng.random() < 0.5,
        )
        for _ in range(members)
    )
    return Member(**values)


def random_message(numbers: Numbers, message_type: type[Message], members: int) -> Message:
    values: list[Any] = [
        numbers.number(name, members, 0 if kind(name) is NumberKind.MEMBER else -1)
        for name in message_type.__struct_fields__
    ]
    if message_type is Vote:
        values[-1] = numbers.rng.random() < 0.5
    return message_type(*values)


def random_input(numbers: Numbers, action: Action, member: int, members: int) -> Input:
    rng = numbers.rng
    message_type = ACTION_INPUTS[action].message
    values: dict[str, Any] = {}
    for name in sorted(ACTION_INPUTS[action].fields):
        if name in ("active", "accepted"):
            values[name] = frozenset(j for j in range(members) if rng.random() < 0.6)
        elif name in ("interval", "commit_interval", "timeout"):
            values[name] = rng.random() < 0.5
        else:
            values[name] = numbers.number(name, members)
    if message_type is not None:
        values["message"] = random_message(numbers, message_type, members)
    return Input(**values)


def enabled_state(numbers: Numbers, action: Action, member: int, members: int) -> Member:
    """A state in which the action is likely enabled."""
    state = random_state(numbers, members)
    for election_state, own in ELECTION_ACTIONS.items():
        if own is action:
            role = Role.LEADER if election_state.value.startswith("LEADER") else Role.FOLLOWER
            state = replace(
                state, module_state=ModuleState.ACTIVE, election_state=election_state, role=role
            )
    if numbers.rng.random() < 0.5:
        own_record = replace(state.members[member])
        records = list(state.members)
        records[member] = own_record
        state = replace(state, members=tuple(records))
    return state


def random_step(rng: random.Random, rules: Rules, *, corrupt: float = 0.3) -> Step:
    """A step with the core's outcome, or, with that probability, a corrupted one."""
    numbers = Numbers(rng)
    members = rules.member_count
    member = rng.randrange(members)
    action = rng.choice(ACTIONS)
    before = enabled_state(numbers, action, member, members)
    x = random_input(numbers, action, member, members)
    if "active" in ACTION_INPUTS[action].fields and rng.random() < 0.8:
        x = replace(x, active=x.active | {member})
    outcome = core.step(rules, member, before, action.value, x)
    after, sends = before, no_sends()
    if outcome is not None:
        after = outcome.next
        sends = tuple((send.to, send.message) for send in outcome.sends)
    step = Step(member, before, action, x, after, sends)
    return corrupted(numbers, step) if rng.random() < corrupt else step


def no_sends() -> Sends:
    return ()


def corrupted(numbers: Numbers, step: Step) -> Step:
    """Change something of the outcome."""
    rng = numbers.rng
    members = len(step.before.members)
    choice = rng.randrange(4)
    if choice == 0 and step.sends:
        gone = rng.randrange(len(step.sends))
        return replace(step, sends=step.sends[:gone] + step.sends[gone + 1 :])
    if choice == 1 and members > 1:
        message = random_message(numbers, type(step.sends[0][1]) if step.sends else Vote, members)
        return replace(step, sends=(*step.sends, (rng.randrange(members), message)))
    if choice == 2:
        return replace(step, after=replace(step.after, recording_log=random_log(numbers)))
    name = rng.choice([name for name, kept in Member.__annotations__.items() if kept == "Int64"])
    changed: dict[str, Any] = {name: numbers.number(name, members)}
    return replace(step, after=replace(step.after, **changed))


def allowed(rules: Rules, step: Step) -> bool:
    """Whether the core allows the step."""
    return core_answer(rules, step).allowed


def sound_form(step: Step, rules: Rules) -> Form | None:
    """The canonical form of a step; None for a step that is wrong in itself."""
    form = form_of(step, rules)
    return None if isinstance(form, Status) else form


def random_rules(
    rng: random.Random, *, member_count: int | None = None, appointed: bool = True
) -> Rules:
    """Some rules."""
    members = member_count or rng.choice((1, 2, 3, 3, 3, 4, 5))
    rules = Rules(members, rng.choice(("1.49", "1.50")))
    if rng.random() < 0.4:
        hardening = frozenset(hazard for hazard in sorted(HAZARDS) if rng.random() < 0.5)
        rules = replace(rules, revision="1.50", hardening=hardening)
    if appointed and rng.random() < 0.3:
        rules = replace(rules, appointed_leader_id=rng.randrange(members))
    return rules


def renumbered(rng: random.Random, step: Step, widest: int = 1 << 40) -> Step:
    """The step with other terms and positions in the same order."""
    found: dict[NumberKind, set[int]] = {NumberKind.TERM: set(), NumberKind.POSITION: set()}

    def collect(name: str, value: int) -> int:
        found.get(kind(name), set()).add(value)
        return value

    map_step(step, collect)
    tables: dict[NumberKind, dict[int, int]] = {}
    for which, values in found.items():
        fixed = {-1: -1} if which is NumberKind.TERM else {-1: -1, 0: 0}
        place = previous = max(fixed.values())
        table = dict(fixed)
        for value in sorted(values - set(fixed)):
            follows = which is NumberKind.TERM and value == previous + 1
            least = 2 if which is NumberKind.TERM else 1
            place += 1 if follows else rng.choice((least, 7, widest))
            previous, table[value] = value, place
        tables[which] = table

    def rename(name: str, value: int) -> int:
        return tables[kind(name)][value] if kind(name) in tables else value

    return map_step(step, rename)


def shuffled(rng: random.Random, step: Step) -> Step:
    """The step with other ids of members, and sends to different members in another order."""
    count = len(step.before.members)
    place = rng.sample(range(count), count)

    def rename(name: str, value: int) -> int:
        known = kind(name) is NumberKind.MEMBER and 0 <= value < count
        return place[value] if known else value

    def moved(state: Member) -> Member:
        records = {place[j]: record for j, record in enumerate(state.members)}
        return replace(state, members=tuple(records[j] for j in range(count)))

    renamed = map_step(step, rename)
    queues: dict[int, list[Message]] = {}
    for to, message in renamed.sends:
        queues.setdefault(place[to] if 0 <= to < count else to, []).append(message)
    sends: list[tuple[int, Message]] = []
    while any(queues.values()):
        to = rng.choice([to for to, queue in queues.items() if queue])
        sends.append((to, queues[to].pop(0)))
    x = renamed.input
    return replace(
        renamed,
        member=place[step.member],
        before=moved(renamed.before),
        after=moved(renamed.after),
        input=replace(
            x,
            active=frozenset(place[j] for j in x.active),
            accepted=frozenset(place[j] for j in x.accepted),
        ),
        sends=tuple(sends),
    )


def changed_step(rng: random.Random, step: Step) -> Step:
    """The step with something of it changed: of the outcome, a field on both sides, the message."""
    numbers = Numbers(rng)
    numbers.terms, numbers.positions = [-1, 0, 1, 2, 3, 4], [-1, 0, 1, 2, 3, 4]
    members = len(step.before.members)
    names = [name for name, kept in Member.__annotations__.items() if kept == "Int64"]
    choice = rng.randrange(5)
    if choice == 0:
        return corrupted(numbers, step)
    if choice == 1:
        return _with_record(rng, numbers, step)
    if choice == 2 and step.input.message is not None:
        message = step.input.message
        name = rng.choice([name for name in message.__struct_fields__ if name != "vote"])
        lowest = 0 if kind(name) is NumberKind.MEMBER else -1
        values: dict[str, Any] = {name: numbers.number(name, members, lowest)}
        return replace(step, input=replace(step.input, message=replace(message, **values)))
    name = rng.choice(names)
    values = {name: numbers.number(name, members)}
    changed = replace(step, before=replace(step.before, **values))
    return changed if choice == 3 else replace(changed, after=replace(step.after, **values))


def _with_record(rng: random.Random, numbers: Numbers, step: Step) -> Step:
    """The step with a field of a member record changed before it, and mostly after it too."""
    member = rng.randrange(len(step.before.members))
    name = rng.choice(("leadership_term_id", "log_position", "candidate_term_id"))
    value = numbers.number(name, len(step.before.members))

    def changed(state: Member) -> Member:
        records = list(state.members)
        records[member] = replace(records[member], **{name: value})
        return replace(state, members=tuple(records))

    after = changed(step.after) if rng.random() < 0.7 else step.after
    return replace(step, before=changed(step.before), after=after)
