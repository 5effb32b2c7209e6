// The scrolling frame of the lanes: heads that stay, and the height of the whole run.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Lanes } from "../api/types";
import { offerDrawing } from "../exports/drawn";
import { useSize } from "../parts/use_size";
import { columnsOf, HEAD, ROW, topOf, tracksOf, type Columns } from "./geometry";
import { LanesPicture } from "./lanes_picture";

const NEAR = 25; // Rows from the end of the known events at which more are requested.
const BESIDE = 6; // Rows drawn above and below the visible ones.

export function LanesScroller(
  { lanes, at, choose, need }: {
    lanes: Lanes;
    /** The chosen event, -1 for none. */
    at: number;
    choose: (number: number) => void;
    /** Requests the events around an event that is not in `lanes`. */
    need?: (number: number) => void;
  },
) {
  const holder = useRef<HTMLDivElement>(null);
  const { width, height } = useSize(holder);
  const tracks = useMemo(() => tracksOf(lanes), [lanes]);
  const columns = useMemo(
    () => columnsOf(lanes.lanes.length, width, tracks, lanes.events.some((event) => event.time !== "")),
    [lanes, tracks, width],
  );
  const first = lanes.events[0]?.number ?? 0;
  const end = first + lanes.events.length;
  const [top, setTop] = useState(0); // The first row in sight.

  // Scroll to the chosen event when it is chosen, and when a new width moves it.
  const brought = useRef("");
  useLayoutEffect(() => {
    const element = holder.current;
    if (!element || height === 0 || at < 0) return;
    const chosen = `${at} of ${lanes.total} in ${width}`;
    if (brought.current === chosen) return;
    brought.current = chosen;
    const y = at * ROW;
    const seen = element.scrollTop;
    if (y < seen || y + ROW + HEAD > seen + height) element.scrollTop = Math.max(0, y - height / 3);
    const left = columns.lefts[lanes.events[at - first]?.lane ?? 0] ?? 0;
    const beside = left < element.scrollLeft || left + columns.boxWidth > element.scrollLeft + width;
    if (beside) element.scrollLeft = Math.max(0, left - 40);
  }, [at, width, height]);

  const scrolled = (): void => {
    const element = holder.current;
    if (!element) return;
    setTop(Math.floor(element.scrollTop / ROW));
    const middle = Math.min(lanes.total - 1, Math.floor((element.scrollTop + height / 2) / ROW));
    const known = (middle >= first + NEAR || first === 0) && (middle <= end - NEAR || end === lanes.total);
    if (!known) need?.(middle);
  };

  // An answer may come after the reader has scrolled on. Other lanes have other places.
  const before = useRef(lanes.total);
  useLayoutEffect(() => {
    if (height > 0 && before.current === lanes.total) scrolled();
    before.current = lanes.total;
  }, [lanes]);

  useEffect(() => {
    const drawn = { lanes, tracks, columns, at, choose, from: first, to: end, heads: true };
    offerDrawing(() => ({ element: <LanesPicture {...drawn} /> }));
    return () => offerDrawing(null);
  }, [lanes, tracks, columns, at]);

  const shown = { from: Math.max(0, top - BESIDE), to: Math.min(lanes.total, top + Math.ceil(height / ROW) + BESIDE) };
  return (
    <div class="lanes-scroll" ref={holder} onScroll={scrolled} tabIndex={0} role="group" aria-label="Lanes">
      <div class="lanes-heads" style={{ width: `${columns.width}px` }}>
        {lanes.lanes.map((name, lane) => (
          <div
            key={lane}
            class="lane-head"
            style={{ left: `${columns.lefts[lane] ?? 0}px`, width: `${columns.boxWidth}px` }}
          >
            {name}
          </div>
        ))}
      </div>
      <div style={{ height: `${lanes.total * ROW + 12}px`, width: `${columns.width}px`, position: "relative" }}>
        <LanesPicture
          lanes={lanes}
          tracks={tracks}
          columns={columns}
          at={at}
          choose={choose}
          from={Math.min(end, Math.max(first, shown.from))}
          to={Math.max(first, Math.min(end, shown.to))}
        />
        {shown.from < first ? <Awaiting columns={columns} from={shown.from} to={Math.min(first, shown.to)} /> : null}
        {shown.to > end ? <Awaiting columns={columns} from={Math.max(end, shown.from)} to={shown.to} /> : null}
      </div>
    </div>
  );
}

/** Empty boxes in place of rows that are requested. */
function Awaiting({ columns, from, to }: { columns: Columns; from: number; to: number }) {
  return (
    <div class="lanes-awaited" role="status" style={{ top: `${topOf(from)}px`, height: `${(to - from) * ROW}px`, width: `${columns.width}px` }}>
      {columns.lefts.map((left) => <span key={left} style={{ left: `${left}px`, width: `${columns.boxWidth}px` }} />)}
      <p>{`Loading events ${(from + 1).toLocaleString("en")} to ${to.toLocaleString("en")} …`}</p>
    </div>
  );
}
