// The drawing of the view that is shown, as an SVG element that stands alone.

import { render } from "preact";
import { standalone } from "./inline";

type Maker = () => { readonly element: preact.VNode } | null;

// A drawing on a canvas has no SVG in the page; whoever shows one says how to make it.
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
