// The server's answers: one interface for each Struct of canvass.browser.api, with the same name.
// Written by tools/generate_api_types.py; change the Structs instead.

/** A plain JSON value: states, inputs and messages come as trees of these. */
export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [name: string]: Json };

export type Kind = "graph" | "run" | "corpus" | "report" | "counterexample";

/** A field in which two states or lists of messages differ. */
export interface Difference {
  readonly field: string;
  readonly before: string;
  readonly observed: string;
  readonly allowed: string;
}

/** A definition of the spec. */
export interface Operator {
  readonly module: string;
  readonly line: number;
  readonly lines: readonly string[];
}

/** A divergence of a run from the spec, at the first step that shows it. */
export interface Divergence {
  readonly kind: "IMPLEMENTATION_STEP" | "CAUSALITY" | "SAFETY_PROPERTY" | "INSTRUMENTATION_GAP";
  readonly name: string;
  readonly member: number;
  readonly step: number;
  readonly text: string;
  readonly rank: number;
}

/** A unit that has not changed since it was verified, with the verdicts on its runs. */
export interface EarlierUnit {
  readonly source: string;
  readonly verdicts: { readonly [name: string]: number };
}

/** The divergences of one kind: one class, at one action or property. */
export interface DivergenceClassSummary {
  readonly divergenceClass: string;
  readonly name: string;
  readonly count: number;
  readonly runs: number;
  readonly exampleRunId: string;
  readonly exampleSource: string;
  readonly exampleMemberId: number;
  readonly exampleStep: number;
  readonly exampleReason: string;
}

/** A run that does not conform, or a malformed unit. */
export interface Listed {
  readonly source: string;
  readonly runId: string | null;
  readonly verdict: string;
  readonly events: number;
  readonly reason: string;
}

/** The result of a batch verification. */
export interface Summary {
  readonly schema: "canvass.batch/4";
  readonly version: string;
  readonly corpora: readonly string[];
  readonly runs: number;
  readonly events: number;
  readonly verdicts: { readonly [name: string]: number };
  readonly checkedInPart: number;
  readonly revisions: { readonly [name: string]: number };
  readonly divergences: number;
  readonly clusters: readonly DivergenceClassSummary[];
  readonly clusterCount: number;
  readonly listed: readonly Listed[];
  readonly listedCount: number;
  readonly coverage: { readonly [name: string]: number };
  readonly earlier: { readonly [name: string]: number };
  readonly earlierListed: readonly EarlierUnit[];
  readonly earlierListedCount: number;
  readonly neverTaken: readonly string[];
  readonly askedSteps: number;
  readonly seconds: number;
  readonly eventsPerSecond: number;
}

/** One election of the cluster. */
export interface ElectionReport {
  readonly number: number;
  readonly leaderMemberId: number | null;
  readonly leadershipTermId: number | null;
  readonly fromNs: number;
  readonly untilNs: number;
  readonly durationMs: number;
  readonly opened: boolean;
  readonly detectionMs: number | null;
  readonly causes: readonly Sentence[];
  readonly phases: readonly PhaseReport[];
  readonly ballots: readonly BallotReport[];
  readonly slowest: Sentence;
  readonly setting: string | null;
  readonly leftOut: number;
  readonly sentence: Sentence;
}

/** A term, and the member that led it. */
export interface Leadership {
  readonly leadershipTermId: number;
  readonly leaderMemberId: number | null;
  readonly fromNs: number | null;
  readonly untilNs: number | null;
  readonly untilEarliestNs: number | null;
  readonly untilLatestNs: number | null;
  readonly termBaseLogPosition: number | null;
  readonly endedBy: string;
  readonly reason: string;
  readonly isExact: boolean;
  readonly evidence: readonly Evidence[];
}

/** One ballot of one candidate. */
export interface BallotReport {
  readonly candidateMemberId: number;
  readonly candidateTermId: number;
  readonly fromNs: number;
  readonly outcome: string;
  readonly votes: readonly VoteReport[];
  readonly sentence: Sentence;
}

