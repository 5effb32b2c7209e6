// A dialog: the browser's own, so that focus stays inside and Escape closes it.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

export function Dialog(
  { title, close, children }: { title: string; close: () => void; children: ComponentChildren },
) {
  const holder = useRef<HTMLDialogElement>(null);
  const shown = useRef(true);
  useLayoutEffect(() => {
    const dialog = holder.current;
    dialog?.showModal();
    return () => {
      shown.current = false;
      dialog?.close();
    };
  }, []);
  // The event comes late: it would close a dialog that was opened again.
  const closed = (): void => {
    if (shown.current) close();
  };
  const outside = (event: MouseEvent): void => {
    if (event.target === holder.current) close();
  };
  // Our handler of Escape closes it, so the page knows before the next key.
  const cancelled = (event: Event): void => {
    event.preventDefault();
    close();
  };
  return (
    <dialog ref={holder} aria-label={title} onCancel={cancelled} onClose={closed} onClick={outside}>
      <header class="dialog-head">
        <h2>{title}</h2>
        <button type="button" class="quiet" onClick={close}>Close</button>
      </header>
      <div class="dialog-body">{children}</div>
    </dialog>
  );
}
