// The dialog that exports the view.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { apiPath, getFile, saved } from "../api/client";
import { useKeys } from "../keys/keys";
import { Dialog } from "../parts/dialog";
import { Failed } from "../parts/note";
import { download } from "./download";
import { drawingOfView } from "./drawn";
import { svgText } from "./inline";
import { htmlOfView } from "./page_html";
import { pngOf } from "./paint";

/** A file that the server writes. */
export interface ServerExport {
  readonly title: string;
  /** Its content, in a few words. */
  readonly about: string;
  readonly path: string;
  /** Whether the file is the page, and opens where this page is. */
  readonly opensHere?: boolean;
}

/** The page of a run or of a counterexample with all its answers. */
export function savedPageOf(id: string): readonly ServerExport[] {
  const about = "this page in one file, which a colleague can walk through without canvass";
  return saved ? [] : [{ title: "Page", about, path: apiPath(["page", id]), opensHere: true }];
}

export function ExportMenu({ name, files = [] }: { name: string; files?: readonly ServerExport[] }) {
  const [open, setOpen] = useState(false);
  useKeys("Everywhere", [{ keys: ["x"], does: "export", run: () => setOpen(true) }]);
  return (
    <>
      <button type="button" class="exporting" onClick={() => setOpen(true)}>Export <kbd>x</kbd></button>
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
    // A late file closes only the dialog in which it was requested, not one opened since.
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
    if (!found) throw new Error("This view has no drawing; export it as HTML.");
    return found;
  };
  const svg = async (): Promise<void> =>
    download(new Blob([svgText(drawing())], { type: "image/svg+xml" }), `${name}.svg`);
  const png = async (): Promise<void> => download(await pngOf(drawing()), `${name}.png`);
  const html = async (): Promise<void> =>
    download(new Blob([htmlOfView(name)], { type: "text/html" }), `${name}.html`);
  const served = async ({ path, opensHere }: ServerExport): Promise<void> => {
    const { blob, name: given } = await getFile(path);
    const start = `<body data-place="${encodeURIComponent(location.hash)}"`;
    download(opensHere ? new Blob([(await blob.text()).replace("<body", start)], { type: blob.type }) : blob, given);
  };
  return (
    <Dialog title="Export" close={close}>
      {error ? <Failed error={error} /> : null}
      <ul class="exports">
        <li><button type="button" disabled={!drawn} onClick={() => attempt(svg())}>SVG</button> the drawing, scalable</li>
        <li><button type="button" disabled={!drawn} onClick={() => attempt(png())}>PNG</button> the drawing, as a picture</li>
        <li><button type="button" onClick={() => attempt(html())}>HTML</button> the view and the pane beside it, in one self-contained file</li>
        {files.map((file) => (
          <li key={file.title}>
            <button type="button" onClick={() => attempt(served(file))}>{file.title}</button> {file.about}
          </li>
        ))}
      </ul>
      <p class="soft">A file of the drawing has only what the view draws.</p>
    </Dialog>
  );
}
