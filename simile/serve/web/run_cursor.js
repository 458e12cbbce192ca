// SPDX-License-Identifier: Apache-2.0
// The plots of a report under the pointer: the values of all of them at its step, and the steps that it is drawn over.
import { el } from "./dom.js";

const kDrawn = 6;  // pixels from which on it was drawn
const points = new WeakMap();  // of a line, as they are drawn

// What report/plot.cpp says of an axis: its values at both ends, and where these are.
function axisOf(plot, name) {
  const [low, high, begin, end] = plot.dataset[name].split(" ").map(Number);
  return { begin, end, place: (value) => begin + (value - low) / (high - low) * (end - begin),
    value: (place) => low + (place - begin) / (end - begin) * (high - low) };
}

function pointsOf(line) {
  if (!points.has(line)) points.set(line, line.getAttribute("points").split(" ").map((pair) => pair.split(",").map(Number)));
  return points.get(line);
}

function stepAt(plot, { clientX }) {
  const { left, width } = plot.getBoundingClientRect();
  const x = axisOf(plot, "x");
  const place = (clientX - left) / width * plot.viewBox.baseVal.width;
  return Math.round(x.value(Math.min(x.end, Math.max(x.begin, place))));
}

function clear(root) {
  for (const mark of root.querySelectorAll(".at-pointer")) mark.remove();
}

function showValues(plot, step) {
  const x = axisOf(plot, "x"), y = axisOf(plot, "y"), place = x.place(step);
  const values = [...plot.querySelectorAll("polyline")].map((line) => {
    const near = (best, point) => (Math.abs(point[0] - place) < Math.abs(best[0] - place) ? point : best);
    return `${line.previousElementSibling.textContent} ${Number(y.value(pointsOf(line).reduce(near)[1]).toPrecision(4))}`;
  });
  const mark = document.createElementNS(plot.namespaceURI, "path");
  mark.setAttribute("class", "mark at-pointer");
  mark.setAttribute("d", `M${place} ${y.begin}V${y.end}`);
  plot.append(mark);
  plot.previousElementSibling.append(el("small", { className: "at-pointer" }, ` at ${step}: ${values.join(", ")}`));
}

// Calls `draw(first, last)` with the steps drawn over, and `draw(0, 0)` for a double click.
export function watchPlots(root, draw) {
  let begun = null;
  const plotOf = ({ target }) => target.closest("svg[data-x]");
  root.addEventListener("pointermove", (event) => {
    clear(root);
    const plot = plotOf(event);
    if (plot) for (const other of root.querySelectorAll("svg[data-x]")) showValues(other, stepAt(plot, event));
  });
  root.addEventListener("pointerdown", (event) => { begun = plotOf(event) && { plot: plotOf(event), event }; });
  root.addEventListener("pointerup", (event) => {
    if (!begun?.plot.isConnected || Math.abs(event.clientX - begun.event.clientX) < kDrawn) return;
    const steps = [begun.event, event].map((end) => stepAt(begun.plot, end));
    if (steps[0] !== steps[1]) draw(Math.min(...steps), Math.max(...steps));
  });
  root.addEventListener("dblclick", (event) => plotOf(event) && draw(0, 0));
}
