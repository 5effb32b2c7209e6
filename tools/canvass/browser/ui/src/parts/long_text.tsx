// A text that may be very long: its beginning, and a button for all of it.

import { useState } from "preact/hooks";

const SHOWN = 240;

export function LongText({ text }: { text: string }) {
  const [whole, setWhole] = useState(false);
  if (text.length <= SHOWN + 40) return <>{text}</>;
  if (whole) return <>{text}</>;
  return (
    <>
      {text.slice(0, SHOWN)}…{" "}
      <button type="button" class="inline" onClick={() => setWhole(true)}>
        {`all ${text.length.toLocaleString("en")} characters`}
      </button>
    </>
  );
}
