// The context that all views of a graph share: the current state, and ways to another.

import type { GraphInfo } from "../api/types";

/** The parameters of a graph's address, besides the state. */
export interface GraphQuery {
  readonly view: string;
  /** The previous state: the current one is compared with it. */
  readonly from: string | undefined;
  readonly pin: string | undefined;
  readonly depth: number;
  readonly limit: number;
  readonly actions: readonly string[];
  readonly where: string;
  readonly by: string;
  /** The field that colours the nodes of a projection; empty for the parts of the election. */
  readonly colour: string;
  readonly to: string;
}

export type GraphChange = Partial<{ readonly [name in keyof GraphQuery]: string | number | undefined }>;

export interface GraphContext {
  readonly graph: GraphInfo;
  readonly state: string;
  readonly query: GraphQuery;
  /** Change parameters of the address, but not the state. */
  readonly change: (change: GraphChange, replace?: boolean) => void;
  /** Go to a state; `from` is the previous state, if a step leads from there. */
  readonly visit: (state: string, from?: string, view?: string, where?: string) => void;
}
