// What the views of a graph share: the state that is looked at, and how to go elsewhere.

import type { GraphInfo } from "../api/types";

/** What the address says of a graph besides the state. */
export interface GraphQuery {
  readonly view: string;
  /** The state that the reader came from: the state is compared with it. */
  readonly from: string | undefined;
  readonly pin: string | undefined;
  readonly depth: number;
  readonly limit: number;
  readonly actions: readonly string[];
  readonly where: string;
  readonly by: string;
  readonly to: string;
  readonly heat: boolean;
}

export type GraphChange = Partial<{ readonly [name in keyof GraphQuery]: string | number | undefined }>;

export interface GraphContext {
  readonly graph: GraphInfo;
  readonly state: string;
  readonly query: GraphQuery;
  /** Stay at the state, look at it otherwise. */
  readonly change: (change: GraphChange, replace?: boolean) => void;
  /** Go to a state. `from` is where the reader comes from, if a step leads from there. */
  readonly visit: (state: string, from?: string, view?: string) => void;
}
