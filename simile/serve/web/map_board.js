// SPDX-License-Identifier: Apache-2.0
// The map that is looked at and gone through: with a pointer, or by keys.
import { byId, el } from "./dom.js";
import { body, showMetadata } from "./hit.js";
import { Camera, drawMap } from "./map_picture.js";

const kClick = 5;      // pixels that a click may move
const kReach = 14;     // pixels from a point that still mean it
const kMotion = 220;   // ms
const kStep = 1.5;     // of the zoom by keys and buttons
const kTipText = 160;  // characters

const frame = byId("map-frame");
const canvas = byId("map-canvas");
const tip = byId("map-tip");
const said = byId("map-at");  // for those who do not see it
const camera = new Camera();
let points = [];
let query = null;
let current = null;  // the point that is looked at
let chosen = null;   // the one that was opened
let opened = () => {};
let colours = null;  // see colouring() of map_colours.js
let topics = [];     // see topicsOf()
let motion = 0;

export const nameOf = ({ id, title, passage }) => `${title || id}${passage ? `, passage ${passage.number + 1} of ${passage.of}` : ""}`;
const title = (point) => (point.rank ? `${point.rank}. ${nameOf(point)}` : nameOf(point));
const short = (text) => (text.length > kTipText ? `${text.slice(0, kTipText)}…` : text);

function draw() {
  if (canvas.clientWidth === 0) return;
  Object.assign(camera, { width: canvas.clientWidth, height: canvas.clientHeight });
  drawMap(canvas, camera, points, query, new Set([chosen, current].filter(Boolean)), colours?.(), topics);
  placeTip();
}

function placeTip() {
  tip.hidden = current === null;
  if (tip.hidden) return;
  tip.replaceChildren(el("strong", {}, title(current)), el("span", { dir: "auto" }, short(body(current))),
    showMetadata(current.metadata) ?? "");
  const [x, y] = camera.toScreen(current);
  const left = Math.max(6, Math.min(camera.width - tip.offsetWidth - 6, x - tip.offsetWidth / 2));
  const above = y - tip.offsetHeight - 16;
  const top = above > 6 ? above : Math.min(y + 16, camera.height - tip.offsetHeight - 6);
  tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
}

function look(point) {
  if (point === current) return;
  current = point;
  draw();
}

// The nearest to these pixels, hits first, or null.
function pointAt(x, y) {
  let best = null;
  let least = kReach;
  for (const point of points) {
    const [left, top] = camera.toScreen(point);
    const distance = Math.hypot(left - x, top - y) - (point.rank ? 6 : 0);
    if (distance < least) [best, least] = [point, distance];
  }
  return best;
}

// Goes there in steps, unless no motion is wanted.
function moveTo(place) {
  cancelAnimationFrame(motion);
  const begin = performance.now();
  const from = camera.place;
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const step = (now) => {
    const part = still ? 1 : Math.min(1, Math.max(0, now - begin) / kMotion);
    const eased = 1 - (1 - part) ** 3;
    for (const key of Object.keys(place)) camera[key] = from[key] + (place[key] - from[key]) * eased;
    draw();
    if (part < 1) motion = requestAnimationFrame(step);
  };
  step(begin);
}

function zoomBy(factor) {
  const from = camera.place;
  const at = current ? camera.toScreen(current) : [camera.width / 2, camera.height / 2];
  camera.zoomAt(factor, ...at);
  const to = camera.place;
  Object.assign(camera, from);
  moveTo(to);
}

// By keys: the current point is announced and brought into view.
function goTo(point) {
  if (!point) return;
  current = point;
  said.textContent = `${title(point)}: ${short(body(point))}`;
  const [x, y] = camera.toScreen(point);
  const seen = x > 20 && y > 20 && x < camera.width - 20 && y < camera.height - 20;
  if (seen) draw();
  else moveTo({ x: point.x, y: point.y });
}

// The next point in a direction: near, and not too far aside.
function next(right, up) {
  let best = null;
  let least = Infinity;
  for (const point of points) {
    const [x, y] = [point.x - current.x, point.y - current.y];
    const along = x * right + y * up;
    const aside = Math.abs(x * up - y * right);
    if (point === current || along <= 0 || aside > 2 * along) continue;
    const cost = along + 2 * aside;
    if (cost < least) [best, least] = [point, cost];
  }
  return best;
}

const hits = () => points.filter((point) => point.rank).sort((a, b) => a.rank - b.rank);

