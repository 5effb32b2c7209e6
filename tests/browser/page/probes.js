// Functions that the tests run in the page; `conftest.py` reads them by their names.

// Pairs of texts that cover each other.
const covering = (texts) => {
  const boxes = texts.filter((one) => one.textContent !== "")
    .map((one) => [one.textContent, one.getBoundingClientRect()]);
  return boxes.flatMap(([text, one], at) => boxes.slice(at + 1)
    .filter(([, other]) => one.left < other.right - 1 && other.left < one.right - 1 &&
      one.top < other.bottom - 1 && other.top < one.bottom - 1)
    .map(([other]) => `${text} | ${other}`));
};

// The violations that axe-core finds.
const violations = async () => (await axe.run(document, { resultTypes: ["violations"] })).violations
  .map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html).join(" | ")}`);

// Elements that the page itself never makes.
const foreign = () => [...document.querySelectorAll([
  ...["script", "img", "iframe", "object", "embed", "link", "style", "meta", "base", "video", "b",
      "source", "math", "template", "textarea"],
  ...["onload", "onerror", "onfocus", "onmouseover", "ontoggle", "srcdoc"].map((one) => `[${one}]`),
  "a[href^=javascript]"].map((one) => `main ${one}`).join(","))].map((one) => one.localName);

// Hold back the answers to questions with a part in their address.
const hold = (part) => {
  const real = window.fetch.bind(window);
  window.held = [];
  window.fetch = (path, options = {}) => {
    if (!String(path).includes(part)) return real(path, options);
    // Without its signal: an answer that was nearly there when it was given up comes all the same.
    const { signal, ...rest } = options;
    return new Promise((resolve) => {
      window.held.push(() => real(path, rest).then(async (answer) => {
        const body = await answer.blob();
        resolve(new Response(body, { status: answer.status, headers: answer.headers }));
      }));
    });
  };
};

// Let one of the answers go that are held back.
const go = async (number) => {
  await window.held[number]();
  // Two frames: what follows from the answer has been drawn.
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
};

// Elements whose text is cut off by their own edge.
const cut = () => [...document.querySelectorAll(
    "button, h1, h2, h3, th, td, .tag, .verdict, .legend li, .lane-head, .tree-name, .tree-value")]
  .filter((one) => one.checkVisibility() && one.clientWidth > 0 &&
    (one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 4) &&
    getComputedStyle(one).overflow !== "visible")
  .map((one) => one.textContent.slice(0, 60));

// How much wider the page is than the window.
const beside = () => document.documentElement.scrollWidth - document.documentElement.clientWidth;

// Whether the whole width of the chosen event is in the window.
const inSight = () => {
  const box = document.querySelector(".event.is-chosen").getBoundingClientRect();
  return box.left >= 0 && box.right <= window.innerWidth;
};

// Whether the fields, however many, stay inside of the view.
const scrollsInside = () => {
  const find = document.querySelector(".find");
  const view = document.querySelector("main .view").getBoundingClientRect();
  return find.getBoundingClientRect().bottom <= view.bottom + 1
    && ["auto", "scroll"].includes(getComputedStyle(find).overflowY);
};

// How high the view is.
const seen = () => document.querySelector("main .view").getBoundingClientRect().height;

const overlapping = () => {
  const boxes = [...document.querySelectorAll(".machine .state rect, .machine .move-label")]
    .map((one) => one.getBoundingClientRect());
  let count = 0;
  boxes.forEach((one, at) => boxes.slice(at + 1).forEach((other) => {
    if (one.left < other.right - 1 && other.left < one.right - 1 &&
        one.top < other.bottom - 1 && other.top < one.bottom - 1) count += 1;
  }));
  return count;
};

// Texts that are too small to be read.
const tiny = () => [...document.querySelectorAll("main text, main td, main button, main p, main li")]
  .filter((one) => one.checkVisibility() && one.textContent.trim() !== "")
  .map((one) => [one, one.closest("svg")?.getScreenCTM()?.a ?? 1])
  .filter(([one, scale]) => parseFloat(getComputedStyle(one).fontSize) * scale < 7.5)
  .map(([one]) => one.textContent.slice(0, 60));

// Elements right of the window that no scrolling brings into sight.
const outOfReach = () => {
  const scrolls = (one) => one !== null && (["auto", "scroll"].includes(
    getComputedStyle(one).overflowX) || scrolls(one.parentElement));
  return [...document.querySelectorAll("main td, main th, main button, main p, main svg, main h1")]
    .filter((one) => one.checkVisibility() && !one.closest(".hidden"))
    .filter((one) => one.getBoundingClientRect().right > innerWidth + 1 && !scrolls(one))
    .map((one) => one.textContent.slice(0, 60));
};

// Press `/` and type before anything is drawn; give what the field holds when that was done.
const typedAtOnce = async () => {
  document.dispatchEvent(new KeyboardEvent("keydown", { key: "/", bubbles: true }));
  for (let turn = 0; turn < 100; turn += 1) await null;
  const field = document.activeElement;
  field.value = "x";
  field.dispatchEvent(new InputEvent("input", { bubbles: true }));
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  await new Promise((done) => setTimeout(done));
  return field.value;
};

// Two frames later the page is drawn for the size of its window.
const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));

// Words that are read only by scrolling sideways; drawings and code may be wider.
const outOfSight = () => [...document.querySelectorAll("h1, h2, h3, p, td, summary")]
  .filter((one) => one.checkVisibility())
  .filter((one) => one.getBoundingClientRect().right > innerWidth)
  .map((one) => one.textContent.slice(0, 60));

const small = () => [...document.querySelectorAll("h1, h2, h3, p, td, code, summary")]
  .filter((one) => one.checkVisibility() && parseFloat(getComputedStyle(one).fontSize) < 12)
  .map((one) => one.textContent.slice(0, 60));

// Whether something is drawn in the first two columns of a canvas.
const atTheEdge = (canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, 2, canvas.height);
  return data.some((value) => value > 0);
};

// The part Given of a step ends above the timeline.
const givenIsAbove = () => {
  const given = [...document.querySelectorAll("h3")].find((one) => one.textContent === "Given");
  const timeline = document.querySelector(".timeline");
  return given.getBoundingClientRect().bottom < timeline.getBoundingClientRect().top;
};

const colours = (names) => names.map((name) =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
