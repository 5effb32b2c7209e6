"""Random steps with outcomes of the core or corrupted ones, and equivalent forms of steps."""

from __future__ import annotations

import random
from typing import Any

from msgspec.structs import replace

from canvass.cluster import core
from canvass.cluster.member import Input, Member
from canvass.cluster.messages import Message, Vote
from canvass.cluster.rules import HAZARDS, Rules
from canvass.conformance.diagnose import core_allows
from canvass.steps.kernel import Status
from canvass.steps.step import Key, Sends, Step, question_of, renamed
from canvass.traces.actions import ACTION_INPUTS, ACTIONS, Action
from canvass.traces.schema import NumberKind, kind
from support.arbitrary_steps import Draw


def random_step(rng: random.Random, rules: Rules, *, corrupt: float = 0.3) -> Step:
    """A step with the core's outcome or, with probability ``corrupt``, a corrupted one.

    About half of the steps have small numbers, which are often equal; in the others, the numbers
    are far apart.
    """
    draw = Draw(rng, rules)
    given = draw.step(rng.choice(ACTIONS).value)
    # A step has the inputs that its action reads.
    fields = ACTION_INPUTS[Action(given.action)].fields
    unread = {name: new for name, new in _NOTHING.items() if name not in fields}
    x = replace(given.input, **unread)
    outcome = core.step(rules, given.i, given.state, given.action, x)
    after, sends = given.state, _sends()
    if outcome is not None:
        after = outcome.next
        sends = tuple((send.to, send.message) for send in outcome.sends)
    step = Step(given.i, given.state, Action(given.action), x, after, sends)
    step = corrupted(rng, draw, step) if rng.random() < corrupt else step
    return step if rng.random() < 0.5 else renumbered(rng, step, 1000)


_NOTHING = {name: getattr(Input(), name) for name in Input.__struct_fields__ if name != "message"}


def _sends() -> Sends:
    return ()


def corrupted(rng: random.Random, draw: Draw, step: Step) -> Step:
    """Change a part of the outcome."""
    members = len(step.before.members)
    choice = rng.randrange(4)
    if choice == 0 and step.sends:
        gone = rng.randrange(len(step.sends))
        return replace(step, sends=step.sends[:gone] + step.sends[gone + 1 :])
    if choice == 1 and members > 1:
        message = draw.message(type(step.sends[0][1]) if step.sends else Vote, step.member)
        return replace(step, sends=(*step.sends, (rng.randrange(members), message)))
    if choice == 2:
        return replace(step, after=replace(step.after, recording_log=draw.recording_log()))
    name = rng.choice(NUMBERS)
    changed: dict[str, Any] = {name: draw.number(name)}
    return replace(step, after=replace(step.after, **changed))


NUMBERS = [name for name, kept in Member.__annotations__.items() if kept == "Int64"]


def allowed(rules: Rules, step: Step) -> bool:
    """Whether the core allows the step."""
    return core_allows(rules, step)


def key_of(step: Step, rules: Rules) -> Key | None:
    """The key of a step; None for a step that has no canonical form."""
    found = question_of(step, rules)
    return None if isinstance(found, Status) else found.key


def random_rules(
    rng: random.Random, *, member_count: int | None = None, appointed: bool = True
) -> Rules:
    """Random rules."""
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

    renamed(step, collect)
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

    return renamed(step, rename)


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

    other = renamed(step, rename)
    queues: dict[int, list[Message]] = {}
    for to, message in other.sends:
        queues.setdefault(place[to] if 0 <= to < count else to, []).append(message)
    sends: list[tuple[int, Message]] = []
    while any(queues.values()):
        to = rng.choice([to for to, queue in queues.items() if queue])
        sends.append((to, queues[to].pop(0)))
    x = other.input
    return replace(
        other,
        member=place[step.member],
        before=moved(other.before),
        after=moved(other.after),
        input=replace(
            x,
            active=frozenset(place[j] for j in x.active),
            accepted=frozenset(place[j] for j in x.accepted),
        ),
        sends=tuple(sends),
    )


def changed_step(rng: random.Random, rules: Rules, step: Step) -> Step:
    """The step with one change: in the outcome, in a field before and after, or in the message."""
    draw = Draw(rng, rules)
    choice = rng.randrange(5)
    if choice == 0:
        return corrupted(rng, draw, step)
    if choice == 1:
        return _with_record(rng, draw, step)
    if choice == 2 and step.input.message is not None:
        message = step.input.message
        name = rng.choice([name for name in message.__struct_fields__ if name != "vote"])
        lowest = 0 if kind(name) is NumberKind.MEMBER else -1
        values: dict[str, Any] = {name: max(lowest, draw.number(name))}
        return replace(step, input=replace(step.input, message=replace(message, **values)))
    name = rng.choice(NUMBERS)
    values = {name: draw.number(name)}
    changed = replace(step, before=replace(step.before, **values))
    return changed if choice == 3 else replace(changed, after=replace(step.after, **values))


def _with_record(rng: random.Random, draw: Draw, step: Step) -> Step:
    """The step with a changed field of a member record before it, and usually after it, too."""
    member = rng.randrange(len(step.before.members))
    name = rng.choice(("leadership_term_id", "log_position", "candidate_term_id"))
    value = draw.number(name)

    def changed(state: Member) -> Member:
        records = list(state.members)
        records[member] = replace(records[member], **{name: value})
        return replace(state, members=tuple(records))

    after = changed(step.after) if rng.random() < 0.7 else step.after
    return replace(step, before=changed(step.before), after=after)