/** A member's stay in one election state. */
export interface PhaseReport {
  readonly memberId: number;
  readonly state: string;
  readonly fromNs: number;
  readonly untilNs: number | null;
  readonly durationMs: number | null;
  readonly nextState: string | null;
  readonly governedBy: string;
  readonly setting: string | null;
  readonly sentence: Sentence;
}

/** The vote of one member in a ballot, as far as lines show it. */
export interface VoteReport {
  readonly voterMemberId: number;
  readonly granted: boolean | null;
  readonly decidedBy: string;
  readonly sentence: Sentence;
}

/** One risk. */
export interface RiskReport {
  readonly kind: string;
  readonly severity: string;
  readonly memberId: number | null;
  readonly fromNs: number;
  readonly untilNs: number | null;
  readonly page: string;
  readonly sentences: readonly Sentence[];
}

/** A member that makes no progress in an election. */
export interface StuckReport {
  readonly memberId: number;
  readonly kind: string;
  readonly state: string;
  readonly fromNs: number;
  readonly untilNs: number | null;
  readonly durationMs: number;
  readonly guard: string;
  readonly page: string;
  readonly sentences: readonly Sentence[];
}

/** One line of a member's log. */
export interface Evidence {
  readonly file: string;
  readonly line: number;
  readonly memberId: number;
  readonly timeNs: number;
}

/** A statement and the lines that show it; at least one. */
export interface Sentence {
  readonly text: string;
  readonly evidence: readonly Evidence[];
}

/** A message between two lanes. */
export interface LaneMessage {
  readonly name: string;
  readonly sender: number;
  readonly receiver: number;
  readonly sent: number | null;
  readonly received: number | null;
  readonly fate: "DELIVERED" | "LOST" | "UNSENT";
  readonly text: string;
}

/** A field whose value differs before and after a step. */
export interface FieldChange {
  readonly field: string;
  readonly before: string;
  readonly after: string;
}

/** One thing that is missing from a run. */
export interface Fact {
  readonly kind: "MISSING_STREAM" | "EMPTY_STREAM" | "LATE_START" | "GAP" | "TRUNCATED";
  readonly runId: string;
  readonly memberId: number;
  readonly step: number;
  readonly line: number;
  readonly detail: string;
}

/** The error of a request. */
export interface Problem {
  readonly code: string;
  readonly message: string;
  readonly column?: number;
}

/** The body of an answer that is an error. */
export interface Failure {
  readonly error: Problem;
}

/** An opened source: a graph, run, corpus, report or counterexample. */
export interface SourceInfo {
  readonly id: string;
  readonly kind: Kind;
  readonly title: string;
  readonly detail: string;
}

/** All opened sources. */
export interface Session {
  readonly sources: readonly SourceInfo[];
}

/** A received message that no member sent, and the nearest message that was sent. */
export interface Receipt {
  readonly received: string;
  readonly nearest: string;
  readonly nearestEvent: number | null;
  readonly rows: readonly Difference[];
}

/** The project's page on a hazard of the protocol. */
export interface HazardPage {
  readonly name: string;
  readonly lines: readonly string[];
}

/** The first divergence of a run, with its explanation. */
export interface FirstDivergence {
  readonly first: Divergence;
  readonly eventNumber: number;
  readonly about: string;
  readonly changed: readonly Difference[];
  readonly expected: readonly Difference[];
  readonly enabled: readonly string[];
  readonly failing: readonly string[];
  readonly operator: Operator | null;
  readonly receipt: Receipt | null;
  readonly hazards: readonly string[];
  readonly note: string;
  readonly commands: readonly string[];
}

/** The events around one, by their places in the causal order. */
export interface RunPart {
  readonly start: number;
  readonly at: number;
  readonly end: number;
}

