"""Facts about every step of the core, from any state of the right types.

The effects are held against the states from outside: played on a small picture of disk, archive,
log and services, they must leave behind what the next state says.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields
from itertools import takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from canvass.cluster import effects as kinds
from canvass.cluster.core import ACTIONS, step
from canvass.cluster.effects import Effect, Outcome, Send
from canvass.cluster.member import ElectionState, Input, Member, ModuleState, TermEntry
from canvass.cluster.messages import NULL_VALUE, NewLeadershipTerm, Vote
from canvass.cluster.rules import Rules
from canvass.cluster.transitions import persistent_member
from support.arbitrary_steps import Draw, Given
from support.examples import examples

DURABLE = (kinds.PersistCandidateTerm, kinds.UpdateRecordingLog, kinds.TruncateLog)
ENDS = {"Restart", "Terminate"}

revisions = st.sampled_from(["1.49", "1.50", "hardened"])


@st.composite
def steps(draw: st.DrawFn, actions: tuple[str, ...] = tuple(ACTIONS)) -> Given:
    rules = Rules.of(draw(revisions), draw(st.integers(1, 5)))
    drawn = Draw(draw(st.randoms(use_true_random=False)), rules)
    return drawn.step(draw(st.sampled_from(actions)))


def take(given_step: Given) -> Outcome | None:
    return step(
        given_step.rules, given_step.i, given_step.state, given_step.action, given_step.input
    )


@dataclass
class Outside:
    """The changes by effects: disk, archive, log and services, as far as the state mirrors them."""

    candidate_term_id: int
    recording_log: tuple[TermEntry, ...]
    recorded_position: int
    replays_to: int
    replicates: bool
    subscribed: bool
    catchup_destination: bool
    published_to: int
    commit_position: int
    snapshot: tuple[int, int, int]
    serves: frozenset[int]
    runs: bool

    @classmethod
    def of(cls, s: Member) -> Outside:
        """The fields of a state that mirror them."""
        return cls(
            s.persisted_candidate_term_id,
            s.recording_log,
            s.recorded_position,
            s.replay_stop_position,
            s.log_replication,
            s.log_subscription,
            s.catchup_destination,
            s.publication_position,
            s.commit_position,
            (
                s.snapshot_leadership_term_id,
                s.snapshot_term_base_log_position,
                s.snapshot_log_position,
            ),
            frozenset(j for j, record in enumerate(s.members) if record.catchup_replay),
            s.module_state is ModuleState.ACTIVE,
        )

    def stop(self) -> None:
        """Let the process end."""
        self.replays_to = self.published_to = NULL_VALUE
        self.replicates = self.subscribed = self.catchup_destination = self.runs = False
        self.serves = frozenset()
        self.commit_position = 0

    def play(self, effect: Effect) -> None:
        self._play_on_disk_and_services(effect)
        self._play_on_copies(effect)
        self._play_on_streams(effect)

    def _play_on_disk_and_services(self, effect: Effect) -> None:
        match effect:
            case kinds.PersistCandidateTerm(term):
                self.candidate_term_id = term
            case kinds.UpdateRecordingLog(entries):
                self.recording_log = entries
            case kinds.TruncateLog(position):
                self.recorded_position = position
            case kinds.WriteSnapshot(term, base, position):
                self.snapshot = (term, base, position)
            case kinds.AdvanceCommit(position):
                self.commit_position = position
            case kinds.EndProcess():
                self.stop()
            case _:
                pass

    def _play_on_copies(self, effect: Effect) -> None:
        match effect:
            case kinds.StartReplay(_, stop):
                self.replays_to = stop
            case kinds.StopReplay():
                self.replays_to = NULL_VALUE
            case kinds.StartReplication() | kinds.StopReplication():
                self.replicates = isinstance(effect, kinds.StartReplication)
            case kinds.StartCatchup(j, _):
                self.serves |= {j}
            case kinds.StopCatchupReplay(j):
                self.serves -= {j}
            case _:
                pass

    def _play_on_streams(self, effect: Effect) -> None:
        match effect:
            case kinds.OpenLogSubscription() | kinds.CloseLogSubscription():
                self.subscribed = isinstance(effect, kinds.OpenLogSubscription)
            case kinds.AddCatchupDestination() | kinds.RemoveCatchupDestination():
                self.catchup_destination = isinstance(effect, kinds.AddCatchupDestination)
            case kinds.OpenLogPublication(position) | kinds.AppendToLog(position):
                self.published_to = position
            case kinds.AppendNewLeadershipTermEvent(_, _, position):
                self.published_to = position
            case kinds.CloseLogPublication():
                self.published_to = NULL_VALUE
            case _:
                pass


@examples(2000)
@given(steps())
def test_effects_leave_behind_what_the_next_state_says(given_step: Given) -> None:
    if (outcome := take(given_step)) is None:
        return
    outside = Outside.of(given_step.state)
    if given_step.action == "Restart":
        outside.stop()
        outside.runs = True
    if given_step.action == "RecordLog":
        outside.recorded_position = given_step.input.position  # The archive's doing, not an effect.

    for effect in outcome.effects:
        outside.play(effect)

    assert Outside.of(outcome.next) == outside


@examples(1000)
@given(steps())
def test_what_is_durable_comes_before_the_first_send(given_step: Given) -> None:
    if (outcome := take(given_step)) is None:
        return

    before_sends = list(takewhile(lambda effect: not isinstance(effect, Send), outcome.effects))
    assert [effect for effect in outcome.effects if isinstance(effect, DURABLE)] == [
        effect for effect in before_sends if isinstance(effect, DURABLE)
    ]


@given(steps())
def test_what_was_running_is_stopped_before_anything_is_written(given_step: Given) -> None:
    """So that no byte of an old term is recorded after the recording log has gone on."""
    if (outcome := take(given_step)) is None:
        return
    stops = (kinds.StopReplication, kinds.StopReplay)
    writes = DURABLE

    order = [effect for effect in outcome.effects if isinstance(effect, (*stops, *writes))]

    assert order == sorted(order, key=lambda effect: isinstance(effect, writes))


def test_a_log_is_cut_when_nothing_is_copied_into_it_any_more() -> None:
    """No member canvasses while it copies; the order of effects does not rest on that."""
    rules = Rules.of("hardened", 3)
    log = (TermEntry(0, 0, NULL_VALUE),)
    copying = replace(
        persistent_member(rules, 0, log, recorded_position=96),
        module_state=ModuleState.ACTIVE,
        election_state=ElectionState.CANVASS,
        log_leadership_term_id=0,
        append_position=96,
        log_replication=True,
        replay_stop_position=64,
    )
    announced = NewLeadershipTerm(0, 1, 32, NULL_VALUE, 1, 32, 64, 32, 1)
    outcome = step(rules, 0, copying, "OnNewLeadershipTerm", Input(message=announced))

    assert outcome is not None
    assert outcome.effects == (
        kinds.StopReplication(),
        kinds.StopReplay(),
        kinds.TruncateLog(32),
        kinds.UpdateRecordingLog((TermEntry(0, 0, 32),)),
    )


@given(steps())
def test_the_candidate_term_on_disk_never_falls(given_step: Given) -> None:
    outcome = take(given_step)

    if outcome is not None:
        after = outcome.next.persisted_candidate_term_id
        assert after >= given_step.state.persisted_candidate_term_id


@given(steps(("OnRequestVote",)))
def test_a_vote_in_favour_is_of_a_term_that_rises_on_disk_first(given_step: Given) -> None:
    outcome = take(given_step)
    assert outcome is not None
    for at, effect in enumerate(outcome.effects):
        if isinstance(effect, Send) and isinstance(effect.message, Vote) and effect.message.vote:
            term = effect.message.candidate_term_id
            written = [
                earlier.candidate_term_id
                for earlier in outcome.effects[:at]
                if isinstance(earlier, kinds.PersistCandidateTerm)
            ]

            assert term > given_step.state.candidate_term_id
            assert written == [outcome.next.persisted_candidate_term_id]
            assert (
                outcome.next.candidate_term_id == outcome.next.persisted_candidate_term_id >= term
            )
            assert outcome.next.election_state is ElectionState.FOLLOWER_BALLOT


@given(steps(("CandidateBallot", "Nominate")))
def test_nobody_asks_for_votes_in_a_term_that_is_not_on_disk(given_step: Given) -> None:
    outcome = take(given_step)
    if outcome is not None and outcome.next.election_state is ElectionState.CANDIDATE_BALLOT:
        if given_step.state.election_state is ElectionState.NOMINATE:
            raised = kinds.PersistCandidateTerm(outcome.next.candidate_term_id)
            assert outcome.effects == (raised,)
        else:
            assert outcome.next.candidate_term_id == given_step.state.candidate_term_id


@given(steps())
def test_the_commit_position_rises_but_for_149_and_the_end_of_a_process(given_step: Given) -> None:
    outcome = take(given_step)
    if outcome is None or given_step.action in ENDS:
        return
    if given_step.rules.is_149 and given_step.action == "UpdateLeaderPosition":
        return
    if given_step.action == "LeaderReady":
        return  # Bounded by the append position; where that is lower, see hazard HZ3.

    assert outcome.next.commit_position >= given_step.state.commit_position


@given(steps(("UpdateLeaderPosition",)))
def test_a_leader_never_announces_more_than_it_has_recorded(given_step: Given) -> None:
    if (outcome := take(given_step)) is None:
        return
    for send in outcome.sends:
        assert send.message.log_position <= given_step.state.recorded_position  # type: ignore[union-attr]


@given(steps(("ConsumeLog", "OnReplayNewLeadershipTermEvent")))
def test_a_follower_processes_what_is_recorded_and_known_to_be_committed(given_step: Given) -> None:
    s, outcome = given_step.state, take(given_step)
    if outcome is None:
        return
    if s.election_state is ElectionState.CLOSED:
        bound = min(s.recorded_position, s.module_notified_commit_position)
    elif s.election_state is ElectionState.FOLLOWER_CATCHUP:
        bound = min(s.recorded_position, s.notified_commit_position)
    else:
        bound = s.replay_stop_position

    assert s.commit_position < outcome.next.commit_position <= bound


@given(steps())
def test_the_recording_shrinks_by_truncation_alone(given_step: Given) -> None:
    if (outcome := take(given_step)) is None:
        return
    recorded = given_step.state.recorded_position
    shrinks = outcome.next.recorded_position < recorded
    cuts = [effect for effect in outcome.effects if isinstance(effect, kinds.TruncateLog)]

    assert len(cuts) <= 1
    assert shrinks == any(cut.position < recorded for cut in cuts)
    assert all(outcome.next.recorded_position == cut.position for cut in cuts)
    # A restart truncates the log if the recording log names no recording (hazard HZ2).
    assert not shrinks or given_step.action in ("OnNewLeadershipTerm", "Restart")


@given(steps())
def test_nobody_sends_to_itself(given_step: Given) -> None:
    """But a single member, which has nobody else to follow, in a state that it never reaches."""
    outcome = take(given_step)
    if outcome is not None and given_step.rules.member_count > 1:
        assert given_step.i not in {
            send.to for send in outcome.sends if send.to != given_step.state.leader_member_id
        }


@given(steps(tuple(name for name in ACTIONS if name.startswith("On") and "Replay" not in name)))
def test_a_message_is_handled_in_every_state(given_step: Given) -> None:
    assert take(given_step) is not None


@given(steps())
def test_a_terminated_member_can_only_be_restarted(given_step: Given) -> None:
    if given_step.state.module_state is ModuleState.CLOSED and given_step.action != "Restart":
        outcome = take(given_step)
        assert outcome is None or outcome == Outcome(given_step.state)


@given(steps())
def test_in_init_no_election_message_changes_anything(given_step: Given) -> None:
    s = given_step.state
    election_messages = {
        *("OnCanvassPosition", "OnRequestVote", "OnVote", "OnNewLeadershipTerm"),
        *("OnAppendPosition", "OnCommitPosition"),
    }
    if s.election_state is ElectionState.INIT and given_step.action in election_messages:
        assert take(given_step) == Outcome(s)


@pytest.mark.parametrize(
    "kind",
    [
        kind
        for kind in vars(kinds).values()
        if inspect.isclass(kind) and issubclass(kind, Effect) and kind is not Effect
    ],
)
def test_effects_are_values(kind: type) -> None:
    values = [() if part.name == "entries" else 0 for part in fields(kind)]

    assert kind(*values) == kind(*values)
    assert hash(kind(*values)) == hash(kind(*values))
