// The view as one HTML file without scripts and references, to attach to a ticket.

import { shownTheme } from "../session/theme";
import { drawingOfView } from "./drawn";

const LEFT_OUT = "dialog, button.quiet, button.copy, .exporting, [data-pending], .tabs, .toolbar, .timeline-buttons, .timeline input, form, kbd, .check, .hidden";

export function htmlOfView(name: string): string {
  const view = document.querySelector("[data-export]");
  const inspector = document.querySelector(".inspector");
  const title = document.querySelector("h1")?.textContent ?? name;
  const main = document.createElement("main");
  const head = document.querySelector(".head");
  if (head) main.append(cleaned(head));
  append(main, "p", `Made by canvass browse; the view was ${location.hash}`);
  const body = document.createElement("div");
  body.className = "kept";
  const drawing = drawingOfView();
  if (drawing) body.append(drawing);
  else if (view) body.append(cleaned(view));
  if (inspector) body.append(cleaned(inspector));
  main.append(body);
  const text = new XMLSerializer().serializeToString(main);
  // The serialiser has escaped all untrusted text.
  return [
    "<!doctype html>",
    `<html lang="en" data-theme="${shownTheme()}"><head><meta charset="utf-8">`,
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">`,
    `<title>${escaped(title)}</title>`,
    `<style>${ownStyle()}${KEPT_STYLE}</style></head>`,
    `<body class="kept-page">${text}</body></html>`,
  ].join("\n");
}

const KEPT_STYLE = `
html, body.kept-page { height: auto; overflow: auto; }
.kept-page { padding: 20px; }
.kept-page .head { border: 0; padding: 0 0 10px; background: none; }
.kept { display: flex; flex-wrap: wrap; gap: 20px; align-items: flex-start; }
.kept > svg { max-width: 100%; height: auto; border: 1px solid var(--line); }
.kept > .view { flex: 1 1 480px; height: auto; min-height: 0; border: 1px solid var(--line); }
.kept > .view, .kept > .view :is(.around, .find, .overview, .verdict-view, .scroll) { display: block; overflow: visible; }
.kept .inspector { flex: 1 1 300px; overflow: visible; max-height: none; border: 0; max-width: 460px; }
`;

/** The rules of the page's own style sheet: they contain no untrusted text. */
function ownStyle(): string {
  return [...document.styleSheets]
    .flatMap((sheet) => [...sheet.cssRules].map((rule) => rule.cssText))
    .join("\n")
    .replaceAll("</", "<\\/");
}

function append(parent: Element, name: string, text: string): void {
  const made = document.createElement(name);
  made.textContent = text;
  parent.append(made);
}

/** A copy without buttons and links: in a file they would do nothing. */
function cleaned(source: Element): Element {
  const copy = source.cloneNode(true) as Element;
  for (const element of copy.querySelectorAll(LEFT_OUT)) element.remove();
  for (const button of copy.querySelectorAll("button, a")) {
    const text = document.createElement("span");
    text.className = button.className;
    text.append(...button.childNodes);
    button.replaceWith(text);
  }
  return copy;
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (one) => `&#${one.charCodeAt(0)};`);
}
