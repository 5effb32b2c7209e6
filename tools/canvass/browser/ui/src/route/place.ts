// The place that a page shows: its source, and the rest of the address.

import type { SourceInfo } from "../api/types";
import type { Route } from "./route";

/** The properties of every page. */
export interface Place {
  readonly source: SourceInfo;
  /** The parts of the address after the source. */
  readonly rest: readonly string[];
  readonly query: Route["query"];
  /** Whether the link named another source that is not open. */
  readonly moved: boolean;
}