/** A run with its verdict. */
export interface RunView {
  readonly id: string;
  readonly runId: string;
  readonly title: string;
  readonly revision: string;
  readonly releases: readonly string[];
  readonly verdict: string | null;
  readonly checking: boolean;
  readonly note: string;
  readonly notChecked: readonly string[];
  readonly checkedInPart: readonly string[];
  readonly divergence: FirstDivergence | null;
  readonly divergences: readonly Divergence[];
  readonly facts: readonly Fact[];
  readonly members: number;
  readonly events: number;
  readonly part: RunPart | null;
}

/** An event of a lane, with its place in the run. */
export interface LaneEvent {
  readonly lane: number;
  readonly title: string;
  readonly reference: string;
  readonly given: string;
  readonly aside: readonly string[];
  readonly changes: readonly string[];
  readonly mark: "DIVERGES" | "RESTART" | "ERROR" | "ENDS" | "GAP" | null;
  readonly remark: string;
  readonly skipped: number;
  readonly number: number;
  readonly electionState: string;
  readonly time: string;
  readonly since: string;
  readonly place: string;
  readonly origin: string;
  readonly event: number;
  readonly alike: string;
}

/** A window of swim lanes. */
export interface Lanes {
  readonly lanes: readonly string[];
  readonly events: readonly LaneEvent[];
  readonly messages: readonly LaneMessage[];
  readonly before: number;
  readonly after: number;
  readonly total: number;
  readonly chosen: number;
  readonly hidden: number;
}

/** The edge of a state graph that has the canonical form of a step. */
export interface InGraph {
  readonly id: string;
  readonly source: string;
  readonly target: string;
  readonly edge: number;
}

/** The lines of a log that a step prints. */
export interface SourceLine {
  readonly place: string;
  readonly lines: readonly string[];
  readonly leftOut: number;
  readonly observed: readonly string[];
  readonly reason: string;
}

/** A step of a run. */
export interface StepView {
  readonly member: number;
  readonly step: number;
  readonly eventNumber: number;
  readonly action: string;
  readonly time: string;
  readonly since: string;
  readonly origin: string;
  readonly source: SourceLine | null;
  readonly input: Json;
  readonly sends: Json;
  readonly before: { readonly [name: string]: Json } | null;
  readonly after: { readonly [name: string]: Json };
  readonly changes: readonly FieldChange[];
  readonly graph: InGraph | null;
  readonly graphPending: boolean;
  readonly divergence: string;
}

/** Consecutive events for which a predicate holds. */
export interface Stretch {
  readonly member: number;
  readonly event: number;
  readonly lastEvent: number;
  readonly action: string;
  readonly time: string;
  readonly lasted: string;
  readonly events: number;
  readonly label: string;
}

/** The events of a run for which a predicate holds. */
export interface RunFound {
  readonly count: number;
  readonly events: number;
  readonly shown: readonly Stretch[];
  readonly hints: readonly string[];
  readonly fields: readonly string[];
  readonly actions: readonly string[];
  readonly ofCluster: boolean;
}

/** The next event that changes a field; null if there is none. */
export interface NextChange {
  readonly event: number | null;
}

/** State of a member after an event. */
export interface MemberAt {
  readonly member: number;
  readonly electionState: string;
  readonly role: string;
  readonly step: number;
  readonly status: string;
  readonly leads: number | null;
}

/** States of all members after an event. */
export interface MembersAt {
  readonly members: readonly MemberAt[];
}

/** A member's election state, from an event to the member's next segment. */
export interface Segment {
  readonly start: number;
  readonly electionState: string;
  readonly role: string;
  readonly status: string;
}

/** A leadership of a member; times are those of its own clock. */
export interface LeaderBand {
  readonly member: number;
  readonly term: number;
  readonly start: number;
  readonly end: number;
  readonly lasted: string;
  readonly electionStart: number;
  readonly election: string;
}

/** The time at a place of the causal order. */
export interface TimeMark {
  readonly number: number;
  readonly time: string;
}

/** A member's election states over a run. */
export interface MemberTimeline {
  readonly id: number;
  readonly segments: readonly Segment[];
}

