// SPDX-License-Identifier: Apache-2.0
// The metadata of a document: shown, and as a filter (docs/search.md).
import { el } from "./dom.js";

const kWord = /^[^\s(),=!<>'"]+$/;
const kKept = new Set(["and", "or", "not", "in"]);
const kLongest = 60;  // characters that are shown of a value

const quoted = (text) => `'${text.replaceAll("'", "''")}'`;
const column = (key) => (kWord.test(key) && !kKept.has(key.toLowerCase()) ? key : quoted(key));

// `key = value`, which this document passes.
export function filterBy(key, value) {
  return `${column(key)} = ${typeof value === "string" ? quoted(value) : value}`;
}

const shortened = (text) => (text.length > kLongest ? `${text.slice(0, kLongest)}…` : text);

// A list of keys and values, null where there are none. With `choose` each is a button that calls it with its filter.
export function showMetadata(metadata, choose) {
  const entries = Object.entries(metadata ?? {});
  if (entries.length === 0) return null;
  return el("ul", { className: "metadata", "aria-label": "Metadata" }, ...entries.map(([key, value]) => {
    const words = [el("span", { className: "of" }, key), shortened(String(value))];
    if (!choose) return el("li", {}, ...words);
    const filter = filterBy(key, value);
    return el("li", {}, el("button", { type: "button", className: "tag", title: `Only ${filter}`, onclick: () => choose(filter) },
      ...words));
  }));
}
