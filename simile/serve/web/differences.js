// SPDX-License-Identifier: Apache-2.0
// What each run gains on the first one, in every metric that both have, with the interval of chance.
import { el } from "./dom.js";
import { ask } from "./http.js";

const minus = (text) => text.replace("-", "−");
const figure = (value, isFraction) => minus((isFraction ? 100 * value : value).toFixed(isFraction ? 2 : 4));
const gain = (value, isFraction) => (value > 0 ? "+" : "") + figure(value, isFraction);

// Where the interval lies, from the largest loss to the largest gain of the table.
function picture({ difference, low, high }, widest) {
  const line = el("span", { className: "interval", "aria-hidden": "true" }, el("i", {}), el("b", {}));
  const place = (value) => 0.5 + value / widest / 2;
  for (const [name, value] of [["--low", low], ["--high", high], ["--at", difference]]) line.style.setProperty(name, place(value));
  return line;
}

function row({ name, is_fraction: isFraction, a, b, ...change }, widest) {
  const known = change.low !== undefined;
  const sure = known && (change.low > 0 || change.high < 0);
  const cells = [figure(a, isFraction), figure(b, isFraction), el(sure ? "strong" : "span", {}, gain(change.difference, isFraction)),
    known ? `${gain(change.low, isFraction)} to ${gain(change.high, isFraction)}` : "–", known && isFraction ? picture(change, widest) : ""];
  return el("tr", {}, el("th", { scope: "row" }, name), ...cells.map((cell) => el("td", {}, cell)));
}

function table({ name, examples, metrics }, first, other) {
  const widest = Math.max(1e-9, ...metrics.flatMap(({ is_fraction: isFraction, difference, low = 0, high = 0 }) =>
    (isFraction ? [difference, low, high].map(Math.abs) : [])));
  return el("div", { className: "scroll", tabIndex: 0, role: "group", "aria-label": `${name}: ${other} and ${first}` }, el("table", {},
    el("caption", {}, name, el("small", {}, ` ${examples.toLocaleString("en")} examples`)),
    el("thead", {}, el("tr", {}, el("td", {}), ...[first, other, "Difference", "95 % interval"].map((head) => el("th", { scope: "col" }, head)),
      el("td", {}))), el("tbody", {}, ...metrics.map((metric) => row(metric, widest)))));
}

const words = (error) => [el("p", { className: "hint" }, error.detail ?? String(error.message))];

// Shows it in `place`, for the runs after the first one.
export async function showDifferences(place, [first, ...others], signal) {
  const parts = await Promise.all(others.map(async (other) => {
    const shown = await ask("runs/differences", { a: first, b: other }, signal).then(({ answer }) =>
      [...answer.evaluations.map((one) => table(one, first, other)), ...answer.warnings.map((one) => el("p", { className: "hint" }, one))],
    (error) => {
      if (error.name === "AbortError") throw error;
      return words(error);
    });
    return el("details", { open: others.length === 1 }, el("summary", {}, `${other} − ${first}`), ...shown);
  }));
  place.hidden = parts.length === 0;
  place.replaceChildren(el("h2", {}, "Differences"), el("p", { className: "hint" }, "Fractions × 100. Bold: the interval, over the " +
    "examples, does not hold 0."), ...parts);
}
