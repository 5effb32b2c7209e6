// Lines to be typed or pasted elsewhere, with a button that copies them.

import { useState } from "preact/hooks";

export function Copied({ text }: { text: string }) {
  const [said, setSaid] = useState("Copy");
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(() => setSaid("Copied"), () => setSaid("Not allowed: select the text"));
  };
  return (
    <div class="copied">
      <pre class="source" tabIndex={0}>{text}</pre>
      <button type="button" onClick={copy}>{said}</button>
    </div>
  );
}
