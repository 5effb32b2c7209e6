// What a page is given: the source that it shows, and what the address says of it.

import type { SourceInfo } from "../api/types";
import type { Route } from "./route";

/** What every view is given. */
export interface Place {
  readonly source: SourceInfo;
  /** What follows the source in the address. */
  readonly rest: readonly string[];
  readonly query: Route["query"];
  /** Whether the link named another source, which is not open here. */
  readonly moved: boolean;
}
