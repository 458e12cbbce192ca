// SPDX-License-Identifier: Apache-2.0
// Colours of documents by a key of their metadata, and what they mean.
import { byId, el, plural } from "./dom.js";

const kColours = 8;       // --c0 to --c7
const kMostKeys = 50;
const kFewNumbers = 8;    // that are told apart like names; more become a scale
const kMostNames = 40;    // of the legend

const choice = byId("map-colour");
const legend = byId("map-colours");

const valueOf = (point, key) => point.metadata?.[key];
const show = (value) => (typeof value === "number" ? value.toLocaleString("en", { useGrouping: false, maximumFractionDigits: 4 })
  : String(value));

function countBy(points, key) {
  const counts = new Map();
  for (const point of points) {
    const value = valueOf(point, key);
    if (value !== undefined) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return counts;
}

function sign(colour, words) {
  const mark = el("i", { "aria-hidden": "true" });
  mark.style.background = colour;
  return el("li", {}, mark, words);
}

const channels = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));

// The colours of the page as they are now.
function palette() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim();
  const names = Array.from({ length: kColours }, (_, i) => read(`--c${i}`));
  const [low, high] = [channels(read("--ramp-low")), channels(read("--ramp-high"))];
  return { names, other: read("--faint"), ink: read("--ink"),
    scale: (part) => `rgb(${low.map((from, i) => Math.round(from + (high[i] - from) * part)).join(" ")})` };
}

// Numbers from low to high.
function byScale(points, key, counts) {
  const numbers = [...counts.keys()];
  const [least, most] = [Math.min(...numbers), Math.max(...numbers)];
  const bar = el("li", { className: "scale" }, show(least), el("span", { "aria-hidden": "true" }), show(most));
  const without = points.length - [...counts.values()].reduce((sum, count) => sum + count, 0);
  legend.replaceChildren(bar, ...(without > 0 ? [sign("var(--faint)", `none (${without})`)] : []));
  return (colours, value) => (typeof value === "number" ? colours.scale((value - least) / (most - least)) : colours.other);
}

// The most frequent values have a colour each. A click on some shows these alone.
function byValue(points, key, counts, redraw) {
  const order = [...counts].sort((a, b) => b[1] - a[1]).slice(0, kMostNames);
  const own = counts.size > kColours ? kColours - 1 : kColours;
  const places = new Map(order.slice(0, own).map(([value], i) => [value, i]));
  const shown = order.reduce((sum, [, count]) => sum + count, 0);
  const others = [...counts.values()].reduce((sum, count) => sum + count, 0) - shown;
  const without = points.length - shown - others;
  const only = new Set();
  const choose = (value, { currentTarget: button }) => {
    if (!only.delete(value)) only.add(value);
    button.setAttribute("aria-pressed", only.has(value));
    redraw();
  };
  legend.replaceChildren(...order.map(([value, count], i) => {
    const item = sign(i < own ? `var(--c${i})` : "var(--faint)", "");
    const button = el("button", { type: "button", "aria-pressed": "false", onclick: (event) => choose(value, event) },
      ...item.childNodes, `${show(value)} (${count})`);
    item.replaceChildren(button);
    return item;
  }), ...(others > 0 ? [sign("var(--faint)", `${plural(counts.size - order.length, "other value", "other values")} (${others})`)] : []),
  ...(without > 0 ? [sign("var(--faint)", `none (${without})`)] : []));
  return (colours, value) => {
    if (only.size > 0 && !only.has(value)) return null;
    return places.has(value) ? colours.names[places.get(value)] : only.size > 0 ? colours.ink : colours.other;
  };
}

// Offers the keys that some of these points has, in the order in which they come, and `wanted` if it is one of them.
export function offerColours(points, wanted) {
  const keys = [...new Set(points.flatMap(({ metadata }) => Object.keys(metadata ?? {})))].slice(0, kMostKeys);
  choice.replaceChildren(el("option", { value: "" }, "none"), ...keys.map((key) => el("option", { value: key }, key)));
  choice.value = keys.includes(wanted) ? wanted : "";
  choice.parentElement.hidden = keys.length === 0;
}

// Returns a function that reads the page's colours and returns one that gives a point's colour;
// null: all points have the same; the colour null: it is not wanted. Writes the legend, whose buttons call `redraw`.
export function colouring(points, redraw) {
  const key = choice.value;
  legend.hidden = key === "";
  if (key === "") return null;
  const counts = countBy(points, key);
  const numbers = [...counts.keys()].every((value) => typeof value === "number") && counts.size > kFewNumbers;
  legend.setAttribute("aria-label", `Colours by ${key}`);
  const pick = (numbers ? byScale : byValue)(points, key, counts, redraw);
  return () => {
    const colours = palette();
    return (point) => pick(colours, valueOf(point, key));
  };
}
