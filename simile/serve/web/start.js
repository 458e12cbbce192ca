// SPDX-License-Identifier: Apache-2.0
// What the search shows before anything was asked: what is in the index, and questions to begin with.
import { el, linkTo } from "./dom.js";
import { ask } from "./http.js";

const kExamples = 5;
const kWords = 14;     // of an example that is made of a text
const kBefore = "simile.asked";
const kMostBefore = 5;

const asked = () => JSON.parse(sessionStorage.getItem(kBefore) ?? "[]");

// Keeps a query in this tab until it is closed.
export function remember(text) {
  sessionStorage.setItem(kBefore, JSON.stringify([text, ...asked().filter((other) => other !== text)].slice(0, kMostBefore)));
}

// The beginning of a text, up to where its first thought ends.
const beginning = (text) => text.split(/[.:;?!\n]/, 1)[0].split(/\s+/).slice(0, kWords).join(" ");

async function examplesOf(documents, signal) {
  const spread = documents.filter((_, i) => i % Math.max(1, Math.floor(documents.length / kExamples)) === 0).slice(0, kExamples);
  const texts = await Promise.all(spread.map(async ({ id, title }) =>
    title || beginning((await ask(`documents/${encodeURIComponent(id)}`, undefined, signal)).answer.text)));
  return [...new Set(texts.filter((text) => text !== ""))];
}

const questions = (title, texts) => (texts.length === 0 ? [] : [el("h2", {}, title),
  el("ul", { className: "examples" }, ...texts.map((text) => el("li", {}, el("a", { href: linkTo("search", { q: text }), dir: "auto" }, text))))]);

// `documents`: some of the index.
export async function showStart(place, { documents: count, dimensions, model_id, similarity }, documents, signal) {
  const figures = [[count.toLocaleString("en"), "documents"], [dimensions.toLocaleString("en"), `numbers a vector, by ${similarity}`],
    [model_id, "is the model"]];
  const examples = await examplesOf(documents, signal);
  place.replaceChildren(
    el("ul", { className: "figures", "aria-label": "The index" }, ...figures.map(([figure, words]) =>
      el("li", {}, el("strong", {}, figure), ` ${words}`))),
    ...questions("Asked before", asked()), ...questions("Try one of these", examples),
    el("p", { className: "options" }, el("a", { className: "chip", href: linkTo("search", { all: "1" }) }, "All documents"),
      el("a", { className: "chip", href: "#/map" }, "See them on the map")));
  place.hidden = count === 0;
}