function first() {
  const middle = (point) => Math.hypot(point.x - camera.x, point.y - camera.y);
  return hits()[0] ?? points.reduce((best, point) => (best && middle(best) <= middle(point) ? best : point), null);
}

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || points.length === 0) return;
  const from = (right, up) => () => goTo(current ? next(right, up) : first());
  const presses = {
    ArrowRight: from(1, 0), ArrowLeft: from(-1, 0), ArrowUp: from(0, 1), ArrowDown: from(0, -1),
    Home: () => goTo(first()),
    Enter: () => current && opened(current), " ": () => current && opened(current),
    "+": () => zoomBy(kStep), "=": () => zoomBy(kStep), "-": () => zoomBy(1 / kStep), 0: () => moveTo(camera.whole),
  };
  if (!(event.key in presses)) return;
  event.preventDefault();
  presses[event.key]();
}

// Wheel, drag and pinch.
// `to`: the handlers: hover(x, y), leave(), click(x, y), pan(right, down), zoom(factor, x, y).
function followGestures(canvas, to) {
  const down = new Map();  // pointer to its place
  let moved = 0;
  const place = (event) => [event.offsetX, event.offsetY];

  function span() {
    const [[ax, ay], [bx, by]] = [...down.values()];
    return { size: Math.max(1, Math.hypot(ax - bx, ay - by)), x: (ax + bx) / 2, y: (ay + by) / 2 };
  }

  function drag(event) {
    const [x, y] = place(event);
    const [oldX, oldY] = down.get(event.pointerId);
    moved += Math.hypot(x - oldX, y - oldY);
    if (down.size === 1) {
      down.set(event.pointerId, [x, y]);
      if (moved > kClick) to.pan(x - oldX, y - oldY);
    } else if (down.size === 2) {
      const before = span();
      down.set(event.pointerId, [x, y]);
      const after = span();
      to.pan(after.x - before.x, after.y - before.y);
      to.zoom(after.size / before.size, after.x, after.y);
    }
  }

  function lift(event) {
    const known = down.delete(event.pointerId);
    if (!known || down.size > 0) return;
    if (event.type === "pointerup" && moved <= kClick) to.click(...place(event));
    canvas.classList.remove("dragged");
  }

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    if (down.size === 0) moved = 0;
    else moved = Infinity;  // two fingers click nothing
    down.set(event.pointerId, place(event));
    canvas.setPointerCapture(event.pointerId);
    canvas.classList.add("dragged");
  });
  canvas.addEventListener("pointermove", (event) => {
    if (down.has(event.pointerId)) drag(event);
    else if (event.pointerType === "mouse") to.hover(...place(event));
  });
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
  canvas.addEventListener("pointerleave", () => to.leave());
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 20 : 1;
    to.zoom(Math.exp(-Math.max(-120, Math.min(120, event.deltaY * lines)) / 300), ...place(event));
  }, { passive: false });
}

canvas.addEventListener("keydown", press);
canvas.addEventListener("focus", () => {
  if (canvas.matches(":focus-visible") && current === null) goTo(first());
});
canvas.addEventListener("blur", () => look(null));
byId("map-in").addEventListener("click", () => zoomBy(kStep));
byId("map-out").addEventListener("click", () => zoomBy(1 / kStep));
byId("map-fit").addEventListener("click", () => moveTo(camera.whole));
followGestures(canvas, {
  hover: (x, y) => {
    const point = pointAt(x, y);
    canvas.classList.toggle("over", point !== null);
    look(point);
  },
  leave: () => document.activeElement === canvas || look(null),
  click: (x, y) => {
    const point = pointAt(x, y);
    look(point);
    if (point) opened(point);
  },
  pan: (right, down) => { camera.pan(right, down); draw(); },
  zoom: (factor, x, y) => { cancelAnimationFrame(motion); camera.zoomAt(factor, x, y); draw(); },
});
new ResizeObserver(draw).observe(frame);
for (const choice of ["(prefers-color-scheme: dark)", "(forced-colors: active)"]) matchMedia(choice).addEventListener("change", draw);

export const board = {
  // `open`: called with the point that is clicked.
  onOpen(open) { opened = open; },
  // `asked`: the place of the query, or null.
  show(shown, asked, label) {
    [points, query, current, chosen] = [shown, asked, null, null];
    canvas.setAttribute("aria-label", label);
    camera.frame(asked ? [...shown, asked] : shown);
    moveTo(camera.whole);
  },
  // Sets the function that colours documents.
  colour(by) {
    colours = by;
    draw();
  },
  // The words to write on it.
  tell(words) {
    topics = words;
    draw();
  },
  redraw: draw,
  // `point` keeps a ring; null: none does.
  choose(point) {
    chosen = point;
    draw();
  },
  look,
  bring: goTo,
};
