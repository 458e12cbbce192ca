// SPDX-License-Identifier: Apache-2.0
// A table of similarities as a heat map: colours from the lowest to the highest of two different
// texts, arrows from cell to cell.
import { el } from "./dom.js";

const shown = (value) => value.toFixed(2).replace("-0.00", "0.00").replace("-", "−");

function rangeOf(values) {
  const others = values.flatMap((row, i) => row.filter((_, j) => j !== i));
  if (values.length < 3) return [0, 1];
  return [Math.floor(Math.min(...others) * 10) / 10, Math.ceil(Math.max(...others) * 10) / 10];
}

function dataCell(value, same, [low, high]) {
  const heat = Math.max(0, Math.min(1, (value - low) / Math.max(high - low, 0.1)));
  const cell = el("td", { className: same ? "same" : "", tabIndex: -1 }, shown(value));
  cell.style.setProperty("--heat", `${Math.round(heat * 100)}%`);
  return cell;
}

function legend([low, high]) {
  return el("p", { className: "legend", "aria-hidden": "true" }, shown(low), el("span", {}), shown(high));
}

// Puts the table into `place`; `words` tells of the cell that is pointed at.
export function showHeat(place, words, texts, values) {
  const range = rangeOf(values);
  const heads = texts.map((text, i) => el("th", { scope: "col", title: text }, String(i + 1)));
  const rows = values.map((row, i) => el("tr", {},
    el("th", { scope: "row", title: texts[i] }, el("span", { className: "nth" }, String(i + 1)),
      el("span", { className: "of", dir: "auto" }, texts[i])),
    ...row.map((value, j) => dataCell(value, i === j, range))));
  const table = el("table", {}, el("caption", { className: "unseen" }, "Similarity of each text with each other"),
    el("thead", {}, el("tr", {}, el("td", {}), ...heads)), el("tbody", {}, ...rows));
  follow(table, words, texts, values);
  place.replaceChildren(el("div", { className: "scroll" }, table), legend(range));
}

function follow(table, words, texts, values) {
  const cells = [...table.tBodies[0].rows].map((row) => [...row.cells].slice(1));
  const placeOf = (cell) => [cell.parentNode.sectionRowIndex, cell.cellIndex - 1];
  const tell = (event) => {
    const cell = event.target.closest("tbody td");
    if (!cell) return;
    const [i, j] = placeOf(cell);
    words.textContent = `${shown(values[i][j])}: “${texts[i]}” and “${texts[j]}”`;
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
