// The election states: a short sign for each, and its part of the election.

export type Phase = "start" | "candidate" | "leader" | "follower" | "outside";

export const SIGNS: { readonly [state: string]: string } = {
  INIT: "In",
  CANVASS: "Ca",
  NOMINATE: "No",
  CANDIDATE_BALLOT: "CB",
  FOLLOWER_BALLOT: "FB",
  LEADER_LOG_REPLICATION: "LL",
  LEADER_REPLAY: "LP",
  LEADER_INIT: "LI",
  LEADER_READY: "LR",
  FOLLOWER_LOG_REPLICATION: "FL",
  FOLLOWER_REPLAY: "FP",
  FOLLOWER_CATCHUP_INIT: "KI",
  FOLLOWER_CATCHUP_AWAIT: "KA",
  FOLLOWER_CATCHUP: "KC",
  FOLLOWER_LOG_INIT: "FI",
  FOLLOWER_LOG_AWAIT: "FA",
  FOLLOWER_READY: "FR",
  CLOSED: "Cl",
};

export function signOf(state: string | undefined): string {
  if (state === undefined || state === "") return "";
  return SIGNS[state] ?? state.slice(0, 2);
}

export function phaseOf(state: string | undefined): Phase {
  if (state === "INIT" || state === "CANVASS") return "start";
  if (state === "NOMINATE" || state === "CANDIDATE_BALLOT") return "candidate";
  if (state?.startsWith("LEADER_")) return "leader";
  if (state?.startsWith("FOLLOWER_")) return "follower";
  return "outside";
}

/** Whether the states are those of a member, or of a cluster of members. */
export function isOfElections(fields: readonly string[]): boolean {
  return fields.includes("electionState") || (fields.includes("member") && fields.includes("channel"));
}
