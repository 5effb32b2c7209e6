// The drawing of the current view, as a standalone SVG element.

import { render } from "preact";
import { standalone } from "./inline";

type Maker = () => { readonly element: preact.VNode } | null;

// A drawing on a canvas has no SVG in the page; its view says how to make one.
let maker: Maker | null = null;

export function offerDrawing(make: Maker | null): void {
  maker = make;
}

export function drawingOfView(): SVGSVGElement | null {
  const offered = maker?.();
  if (offered) {
    const place = document.createElement("div");
    place.className = "offscreen";
    document.body.append(place);
    render(offered.element, place);
    const drawing = place.querySelector("svg");
    const made = drawing ? standalone(drawing) : null;
    render(null, place);
    place.remove();
    return made;
  }
  const shown = document.querySelector<SVGSVGElement>("[data-export] svg");
  return shown ? standalone(shown) : null;
}
