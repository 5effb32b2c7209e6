// The nearest loss from here: TLC searches behaviours of a few steps, for a minute at most.

import { useEffect, useState } from "preact/hooks";
import { apiPath } from "../api/client";
import type { Nearest } from "../api/types";
import { useQuery } from "../api/use_query";
import { Failed } from "../parts/note";
import { formatRoute } from "../route/route";
import { plural } from "../words/visible";

const AGAIN_MS = 1000;

export function NearestLoss({ place, path }: { place: readonly string[]; path: string }) {
  const [asked, setAsked] = useState<string>();
  const [again, setAgain] = useState(0);
  const answer = useQuery<Nearest>(asked === path ? apiPath([...place, "nearest"], { path }) : null, again);
  const start = (): void => {
    if (answer.error) setAgain(again + 1);
    setAsked(path);
  };
  const pending = answer.data?.pending ?? false;
  useEffect(() => {
    if (!pending || answer.loading) return undefined;
    const timer = setTimeout(() => setAgain((before) => before + 1), AGAIN_MS);
    return () => clearTimeout(timer);
  }, [pending, answer.loading, again]);
  return (
    <section class="nearest" aria-live="polite">
      <h3>How near is a loss?</h3>
      {answer.loading || pending ? <Waiting />
        : answer.data ? (
          <p data-nearest>
            {`${answer.data.text}${answer.data.states > 0 ? `; TLC has seen ${plural(answer.data.states, "state")}` : ""}.`}
            {answer.data.counterexample === null ? null
              : <>{" "}<a href={formatRoute(["counterexample", answer.data.counterexample])}>Show the steps</a></>}
          </p>
        ) : (
          <>
            {answer.error ? <Failed error={answer.error} /> : null}
            <button type="button" onClick={start}>Search from here</button>
            <p class="soft">TLC searches for a committed entry that no quorum has, in up to 12 steps with one crash.</p>
          </>
        )}
    </section>
  );
}

function Waiting() {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setSeconds((one) => one + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  return <p class="waiting" role="status">{`TLC is searching: ${seconds} of at most 60 s …`}</p>;
}
