// A drawing with its style inlined, to look the same without the style sheet.

const WRITTEN = [
  "fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "paint-order", "opacity",
  "font-family", "font-size", "font-weight", "font-style", "text-anchor", "letter-spacing",
] as const;
const SVG = "http://www.w3.org/2000/svg";

/** A standalone copy of an SVG element. */
export function standalone(source: SVGSVGElement): SVGSVGElement {
  const copy = source.cloneNode(true) as SVGSVGElement;
  const originals = [source, ...source.querySelectorAll("*")];
  const copies = [copy, ...copy.querySelectorAll("*")];
  originals.forEach((original, place) => {
    const target = copies[place];
    if (!target) return;
    const style = getComputedStyle(original);
    for (const name of WRITTEN) {
      const value = style.getPropertyValue(name);
      if (value && value !== "none 0px") target.setAttribute(name, value);
    }
    for (const attribute of [...target.attributes]) {
      if (/^(class|style|data-|on)/.test(attribute.name)) target.removeAttribute(attribute.name);
    }
  });
  const box = source.getBoundingClientRect();
  copy.setAttribute("xmlns", SVG);
  if (!copy.hasAttribute("viewBox")) copy.setAttribute("viewBox", `0 0 ${box.width} ${box.height}`);
  copy.setAttribute("width", `${Math.round(box.width) || copy.viewBox.baseVal.width}`);
  copy.setAttribute("height", `${Math.round(box.height) || copy.viewBox.baseVal.height}`);
  const view = copy.viewBox.baseVal;
  const paper = document.createElementNS(SVG, "rect");
  for (const [name, value] of Object.entries({ x: view.x, y: view.y, width: view.width, height: view.height })) {
    paper.setAttribute(name, `${value}`);
  }
  paper.setAttribute("fill", getComputedStyle(document.documentElement).getPropertyValue("--paper").trim());
  copy.prepend(paper);
  return copy;
}

export function svgText(drawing: SVGSVGElement): string {
  return new XMLSerializer().serializeToString(drawing);
}
