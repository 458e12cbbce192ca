// SPDX-License-Identifier: Apache-2.0
// Filters beside the hits: how many documents have which values of the metadata, and a range for numbers. What is chosen
// stands in the address (in.area=billing, range.year=1990..2020) and goes to the server as a filter (docs/search.md).
import { byId, el, shortened } from "./dom.js";
import { ask } from "./http.js";
import { rangeOf, rangeSlider } from "./range.js";

const kMostColumns = 12;
const kRead = 100;        // documents that tell which columns there are
const kValues = 1000;     // that are told apart
const kFirst = 8;         // values that are shown at first
const kFewNumbers = 8;    // that are chosen like names; more have a range
const kWord = /^[^\s(),=!<>'"]+$/;
const kKept = new Set(["and", "or", "not", "in", "exists"]);

const panel = byId("facets");
const place = byId("facet-list");
let columns = [];           // { name, values: [{ value, count }], range: see rangeOf(), or null }
let chosen = new Map();     // column to values as texts
let ranges = new Map();     // column to [from, to], either of which may be null
let unfolded = new Set();   // columns of which all values are shown
let changed = () => {};

const quoted = (text) => `'${text.replaceAll("'", "''")}'`;
const word = (text) => (kWord.test(text) && !kKept.has(text.toLowerCase()) ? text : quoted(text));

// Each filter that is chosen, by its column.
function terms() {
  const all = new Map([...chosen].map(([name, values]) => [name, `${word(name)} in (${[...values].map(word).join(", ")})`]));
  for (const [name, [from, to]] of ranges) {
    const ends = [...(from === null ? [] : [`${word(name)} >= ${from}`]), ...(to === null ? [] : [`${word(name)} <= ${to}`])];
    all.set(name, ends.join(" and "));
  }
  return all;
}

// All filters as one, with one that was written; without that of a column.
function filterOf(written, without) {
  const parts = [...terms()].filter(([name]) => name !== without).map(([, term]) => term);
  if (written === "" || parts.length === 0) return written || parts.join(" and ");
  return [`(${written})`, ...parts].join(" and ");
}

const asked = ({ name, range }) => (range ? `${name}:${range.bounds.join()}` : name);

function change(edit) {
  edit();
  for (const map of [chosen, ranges]) for (const [name, values] of map) if ((values.size ?? 1) === 0) map.delete(name);
  changed();
}

function toggle(name, value) {
  change(() => {
    const values = chosen.get(name) ?? new Set();
    if (!values.delete(value)) values.add(value);
    chosen.set(name, values);
  });
}

function valueBox(name, { value }, count) {
  const text = String(value);
  const box = el("input", { type: "checkbox", checked: chosen.get(name)?.has(text) ?? false });
  box.dataset.facet = `${name}=${text}`;
  box.addEventListener("change", () => toggle(name, text));
  return el("li", { className: count === 0 ? "none" : "" }, el("label", {}, box, el("span", { className: "value", dir: "auto" }, text),
    el("span", { className: "many" }, (count ?? "").toLocaleString("en"))));
}

function valueList(column, counts) {
  const { name, values } = column;
  const found = counts && new Map(counts.values.map(({ value, count }) => [String(value), count]));
  const missing = counts?.more_values ? undefined : 0;
  const all = unfolded.has(name) || values.length <= kFirst + 1;
  const shown = values.filter(({ value }, i) => all || i < kFirst || chosen.get(name)?.has(String(value)));
  const list = el("ul", {}, ...shown.map((one) => valueBox(name, one, found ? found.get(String(one.value)) ?? missing : one.count)));
  if (values.length <= kFirst + 1) return [list];
  const more = el("button", { type: "button", className: "quiet small", "aria-expanded": String(all) },
    all ? "Fewer" : `All ${values.length.toLocaleString("en")}`);
  more.dataset.facet = `${name} unfold`;
  more.addEventListener("click", () => {
    if (!unfolded.delete(name)) unfolded.add(name);
    show(last);
  });
  return [list, more];
}

let last = null;  // the counts that are shown

// `counts`: of columns, as the server gives them; null: of all documents. The control that has the focus keeps it.
function show(counts) {
  last = counts;
  panel.hidden = columns.length === 0;
  const focused = place.contains(document.activeElement) ? document.activeElement.dataset.facet : null;
  place.replaceChildren(...columns.map((column) => {
    const of = counts?.find((one) => one.column === column.name);
    const set = (range) => change(() => (range ? ranges.set(column.name, range) : ranges.delete(column.name)));
    return el("fieldset", { className: "facet" }, el("legend", {}, shortened(column.name)),
      ...(column.range ? rangeSlider(column.name, column.range, ranges.get(column.name), of, set) : valueList(column, of)));
  }));
  const number = [...chosen.values()].reduce((sum, values) => sum + values.size, 0) + ranges.size;
  byId("facets-chosen").textContent = number > 0 ? `${number} chosen` : "";
  if (focused) [...place.querySelectorAll("[data-facet]")].find((one) => one.dataset.facet === focused)?.focus();
}

const written = ([from, to]) => `${from ?? ""}..${to ?? ""}`;
const number = (text) => (text === "" || !Number.isFinite(Number(text)) ? null : Number(text));

export const facets = {
  // Asks the server once which columns there are; returns the documents that told.
  async learn(signal) {
    const { answer: { documents } } = await ask(`documents?limit=${kRead}`, undefined, signal);
    const names = [...new Set(documents.flatMap(({ metadata }) => Object.keys(metadata ?? {})))]
      .filter((name) => !name.includes(":")).slice(0, kMostColumns);
    columns = [];
    if (names.length > 0) {
      const query = new URLSearchParams([["limit", "0"], ["facet_values", kValues], ...names.map((name) => ["facets", name])]);
      const { answer } = await ask(`documents?${query}`, undefined, signal);
      for (const counts of answer.facets) {
        const { column: name, values, more_values } = counts;
        const numbers = values.every(({ value }) => typeof value === "number") && values.length > kFewNumbers;
        const names = values.length > 2 * kFirst && values[0].count === 1;  // each document has another one
        if (numbers) columns.push({ name, values, range: await rangeOf(counts, signal) });
        else if (!names && values.length > 0) columns.push({ name, values: more_values ? values.slice(0, 100) : values, range: null });
      }
    }
    return documents;
  },
  onChange(call) { changed = call; },
  read(parameters) {
    chosen = new Map();
    ranges = new Map();
    for (const [key, value] of parameters) {
      const [, kind, name] = key.match(/^(in|range)\.(.+)$/s) ?? [];
      if (kind === "in") chosen.set(name, (chosen.get(name) ?? new Set()).add(value));
      const ends = kind === "range" ? value.split("..").map(number) : [];
      if (ends.some((end) => end !== null)) ranges.set(name, [ends[0], ends[1] ?? null]);
    }
  },
  // The part of the address.
  state: () => [...[...chosen].flatMap(([name, values]) => [...values].map((value) => [`in.${name}`, value])),
    ...[...ranges].map(([name, ends]) => [`range.${name}`, written(ends)])],
  filter: (written) => filterOf(written),
  // What to count with a search, and apart from it: a column where something is chosen is counted as if nothing were.
  wanted: () => columns.filter(({ name }) => !terms().has(name)).map(asked),
  apart: (written) => columns.filter(({ name }) => terms().has(name)).map((column) =>
    ({ facets: [asked(column)], filter: filterOf(written, column.name) })),
  example: () => columns.slice(0, 2).map(({ name, values, range }) =>
    (range ? `${word(name)} >= ${range.bounds[0]}` : `${word(name)} = ${word(String(values[0].value))}`)).join(" and "),
  choose: (name, value) => chosen.get(name)?.has(String(value)) || toggle(name, String(value)),
  // A button for each that is chosen, which takes it back.
  chips() {
    const chip = (words, undo) => el("button", { type: "button", className: "chip", "aria-label": `Without ${words}`,
      onclick: () => change(undo) }, shortened(words), el("span", { "aria-hidden": "true" }, " ×"));
    return [...[...chosen].flatMap(([name, values]) => [...values].map((value) => chip(`${name}: ${value}`, () => values.delete(value)))),
      ...[...ranges].map(([name, [from, to]]) => chip(`${name}: ${from === null ? "up" : from} to ${to ?? "the most"}`, () => ranges.delete(name)))];
  },
  show,
};
