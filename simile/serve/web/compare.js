// SPDX-License-Identifier: Apache-2.0
// The view that compares texts with each other: vectors from the server, their cosines here, shown as a heat map.
import { byId, copiesLink, el, goTo, milliseconds } from "./dom.js";
import { ask, Asking } from "./http.js";

const kMostTexts = 40;
const kExample = ["How do I reset my password?", "I forgot how to log in", "Change the colours of the calendar",
  "Make my calendar look different", "The train to Ghent leaves at nine"];

const texts = byId("texts");
const status = byId("compare-status");
const heat = byId("heat");
const told = byId("heat-cell");  // of the cell that is pointed at
const share = copiesLink(byId("compare-share"));
const asking = new Asking("compare", heat);
let most = 32;  // texts of one request

const lines = () => texts.value.split("\n").map((line) => line.trim()).filter((line) => line !== "");

function clear(words) {
  heat.replaceChildren();
  told.textContent = "";
  status.textContent = words;
}

const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

// Cosines [texts][texts], and the milliseconds of the requests.
async function similarities(given, signal) {
  const vectors = [];
  let ms = 0;
  for (let i = 0; i < given.length; i += most) {
    const reply = await ask("embed", { inputs: given.slice(i, i + most), normalize: true }, signal);
    vectors.push(...reply.answer);
    ms += reply.ms;
  }
  return { cosines: vectors.map((a) => vectors.map((b) => dot(a, b))), ms };
}

function compare() {
  asking.stop();
  share(false);
  const given = lines();
  if (given.length === 0) return clear("");
  if (given.length === 1) return clear("One more text, and they can be compared.");
  if (given.length > kMostTexts) return clear(`At most ${kMostTexts} texts at a time; these are ${given.length}.`);
  asking.run(async (signal) => {
    const { cosines, ms } = await similarities(given, signal);
    clear(`${given.length} texts in ${milliseconds(ms)}. Cosine similarity: 1 is the same.`);
    showHeat(given, cosines);
    share(true);
  }, () => clear(""), compare);
}

const shown = (value) => value.toFixed(2).replace("-0.00", "0.00").replace("-", "−");

function rangeOf(values) {
  const others = values.flatMap((row, i) => row.filter((_, j) => j !== i));
  if (values.length < 3) return [0, 1];
  return [Math.floor(Math.min(...others) * 10) / 10, Math.ceil(Math.max(...others) * 10) / 10];
}

function dataCell(value, same, [low, high]) {
  const part = Math.max(0, Math.min(1, (value - low) / Math.max(high - low, 0.1)));
  const cell = el("td", { className: same ? "same" : "", tabIndex: -1 }, shown(value));
  cell.style.setProperty("--heat", `${Math.round(part * 100)}%`);
  return cell;
}

function legend([low, high]) {
  return el("p", { className: "legend", "aria-hidden": "true" }, shown(low), el("span", {}), shown(high));
}

// Colours from the lowest to the highest of two different texts.
function showHeat(given, values) {
  const range = rangeOf(values);
  const heads = given.map((text, i) => el("th", { scope: "col", title: text }, String(i + 1)));
  const rows = values.map((row, i) => el("tr", {},
    el("th", { scope: "row", title: given[i] }, el("span", { className: "nth" }, String(i + 1)),
      el("span", { className: "of", dir: "auto" }, given[i])),
    ...row.map((value, j) => dataCell(value, i === j, range))));
  const table = el("table", {}, el("caption", { className: "unseen" }, "Similarity of each text with each other"),
    el("thead", {}, el("tr", {}, el("td", {}), ...heads)), el("tbody", {}, ...rows));
  follow(table, given, values);
  heat.replaceChildren(el("div", { className: "scroll" }, table), legend(range));
}

// Describes the cell under the pointer in words; arrow keys move from cell to cell.
function follow(table, given, values) {
  const cells = [...table.tBodies[0].rows].map((row) => [...row.cells].slice(1));
  const placeOf = (cell) => [cell.parentNode.sectionRowIndex, cell.cellIndex - 1];
  const tell = (event) => {
    const cell = event.target.closest("tbody td");
    if (!cell) return;
    const [i, j] = placeOf(cell);
    told.textContent = `${shown(values[i][j])}: “${given[i]}” and “${given[j]}”`;
    for (const other of table.querySelectorAll(".at")) other.classList.remove("at");
    for (const head of [table.tHead.rows[0].cells[j + 1], table.tBodies[0].rows[i].cells[0]]) head.classList.add("at");
  };
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  table.addEventListener("keydown", (event) => {
    if (!(event.key in step) || !event.target.closest("tbody td")) return;
    event.preventDefault();
    const [i, j] = placeOf(event.target);
    cells[i + step[event.key][0]]?.[j + step[event.key][1]]?.focus();
  });
  table.addEventListener("focusin", (event) => {
    for (const row of cells) for (const cell of row) cell.tabIndex = cell === event.target ? 0 : -1;
    tell(event);
  });
  table.addEventListener("pointerover", tell);
  cells[0][1].tabIndex = 0;
}

function submit(event) {
  event?.preventDefault();
  goTo("compare", lines().map((line) => ["t", line]), compare);
}

byId("compare-form").addEventListener("submit", submit);
byId("example").addEventListener("click", () => {
  texts.value = kExample.join("\n");
  submit();
});
texts.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event);
});
byId("texts-help").textContent = `2 to ${kMostTexts} texts`;

export const compareView = {
  title: () => "Compare · Simile",
  learn(info) { most = info.max_client_batch_size ?? most; },
  show(parameters) {
    const given = parameters.getAll("t");
    if (given.length > 0 && given.join("\n") !== lines().join("\n")) texts.value = given.join("\n");
    compare();
  },
  focus: () => texts.focus(),
};
