// A button that copies a text, with or without the text above it.

import { useEffect, useState } from "preact/hooks";

export function CopyButton({ text, title = "Copy" }: { text: string; title?: string }) {
  const [said, setSaid] = useState(title);
  useEffect(() => setSaid(title), [text, title]);
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(() => setSaid("Copied"), () => setSaid("Not allowed: select the text"));
  };
  return <button type="button" class="copy" onClick={copy}>{said}</button>;
}

export function Copied({ text }: { text: string }) {
  return (
    <div class="copied">
      <pre class="source" tabIndex={0}>{text}</pre>
      <CopyButton text={text} />
    </div>
  );
}