/** A restart, a fault, a gap or a divergence. */
export interface TimelineMark {
  readonly number: number;
  readonly member: number;
  readonly kind: string;
  readonly text: string;
}

/** How a member's term, commit position and log change over a run; lists of equal length. */
export interface MemberLevels {
  readonly member: number;
  readonly numbers: readonly number[];
  readonly term: readonly number[];
  readonly commit: readonly number[];
  readonly end: readonly number[];
}

/** Election states, leaderships and marks of a whole run. */
export interface RunTimeline {
  readonly total: number;
  readonly members: readonly MemberTimeline[];
  readonly marks: readonly TimelineMark[];
  readonly bands: readonly LeaderBand[];
  readonly times: readonly TimeMark[];
  readonly levels: readonly MemberLevels[];
  readonly leftOut: number;
}

/** Where a line of evidence is. */
export interface EvidencePlace {
  readonly place: string;
  readonly event: number | null;
}

/** The explanation of a run by `canvass explain`. */
export interface ExplanationView {
  readonly summary: string;
  readonly withoutLeaderMs: number | null;
  readonly leaderships: readonly Leadership[];
  readonly interruptions: readonly Sentence[];
  readonly elections: readonly ElectionReport[];
  readonly stuck: readonly StuckReport[];
  readonly risks: readonly RiskReport[];
  readonly hazards: readonly RiskReport[];
  readonly missing: readonly Sentence[];
  readonly places: { readonly [name: string]: EvidencePlace };
}

/** A state graph. */
export interface GraphInfo {
  readonly id: string;
  readonly title: string;
  readonly kind: "member" | "tlc";
  readonly states: number;
  readonly edges: number;
  readonly complete: boolean | null;
  readonly initial: readonly string[];
  readonly violating: readonly string[];
  readonly actions: { readonly [name: string]: number };
  readonly fields: readonly string[];
  readonly mapBy: string;
  readonly drawnStates: number;
  readonly detail: { readonly [name: string]: string };
}

/** A state by its id. */
export interface StateRef {
  readonly id: string;
  readonly label: string;
}

/** A step that leaves a state. */
export interface OutEdge {
  readonly edge: number;
  readonly action: string;
  readonly target: string;
  readonly targetLabel: string;
  readonly words: string;
  readonly given: Json;
  readonly sends: Json;
  readonly changes: readonly FieldChange[];
}

/** A step that leads to a state. */
export interface InEdge {
  readonly edge: number;
  readonly action: string;
  readonly source: string;
  readonly sourceLabel: string;
  readonly words: string;
}

/** A state with its neighbours. */
export interface StateView {
  readonly id: string;
  readonly label: string;
  readonly initial: boolean;
  readonly expanded: boolean;
  readonly tree: { readonly [name: string]: Json };
  readonly out: readonly OutEdge[];
  readonly outTotal: number;
  readonly in: readonly InEdge[];
  readonly inTotal: number;
  readonly enabled: { readonly [name: string]: number };
}

/** A drawn state. */
export interface Node {
  readonly id: string;
  readonly label: string;
  readonly layer: number;
  readonly initial: boolean;
  readonly terminal: boolean;
  readonly more: number;
  readonly electionState?: string;
  readonly sign?: string;
}

/** A drawn step. */
export interface Edge {
  readonly id: number;
  readonly source: string;
  readonly target: string;
  readonly action: string;
  readonly count: number;
  readonly words: string;
}

/** Numbers of states and edges outside of the drawing. */
export interface LeftOut {
  readonly states: number;
  readonly edges: number;
}

/** The part of a graph around a state. */
export interface Around {
  readonly root: string;
  readonly nodes: readonly Node[];
  readonly edges: readonly Edge[];
  readonly leftOut: LeftOut;
}

/** The states in which a predicate holds. */
export interface Found {
  readonly count: number;
  readonly shown: readonly StateRef[];
  readonly hints: readonly string[];
}

/** One step of a path. */
export interface Hop {
  readonly edge: number;
  readonly action: string;
  readonly source: string;
  readonly target: string;
  readonly targetLabel: string;
  readonly words: string;
}

