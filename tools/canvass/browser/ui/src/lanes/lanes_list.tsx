// The events of the lanes as a table.

import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Lanes } from "../api/types";
import { markSign, messagesOf } from "./event_messages";
import { Table } from "../parts/table";

export function LanesList(
  { lanes, at, choose }: { lanes: Lanes; at: number; choose: (number: number) => void },
) {
  const messages = useMemo(() => messagesOf(lanes), [lanes]);
  const timed = lanes.events.some((event) => event.time !== "");
  const chosen = useRef<HTMLTableRowElement>(null);
  useEffect(() => chosen.current?.scrollIntoView({ block: "nearest" }), [at]);
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label="Events">
      {lanes.before > 0 ? <p class="soft note">{`${lanes.before.toLocaleString("en")} events before these`}</p> : null}
      <Table class="events">
        <thead>
          <tr><th>event</th>{timed ? <th>time</th> : null}<th>lane</th><th>action</th><th>messages</th><th>changes</th></tr>
        </thead>
        <tbody>
          {lanes.events.map((event) => (
            <tr
              key={event.number}
              ref={event.number === at ? chosen : null}
              class={`${event.number === at ? "is-chosen" : ""} is-${(event.mark ?? "plain").toLowerCase()}`}
              data-event={event.number}
            >
              <td><button type="button" class="inline" aria-current={event.number === at} onClick={() => choose(event.number)}>{(event.event < 0 ? event.number : event.event) + 1}</button></td>
              {timed ? <td>{event.time} <span class="soft">{event.since}</span><div class="soft">{event.place || event.origin.toLowerCase()}</div></td> : null}
              <td>{lanes.lanes[event.lane]}</td>
              <td>{`${markSign(event.mark)} ${event.title}`.trim()}{event.mark ? <div class="soft">{`${event.mark} ${event.remark}`}</div> : null}</td>
              <td>{messages.get(event.number)?.text}</td>
              <td>{event.changes.join("; ")}{event.alike ? <div class="soft">{`≡ ${event.alike}`}</div> : null}</td>
            </tr>
          ))}
        </tbody>
      </Table>
      {lanes.after > 0 ? <p class="soft note">{`${lanes.after.toLocaleString("en")} events after these`}</p> : null}
    </div>
  );
}
