// Time from left to right: the members' election states, and the current event.

import { useMemo, useRef, useState } from "preact/hooks";
import type { RunTimeline, RunView } from "../api/types";
import { useKeys } from "../keys/keys";
import { useSize } from "../parts/use_size";
import { plural } from "../words/visible";
import { useEventAt } from "./event_at";
import { LevelTracks } from "./level_tracks";
import { PinnedTrack } from "./pinned_track";
import { TimelinePicture, TIMELINE_TOP } from "./timeline_picture";
import { timeScale } from "./time_scale";

const UNITS = 10_000; // Length of the slider: it moves by place in the timeline, not by event.

export function Timeline(
  { run, timeline, at, playing, play, pin, unpin, show }: {
    run: RunView;
    timeline: RunTimeline | undefined;
    at: number;
    playing: boolean;
    play: () => void;
    /** A condition whose stretches are drawn; empty if there is none. */
    pin: string;
    unpin: () => void;
    show: (at: number) => void;
  },
) {
  const { event } = useEventAt(run.id, at);
  const [tracks, setTracks] = useState(false);
  useKeys("Time", [{ keys: ["t"], does: "terms and positions under the timeline, or not", run: () => setTracks((was) => !was) }]);
  const holder = useRef<HTMLDivElement>(null);
  const { width } = useSize(holder);
  const last = Math.max(0, run.events - 1);
  const scale = useMemo(() => timeScale(timeline, run.events, width), [timeline, run.events, width]);
  const units = useMemo(() => timeScale(timeline, run.events, UNITS), [timeline, run.events]);
  const to = (number: number): void => show(Math.min(last, Math.max(0, number)));
  return (
    <footer class="timeline" aria-label="Time">
      <div class="timeline-buttons">
        <button type="button" onClick={() => to(0)} disabled={at === 0} aria-label="First event" title="Home">|◀</button>
        <button type="button" onClick={() => to(at - 1)} disabled={at === 0} aria-label="Event before" title="←">◀</button>
        <button type="button" onClick={play} aria-pressed={playing} aria-label={playing ? "Pause" : "Play"} title="Space">
          {playing ? "||" : "▶▶"}
        </button>
        <button type="button" onClick={() => to(at + 1)} disabled={at >= last} aria-label="Next event" title="→">▶</button>
        <button type="button" onClick={() => to(last)} disabled={at >= last} aria-label="Last event" title="End">▶|</button>
        <button type="button" onClick={() => setTracks(!tracks)} aria-pressed={tracks} aria-label="Terms and positions" title="t">≋</button>
        <output class="place" data-place={at}>
          {run.events === 0 ? "no events" : `event ${(at + 1).toLocaleString("en")} of ${run.events.toLocaleString("en")}`}
        </output>
        {event?.time ? <span class="place-time" data-time>{event.time}</span> : null}
      </div>
      <div class="timeline-tracks">
        <div class="timeline-track">
          <div class="timeline-names" aria-hidden="true" style={{ paddingTop: `${TIMELINE_TOP}px` }}>
            {(timeline?.members ?? []).map((member) => <span key={member.id}>{member.id}</span>)}
          </div>
          <div class="timeline-place" ref={holder}>
            {timeline && width > 0
              ? <TimelinePicture timeline={timeline} run={run} at={at} width={width} scale={scale} show={to} /> : null}
            {timeline && width > 0 && tracks ? <LevelTracks timeline={timeline} at={at} width={width} scale={scale} /> : null}
            <input
              type="range"
              min={0}
              max={UNITS}
              value={Math.round(units.place(at + 0.5))}
              aria-label="Place in the run"
              aria-valuetext={`event ${at + 1} of ${run.events}${event ? `: ${event.title}, member and step ${event.reference}` : ""}`}
              title="Quiet stretches are drawn shorter than they are"
              onInput={(input) => to(Math.floor(units.number(Number(input.currentTarget.value))))}
            />
            {timeline && timeline.leftOut > 0
              ? <p class="soft">{`${plural(timeline.leftOut, "change")} of state left out of the timeline`}</p> : null}
          </div>
        </div>
        {timeline && width > 0 && pin !== ""
          ? <PinnedTrack run={run} timeline={timeline} where={pin} unpin={unpin} at={at} width={width} scale={scale} show={to} /> : null}
      </div>
    </footer>
  );
}
