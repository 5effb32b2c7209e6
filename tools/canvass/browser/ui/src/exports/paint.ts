// An SVG drawing painted on a canvas, for PNG.
//
// Browsers paint an SVG through an image element; the page's content security policy loads no
// images, not even from memory, so the few shapes of our drawings are painted here.

const SCALE = 2;
/** Browsers refuse larger canvases, some without an error. */
const MOST_PIXELS = 16_000;

export async function pngOf(drawing: SVGSVGElement): Promise<Blob> {
  const view = drawing.viewBox.baseVal;
  const width = Number(drawing.getAttribute("width")) || view.width;
  const height = Number(drawing.getAttribute("height")) || view.height;
  const scale = Math.min(SCALE, MOST_PIXELS / width, MOST_PIXELS / height);
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(width * scale);
  canvas.height = Math.ceil(height * scale);
  const context = canvas.getContext("2d");
  if (!context) throw new Error("This browser has no canvas to paint on.");
  // preserveAspectRatio: xMidYMid meet, as in the page.
  const zoom = Math.min(width / view.width, height / view.height);
  context.scale(scale, scale);
  context.translate((width - view.width * zoom) / 2, (height - view.height * zoom) / 2);
  context.scale(zoom, zoom);
  context.translate(-view.x, -view.y);
  paintChildren(context, drawing);
  return new Promise((done, failed) => {
    canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error("The picture is too large."))), "image/png");
  });
}

function paintChildren(context: CanvasRenderingContext2D, parent: Element): void {
  for (const child of parent.children) paint(context, child);
}

function paint(context: CanvasRenderingContext2D, element: Element): void {
  context.save();
  const transform = /translate\(([-\d.e]+)[ ,]+([-\d.e]+)\)/.exec(element.getAttribute("transform") ?? "");
  if (transform) context.translate(Number(transform[1]), Number(transform[2]));
  switch (element.localName) {
    case "g": paintChildren(context, element); break;
    case "text": paintText(context, element); break;
    case "rect": case "circle": case "path": case "line": paintShape(context, element); break;
    default: break; // Titles and definitions of markers are invisible.
  }
  context.restore();
}

function number(element: Element, name: string): number {
  return Number.parseFloat(element.getAttribute(name) ?? "0") || 0;
}

function shapeOf(element: Element): Path2D {
  const shape = new Path2D();
  switch (element.localName) {
    case "rect":
      shape.roundRect(
        number(element, "x"), number(element, "y"), number(element, "width"), number(element, "height"),
        number(element, "rx"),
      );
      return shape;
    case "circle":
      shape.arc(number(element, "cx"), number(element, "cy"), number(element, "r"), 0, 2 * Math.PI);
      return shape;
    case "line":
      shape.moveTo(number(element, "x1"), number(element, "y1"));
      shape.lineTo(number(element, "x2"), number(element, "y2"));
      return shape;
    default:
      return new Path2D(element.getAttribute("d") ?? "");
  }
}

function paintShape(context: CanvasRenderingContext2D, element: Element): void {
  const shape = shapeOf(element);
  const fill = element.getAttribute("fill") ?? "black";
  const stroke = element.getAttribute("stroke") ?? "none";
  context.globalAlpha = element.hasAttribute("opacity") ? number(element, "opacity") : 1;
  if (fill !== "none") {
    context.fillStyle = fill;
    context.fill(shape);
  }
  if (stroke !== "none" && number(element, "stroke-width") > 0) {
    context.strokeStyle = stroke;
    context.lineWidth = number(element, "stroke-width");
    const dashes = element.getAttribute("stroke-dasharray") ?? "none";
    context.setLineDash(dashes === "none" ? [] : dashes.split(/[ ,]+/).map((one) => Number.parseFloat(one)));
    context.stroke(shape);
    if (element.getAttribute("marker-end")) paintTip(context, element, stroke);
  }
}

/** The arrow head at the end of a path, where SVG has a marker. */
function paintTip(context: CanvasRenderingContext2D, element: Element, colour: string): void {
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", element.getAttribute("d") ?? "");
  const length = path.getTotalLength();
  const [end, before] = [path.getPointAtLength(length), path.getPointAtLength(length - 4)];
  context.translate(end.x, end.y);
  context.rotate(Math.atan2(end.y - before.y, end.x - before.x));
  context.setLineDash([]);
  context.fillStyle = colour;
  context.fill(new Path2D("M0 0L-8 -3.5V3.5Z"));
}

function paintText(context: CanvasRenderingContext2D, element: Element): void {
  const family = element.getAttribute("font-family") ?? "sans-serif";
  const size = number(element, "font-size") || 12;
  context.font = `${element.getAttribute("font-weight") ?? "400"} ${size}px ${family}`;
  const anchor = element.getAttribute("text-anchor");
  context.textAlign = anchor === "middle" ? "center" : anchor === "end" ? "right" : "left";
  const [x, y, text] = [number(element, "x"), number(element, "y"), element.textContent ?? ""];
  const stroke = element.getAttribute("stroke") ?? "none";
  if (stroke !== "none" && number(element, "stroke-width") > 0) {
    context.lineJoin = "round";
    context.strokeStyle = stroke;
    context.lineWidth = number(element, "stroke-width");
    context.strokeText(text, x, y);
  }
  context.fillStyle = element.getAttribute("fill") ?? "black";
  context.fillText(text, x, y);
}
