// SPDX-License-Identifier: Apache-2.0
// A range of numbers that is chosen by two sliders, under a histogram of the documents that have them.
import { el } from "./dom.js";
import { ask } from "./http.js";

const kBars = 20;
const kSteps = 100;  // of the slider, where not all numbers are whole
const kPowers = [-3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((power) => 10 ** power);

const tell = (value) => String(Number(value.toPrecision(6))).replace("-", "−");

// Where there are too many numbers to list, the powers of ten around them are the ends.
async function endsOf(counts, signal) {
  const numbers = counts.values.map(({ value }) => value);
  if (!counts.more_values) return [Math.min(...numbers), Math.max(...numbers)];
  const bounds = [...kPowers.map((power) => -power).reverse(), 0, ...kPowers];
  const query = new URLSearchParams([["limit", "0"], ["facets", `${counts.column}:${bounds.join()}`]]);
  const { answer } = await ask(`documents?${query}`, undefined, signal);
  const held = answer.facets[0].values.filter(({ count }) => count > 0);
  return [held[0].from ?? -Number.MAX_SAFE_INTEGER, held.at(-1).to ?? Number.MAX_SAFE_INTEGER];
}

// The ends of a column's values, the step of the sliders, and the bounds of the histogram's bars.
export async function rangeOf(counts, signal) {
  const [least, most] = await endsOf(counts, signal);
  const whole = counts.values.every(({ value }) => Number.isInteger(value));
  const step = whole ? Math.max(1, Math.round((most - least) / 1000)) : (most - least) / kSteps;
  const wide = whole ? Math.ceil((most - least + 1) / kBars) : (most - least) / kBars;
  const bars = whole ? Math.ceil((most - least + 1) / wide) : kBars;
  const bounds = Array.from({ length: bars }, (_, i) => Number((least + i * wide).toPrecision(12)));
  return { least, most, step, bounds };
}

// `counts`: documents below the first bound, from each bound on. `set`: called with [from, to], null for an end that does
// not limit, or with null.
export function rangeSlider(name, { least, most, step }, chosen, counts, set) {
  const bars = counts?.values.slice(1).map(({ count }) => count) ?? [];
  const highest = Math.max(1, ...bars);
  const picture = el("div", { className: "histogram", "aria-hidden": "true" }, ...bars.map((count) => {
    const bar = el("i", {});
    bar.style.setProperty("--part", count / highest);
    return bar;
  }));
  const ends = [chosen?.[0] ?? least, chosen?.[1] ?? most];
  const said = el("output", {});
  const sliders = ["least", "most"].map((end, i) => {
    const slider = el("input", { type: "range", min: least, max: most, step: "any", "aria-label": `${name}, the ${end}` });
    slider.step = step;
    slider.value = ends[i];
    slider.dataset.facet = `${name} ${end}`;
    return slider;
  });
  const track = el("div", { className: "range" }, ...sliders);
  const read = () => sliders.map((slider) => Number(Number(slider.value).toPrecision(6))).sort((a, b) => a - b);
  const fill = () => {
    const parts = read().map((value) => (value - least) / (most - least || 1));
    parts.forEach((part, i) => track.style.setProperty(["--from", "--to"][i], part));
    const [from, to] = read();
    said.textContent = `${tell(from)} to ${tell(to)}`;
    sliders.forEach((slider) => slider.setAttribute("aria-valuetext", tell(Number(slider.value))));
    return [from, to];
  };
  fill();
  said.textContent = `${tell(ends[0])} to ${tell(ends[1])}`;  // where the sliders have no such step
  track.addEventListener("input", fill);
  track.addEventListener("change", () => {
    const [from, to] = fill();
    const limits = [from <= least ? null : from, to > most - step ? null : to];
    set(limits.some((limit) => limit !== null) ? limits : null);
  });
  return [picture, track, said];
}
