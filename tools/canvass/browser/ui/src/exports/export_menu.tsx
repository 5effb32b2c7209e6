// What the view can be kept as.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { getFile } from "../api/client";
import { useKeys } from "../keys/keys";
import { Dialog } from "../parts/dialog";
import { Failed } from "../parts/note";
import { download } from "./download";
import { drawingOfView } from "./drawn";
import { svgText } from "./inline";
import { htmlOfView } from "./page_html";
import { pngOf } from "./paint";

/** A file that the server makes. */
export interface ServerExport {
  readonly title: string;
  /** What is in it, in a few words. */
  readonly about: string;
  readonly path: string;
}

export function ExportMenu({ name, files = [] }: { name: string; files?: readonly ServerExport[] }) {
  const [open, setOpen] = useState(false);
  useKeys("Everywhere", [{ keys: ["x"], does: "export", run: () => setOpen(true) }]);
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>Export <kbd>x</kbd></button>
      {open ? <ExportDialog name={name} files={files} close={() => setOpen(false)} /> : null}
    </>
  );
}

function ExportDialog(
  { name, files, close }: { name: string; files: readonly ServerExport[]; close: () => void },
) {
  const [error, setError] = useState<Error>();
  const shown = useRef(true);
  useLayoutEffect(() => () => {
    shown.current = false;
  }, []);
  const attempt = (made: Promise<void>): void => {
    // A file that comes late closes the dialog that it was asked for in, not one opened since.
    made.then(
      () => {
        if (shown.current) close();
      },
      (why: unknown) => setError(why instanceof Error ? why : new Error(String(why))),
    );
  };
  const drawn = document.querySelector("[data-export] svg, [data-export] .graph-canvas") !== null;
  const drawing = (): SVGSVGElement => {
    const found = drawingOfView();
    if (!found) throw new Error("This view has no drawing; keep it as HTML.");
    return found;
  };
  const svg = async (): Promise<void> =>
    download(new Blob([svgText(drawing())], { type: "image/svg+xml" }), `${name}.svg`);
  const png = async (): Promise<void> => download(await pngOf(drawing()), `${name}.png`);
  const html = async (): Promise<void> =>
    download(new Blob([htmlOfView(name)], { type: "text/html" }), `${name}.html`);
  const served = async (path: string): Promise<void> => {
    const { blob, name: given } = await getFile(path);
    download(blob, given);
  };
  return (
    <Dialog title="Export" close={close}>
      {error ? <Failed error={error} /> : null}
      <ul class="exports">
        <li><button type="button" disabled={!drawn} onClick={() => attempt(svg())}>SVG</button> the drawing, to be scaled</li>
        <li><button type="button" disabled={!drawn} onClick={() => attempt(png())}>PNG</button> the drawing, as a picture</li>
        <li><button type="button" onClick={() => attempt(html())}>HTML</button> the view with what is beside it, in one file that needs nothing else</li>
        {files.map((file) => (
          <li key={file.title}>
            <button type="button" onClick={() => attempt(served(file.path))}>{file.title}</button> {file.about}
          </li>
        ))}
      </ul>
      <p class="soft">A drawing holds what is drawn: what is left out of the view is left out of it too.</p>
    </Dialog>
  );
}
