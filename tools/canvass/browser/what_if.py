"""The questions about steps that are tried: their arguments and answers.

A start is an event of a run, a state of a counterexample, or a state of a graph of a cluster. A
path is a list of `canvass.browser.choices.Choice` names, which a link can keep. Nothing is stored:
each answer takes the path again from its start. The answers say nothing about the probability of a
step: a deadline may pass at any moment.

TLC finds the nearest loss of a committed entry, and confirms paths; one question runs at a time.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import numpy as np

from canvass.browser import api
from canvass.browser.choices import (
    Start,
    choices,
    copy_of,
    inputs_of,
    moment_after,
    moment_of,
    rules_of,
    title_of,
    tree_of,
    walk,
)
from canvass.browser.counterexamples import Counterexample, counterexample_of
from canvass.browser.graphs import OpenGraph
from canvass.browser.labels import step_words
from canvass.browser.questions import (
    LABEL_CHARS,
    Answer,
    Number,
    Refusal,
    Text,
    at,
    bad_request,
    shortened,
)
from canvass.browser.runs import OpenRun
from canvass.browser.saved_page import attachment
from canvass.browser.sources import Lazy, Source, Store
from canvass.browser.tried_run import recorded, scenario
from canvass.browser.tried_script import script
from canvass.browser.verdicts import RunSource
from canvass.cluster.duty_cycle import EVENT_LENGTH
from canvass.cluster.member import Input, ModuleState
from canvass.conformance.diagnose import find_operator, guard_parts
from canvass.distance.moments import UnknownState
from canvass.distance.search import Moment, found_text, search
from canvass.graph.predicate import evaluate
from canvass.graph.values import Columns, interned
from canvass.lanes.drawing import Tree, field_changes, is_cluster, value_text
from canvass.simulation.world import World
from canvass.spec.files import spec_root
from canvass.steps.step import Step, renumbered
from canvass.tlc.errors import TlcError
from canvass.tlc.values import format_value, function
from canvass.traces.actions import ACTION_INPUTS, Action
from canvass.traces.schema import ACTION_NAMES

_SECONDS: Final = 60
THREAD: Final = "question to TLC"
_PENDING: Final = api.TlcAnswer(text="", states=0, counterexample=None, pending=True)


class TlcQuestions:
    """Questions of the page to TLC; a counterexample that it finds becomes a source of the page.

    TLC runs in a thread; both end with this process. The page repeats a question until it has the
    answer.
    """

    def __init__(self, store: Store) -> None:
        self._store, self._lock = store, threading.Lock()
        self._answers: dict[Hashable, api.TlcAnswer | Refusal] = {}

    def ask(self, question: Hashable, work: Callable[[], api.TlcAnswer]) -> api.TlcAnswer:
        """Give the answer to a question, or begin to work on it.

        Raises
        ------
        Refusal
            If TLC works on another question, or could not answer. After that, the same question
            starts TLC again.
        """
        with self._lock:
            if question not in self._answers:
                if _PENDING in self._answers.values():
                    message = "TLC works on another question; it ends within a minute"
                    raise Refusal(409, "busy", message)
                self._answers[question] = _PENDING
                thread = threading.Thread(target=self._work, args=(question, work), name=THREAD)
                thread.daemon = True
                thread.start()
            answer = self._answers[question]
            if isinstance(answer, Refusal):
                del self._answers[question]
                raise answer
            return answer

    def _work(self, question: Hashable, work: Callable[[], api.TlcAnswer]) -> None:
        answer: api.TlcAnswer | Refusal
        try:
            answer = work()
        except TlcError as error:
            answer = Refusal(422, "tlc", " ".join(str(error).split()))
        except Exception as error:  # noqa: BLE001 - the page must not wait forever
            answer = Refusal(500, "bug", f"this is a bug in canvass: {error!r}")
        with self._lock:
            self._answers[question] = answer

    def nearest(self, moment: Moment) -> api.TlcAnswer:
        """Search for the nearest loss from a moment."""
        (found, violation), kept = search(spec_root(), moment, 12, _SECONDS), None
        if violation is not None and found.steps:
            title = f"loss after {moment.label}"
            content = counterexample_of(violation, title)
            made = Lazy(lambda: content)
            source = Source("counterexample", title, "found by a search", Path(), made)
            kept = self._store.add(source)
        return api.TlcAnswer(found_text(found), found.states, kept, pending=False)


StartKind = Literal["counterexample", "graph", "run"]
_MOST_CHANGES: Final = 3
_READ: Final = re.compile(r"\b([sx])\.(\w+)")
"""A field of the state or the input in a part of a guard."""
_FIELDS_WITHOUT_NAME: Final = (("s", "electionState"), ("s", "role"))
"""The fields that are read by a part that names no field, such as ``At(s, "NOMINATE")``."""
_UNLIKE: Final = (msgspec.ValidationError, LookupError, TypeError, ValueError, AttributeError)


def _values_of(states: Sequence[Tree], expression: str) -> tuple[str, ...]:
    """Evaluate an expression of the language of state graphs in each of some states.

    Raises
    ------
    PredicateError
        If the text is no expression, or uses a name that the states do not have.
    """
    found = evaluate(_Path(states), expression)  # type: ignore[arg-type]
    return tuple(
        ", ".join("absent" if (v := one.at(row)) is None else format_value(v) for one in found)
        for row in range(len(states))
    )


class _Path:
    """States as columns, for expressions on state graphs."""

    def __init__(self, states: Sequence[Tree]) -> None:
        self.fields = tuple(states[0])
        self.state_count = len(states)
        self._states = states

    def columns(self, fields: Sequence[str]) -> Columns:
        """Give the values of some fields in all states."""
        rows = np.arange(self.state_count)
        names = fields or self.fields[:1]
        found = {name: ([_value(one[name]) for one in self._states], rows) for name in names}
        return interned(found)


def _value(tree: Any) -> Any:
    """Give the TLA+ value of a tree; texts of numbers become numbers as arguments of functions."""
    if isinstance(tree, dict):
        return function({int(k) if k.isdecimal() else k: _value(one) for k, one in tree.items()})
    return tuple(map(_value, tree)) if isinstance(tree, list | tuple) else tree


class WhatIf:
    """Finds the starts of paths among the sources of a store."""

    def __init__(self, store: Store) -> None:
        self._store, self._tlc = store, TlcQuestions(store)
        self._start = lru_cache(maxsize=16)(self._find_start)

    def tried(self, kind: StartKind, source: str, at: str, path: Text = "") -> Tried:
        """Take the steps of a path from an event or a state."""
        names = path.split(",") if path else ()
        start = self._start(kind, source, at)
        run = (self._store.content("run", source).opened, int(at)) if kind == "run" else None
        return Tried(start, names, self._tlc, run)

    def _find_start(self, kind: StartKind, name: str, at: str) -> Start:
        if kind == "graph":
            graph: OpenGraph = self._store.content("graph", name)
            tree = graph.view.tree(graph.row(at))
            return _of_state(tree, graph.view.title, "a state of the graph")
        if not re.fullmatch(r"\d{1,9}", at, re.ASCII):
            raise bad_request(
                "what may happen is asked after an event or in a state, by its number"
            )
        if kind == "counterexample":
            found: Counterexample = self._store.content("counterexample", name)
            if int(at) >= len(found.states):
                raise bad_request(f"the counterexample has {len(found.states)} states")
            return _of_state(found.states[int(at)], found.title, f"state {int(at) + 1}")
        run: RunSource = self._store.content("run", name)
        run.check_number(int(at))
        try:
            (moment,) = run.moments.get().moments([int(at)])
        except (UnknownState, ValueError) as error:
            raise bad_request(f"the state of the cluster is not known here: {error}") from None
        return Start(moment, f"event {int(at) + 1:,}", EVENT_LENGTH)


class Tried:
    """Steps that are tried from a start, and the questions about them.

    Parameters
    ----------
    path
        The names of the steps.
    run
        The run and the number of its event at which the steps start, unless it is a state.

    Raises
    ------
    Refusal
        If a step is not possible at its place in the path.
    """

    def __init__(
        self,
        start: Start,
        path: Sequence[str],
        tlc: TlcQuestions,
        run: tuple[OpenRun, int] | None,
    ) -> None:
        self._start, self._path, self._tlc, self._run = start, path, tlc, run
        self._world = start.cluster()
        self._states, self._actions = [tree_of(self._world)], [""]
        for choice in walk(self._world, path):
            self._states.append(tree_of(self._world))
            self._actions.append(title_of(choice))

    def behaviour(self) -> Counterexample:
        """Give the states from the start on."""
        return Counterexample(
            title=f"What if, after {self._start.title}",
            claim="",
            explanation=(),
            loop=None,
            stuttering=False,
            actions=tuple(self._actions),
            states=tuple(self._states),
        )

    @at("")
    def what_if(self, source: str, watch: Text = "") -> Answer:
        """Show the steps, and list those that may come next."""
        rules = self._world.rules
        return api.WhatIf(
            behaviour=self.behaviour().view(source),
            rules=f"revision {'hardened' if rules.hardening else rules.revision}",
            choices=tuple(_listed(self._world, self._states[-1])),
            actions=ACTION_NAMES,
            values=_values_of(self._states, watch) if watch else (),
        )

    @at("/why-not")
    def why_not(self, action: Action, member: Number = 0) -> Answer:
        """Explain why a member cannot take an action."""
        if member >= self._world.rules.member_count:
            raise bad_request(f"there is no member {member}")
        return why_not(self._world, member, action)

    @at("/nearest")
    def nearest(self) -> Answer:
        """Search for the nearest loss of a committed entry from the end of the path."""
        label = ", ".join((self._start.title, *self._actions[1:]))
        moment = moment_after(self._start.moment, self._world, shortened(label, LABEL_CHARS))
        return self._tlc.ask(moment, lambda: self._tlc.nearest(moment))

    @at("/confirmed")
    def confirmed(self) -> Answer:
        """Let TLC take the steps."""
        asked = script(self._start, self._path)

        def confirm() -> api.TlcAnswer:
            result = asked.played(_SECONDS)
            return api.TlcAnswer(asked.verdict(result), result.distinct or 0, None, pending=False)

        return self._tlc.ask((asked.module, asked.config.text()), confirm)

    @at("/script")
    def script(self) -> Answer:
        """Write the steps as a script of the spec."""
        made = script(self._start, self._path)
        return attachment(made.zipped(), "what-if.zip", "application/zip")

    @at("/trace")
    def trace(self) -> Answer:
        """Write the run up to the start, then the steps, as a data set."""
        content = recorded(*self._of_run(), self._start, self._path)
        return attachment(content, "what-if.parquet", "application/vnd.apache.parquet")

    @at("/scenario")
    def scenario(self) -> Answer:
        """Write the run up to the start, then the steps, as a scenario of the tests."""
        content = scenario(*self._of_run(), self._start, self._path)
        return attachment(content, "what-if.txt", "text/plain; charset=utf-8")

    def _of_run(self) -> tuple[OpenRun, int]:
        if self._run is None:
            raise bad_request("only what follows an event of a run is kept so")
        return self._run


def _of_state(tree: Tree, model: str, title: str) -> Start:
    if not (is_cluster(tree) and "log" in tree):
        raise bad_request("what may happen next is asked in states of Cluster.tla; see the graph")
    try:
        return Start(moment_of(tree, rules_of(model, len(tree["member"]))), title, 1)
    except _UNLIKE as error:
        reason = " ".join(str(error).split())
        raise bad_request(f"not a state of Cluster.tla: {reason}") from None


def _listed(world: World, before: Tree) -> Iterator[api.StepChoice]:
    for choice in choices(world).values():
        later = copy_of(world)
        choice.take(later)
        after = tree_of(later)
        i = str(choice.member)
        changes = list(field_changes(before["member"][i], after["member"][i]))
        shown = [f"{field} {old} → {new}" for field, old, new in changes[:_MOST_CHANGES]]
        more = len(changes) - len(shown)
        yield api.StepChoice(
            name=choice.name,
            member=choice.member,
            action=choice.action,
            words=shortened(step_words(before, after, title_of(choice)), LABEL_CHARS),
            changes=(*shown, *((f"and {more} more",) if more else ())),
        )


def why_not(world: World, i: int, action: Action) -> api.WhyNot:
    """Explain why a member cannot take an action: by the cluster, or by the action's guard.

    TLC evaluates the guard on the most permissive of the possible inputs.
    """
    possible = [one for one in choices(world).values() if (one.member, one.action) == (i, action)]
    operator = find_operator(action.value)
    kind, s = ACTION_INPUTS[action].message, world.members[i]
    note, parts = "", tuple[api.GuardPart, ...]()
    if possible:
        note = "It is possible here."
    elif s.module_state is not ModuleState.ACTIVE:
        note = f"Member {i} is not running: it can only restart."
    elif kind is not None:
        waiting = [
            f"from member {j} behind {place} other"
            for (j, to), queue in world.channels.items()
            for place, one in enumerate(queue)
            if to == i and type(one.message) is kind
        ]
        arrives = f"only {', '.join(waiting)}" if waiting else "none is under way"
        note = f"No {kind.__name__} can arrive at member {i} now: {arrives}."
    elif not (inputs := list(inputs_of(world, i, action))):
        note = _LACKS.get(action, "the leader that it follows has no log stream for it")
        note = f"The cluster does not let member {i}: {note}."
    else:
        x = max(inputs, key=_permits)
        small = renumbered(Step(i, s, action, x, s, ()))
        trees = {"s": msgspec.to_builtins(s), "x": msgspec.to_builtins(x)}
        try:
            found = guard_parts(small, world.rules)
        except TlcError as error:
            raise Refusal(503, "tlc", f"TLC could not be asked: {error}") from None
        parts = tuple(
            api.GuardPart(
                text=part,
                blocks=blocks,
                values=tuple(
                    f"{one}.{name} = {value_text(trees[one][name])}"
                    for one, name in dict.fromkeys(_READ.findall(part) or _FIELDS_WITHOUT_NAME)
                    if name in trees[one]
                ),
            )
            for part, blocks in found
        )
        if not any(part.blocks for part in parts):
            note = "It is enabled, but changes and sends nothing."
    return api.WhyNot(note=note, parts=parts, operator=operator)


_LACKS: Final = {
    Action.CONSUME_LOG: "it has no further entry that it may process",
    Action.ON_REPLAY_NEW_LEADERSHIP_TERM_EVENT: "no term begins where it goes on to process",
}


def _permits(x: Input) -> tuple[object, ...]:
    sizes = len(x.active), len(x.accepted)
    return x.interval, x.commit_interval, x.timeout or bool(x.accepted), *sizes, x.position