/** A shortest path. */
export interface PathView {
  readonly start: StateRef;
  readonly hops: readonly Hop[];
}

/** The states for which an expression has one value. */
export interface QuotientNode {
  readonly key: string;
  readonly count: number;
  readonly initial: number;
  readonly terminal: number;
  readonly violating: number;
  readonly example: string;
  readonly shares: readonly number[];
}

/** Steps of one action from the states of one node to those of another. */
export interface QuotientEdge {
  readonly source: string;
  readonly target: string;
  readonly action: string;
  readonly count: number;
}

/** A graph projected onto an expression: one node for each of its values. */
export interface Projection {
  readonly values: readonly string[];
  readonly nodes: readonly QuotientNode[];
  readonly edges: readonly QuotientEdge[];
  readonly leftOut: LeftOut;
  readonly leftOutClasses: number;
}

/** A run of a report or corpus. */
export interface ReportRun {
  readonly runId: string;
  readonly verdict: string;
  readonly events: number | null;
  readonly reason: string;
  readonly source: string;
  readonly run: string | null;
  readonly members: number | null;
  readonly elections: number | null;
  readonly withoutLeaderMs: number | null;
}

/** A page of the runs of a report or corpus. */
export interface ReportRuns {
  readonly page: number;
  readonly pages: number;
  readonly total: number;
  readonly runs: readonly ReportRun[];
}

/** A corpus of many runs. */
export interface CorpusView {
  readonly id: string;
  readonly title: string;
  readonly counts: { readonly [name: string]: number };
  readonly checking: boolean;
}

/** A report on a corpus. */
export interface ReportView {
  readonly id: string;
  readonly title: string;
  readonly summary: Summary;
  readonly revisions: readonly string[];
  readonly examples: readonly (string | null)[];
}

/** A state of a counterexample. */
export interface CounterexampleState {
  readonly number: number;
  readonly action: string;
  readonly acting: string;
  readonly changes: readonly FieldChange[];
  readonly tree: { readonly [name: string]: Json };
}

/** A behaviour that violates a property. */
export interface CounterexampleView {
  readonly id: string;
  readonly title: string;
  readonly claim: string;
  readonly property: string;
  readonly operator: Operator | null;
  readonly explanation: readonly string[];
  readonly loop: number | null;
  readonly stuttering: boolean;
  readonly states: readonly CounterexampleState[];
  readonly statesTotal: number;
  readonly lanes: Lanes | null;
  readonly hazards: readonly string[];
}

/** A part of a property that is false in a state; lines are those of the definition, from 1. */
export interface FalsePart {
  readonly state: number;
  readonly line: number;
  readonly column: number;
  readonly endLine: number;
  readonly endColumn: number;
  readonly values: readonly string[];
}

/** The definition of a violated property, with the parts that are false. */
export interface Formula {
  readonly note: string;
  readonly operator: Operator | null;
  readonly parts: readonly FalsePart[];
}

/** A step that may come next. */
export interface StepChoice {
  readonly name: string;
  readonly member: number;
  readonly action: string;
  readonly words: string;
  readonly changes: readonly string[];
}

/** Steps that were tried from a state, and the steps that may come next. */
export interface WhatIf {
  readonly behaviour: CounterexampleView;
  readonly rules: string;
  readonly choices: readonly StepChoice[];
  readonly actions: readonly string[];
  readonly values: readonly string[];
}

/** A condition under which an action is not enabled. */
export interface GuardPart {
  readonly text: string;
  readonly blocks: boolean;
  readonly values: readonly string[];
}

/** The answer of TLC: the nearest loss of a committed entry, or whether it confirms a path. */
export interface TlcAnswer {
  readonly text: string;
  readonly states: number;
  readonly counterexample: string | null;
  readonly pending: boolean;
}

/** Why a member cannot take an action. */
export interface WhyNot {
  readonly note: string;
  readonly parts: readonly GuardPart[];
  readonly operator: Operator | null;
}
