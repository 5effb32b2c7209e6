// Questions that TLC answers within a minute: the nearest loss from here, and whether it confirms the steps.

import { useEffect, useState } from "preact/hooks";
import { apiPath } from "../api/client";
import type { TlcAnswer } from "../api/types";
import { useQuery } from "../api/use_query";
import { Failed } from "../parts/note";
import { formatRoute } from "../route/route";
import { plural } from "../words/visible";

const AGAIN_MS = 1000;

export function AskTlc(
  { place, path, question, title, button, about }: {
    /** The start, as parts of a path of the API. */
    place: readonly string[];
    path: string;
    question: "nearest" | "confirmed";
    title: string;
    button: string;
    about: string;
  },
) {
  const [asked, setAsked] = useState<string>();
  const [again, setAgain] = useState(0);
  const answer = useQuery<TlcAnswer>(asked === path ? apiPath([...place, question], { path }) : null, again);
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
      <h3>{title}</h3>
      {answer.loading || pending ? <Waiting />
        : answer.data ? (
          <p data-tlc={question}>
            {`${answer.data.text}${answer.data.states > 0 ? `; TLC has seen ${plural(answer.data.states, "state")}` : ""}.`}
            {answer.data.counterexample === null ? null
              : <>{" "}<a href={formatRoute(["counterexample", answer.data.counterexample])}>Show the steps</a></>}
          </p>
        ) : (
          <>
            {answer.error ? <Failed error={answer.error} /> : null}
            <button type="button" onClick={start}>{button}</button>
            <p class="soft">{about}</p>
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
  return <p class="waiting" role="status">{`TLC is at work: ${seconds} of at most 60 s …`}</p>;
}
