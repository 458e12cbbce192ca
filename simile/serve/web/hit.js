// SPDX-License-Identifier: Apache-2.0
// One hit of a search, and the metadata of a document: shown, and as a filter (docs/search.md).
import { el } from "./dom.js";
import { markText } from "./marking.js";

// `like`: a score whose size says how many digits are worth telling.
function number(score, like = 1) {
  if (typeof score !== "number") return "–";
  const digits = Math.abs(like) >= 10 ? 1 : Math.abs(like) >= 0.1 ? 3 : 4;
  return score.toFixed(digits).replace("-", "−");
}

function part(name, score, title) {
  return el("span", { className: `part ${name}`, title }, `${name} ${number(score, Math.max(score, 1))}`);
}

function scores(hit, fullScore) {
  const bar = el("span", { className: "score-bar", "aria-hidden": "true" });
  bar.style.setProperty("--part", Math.max(0, Math.min(1, fullScore > 0 ? hit.score / fullScore : 0)));
  const all = el("p", { className: "scores" }, bar,
    el("span", { className: "score", title: "Score" }, el("span", { className: "unseen" }, "Score "),
      number(hit.score, fullScore)));
  if ("vector_score" in hit || "lexical_score" in hit) {
    all.append(part("meaning", hit.vector_score, "Score of the vectors"),
      part("words", hit.lexical_score, "Score of the words"));
  }
  return all;
}

// The text without its title, which is shown above it.
const body = ({ title, text = "" }) => (title && text.startsWith(`${title} `) ? text.slice(title.length + 1) : text);

// `fullScore`: the one that fills the bar. `choose`: called with a filter by a value of its metadata.
export function showHit(hit, words, fullScore, place, choose) {
  const title = hit.title || hit.id;
  const head = el("h2", { id: `hit-${place}` }, title);
  const passage = el("p", { className: "passage", dir: "auto" });
  const { nodes, cut } = markText(body(hit), words, false);
  passage.append(...nodes);
  const article = el("article", { className: "hit", tabIndex: 0 }, el("div", { className: "hit-head" }, head), passage);
  article.setAttribute("aria-labelledby", head.id);
  if (hit.title) head.after(el("code", { className: "id" }, hit.id));
  article.firstChild.append(scores(hit, fullScore));
  const metadata = showMetadata(hit.metadata, choose);
  if (metadata) article.append(metadata);
  if (cut) article.append(wholeTextButton(hit, words, passage));
  return el("li", {}, article);
}

function wholeTextButton(hit, words, passage) {
  const button = el("button", { type: "button", className: "quiet small", "aria-expanded": "false" }, "Whole text");
  button.addEventListener("click", () => {
    const whole = button.getAttribute("aria-expanded") !== "true";
    passage.replaceChildren(...markText(body(hit), words, whole).nodes);
    button.setAttribute("aria-expanded", whole);
    button.textContent = whole ? "Passage only" : "Whole text";
  });
  return button;
}

const kWord = /^[^\s(),=!<>'"]+$/;
const kKept = new Set(["and", "or", "not", "in", "exists"]);
const kLongest = 60;  // characters that are shown of a value

const quoted = (text) => `'${text.replaceAll("'", "''")}'`;
const column = (key) => (kWord.test(key) && !kKept.has(key.toLowerCase()) ? key : quoted(key));

// `key = value`, which this document passes.
const filterBy = (key, value) => `${column(key)} = ${typeof value === "string" ? quoted(value) : value}`;

const shortened = (text) => (text.length > kLongest ? `${text.slice(0, kLongest)}…` : text);

// A list of keys and values, null where there are none. With `choose` each is a button that calls it with its filter.
export function showMetadata(metadata, choose) {
  const entries = Object.entries(metadata ?? {}).flatMap(([key, values]) => [values].flat().map((value) => [key, value]));
  if (entries.length === 0) return null;
  return el("ul", { className: "metadata", "aria-label": "Metadata" }, ...entries.map(([key, value]) => {
    const words = [el("span", { className: "of" }, key), shortened(String(value))];
    if (!choose) return el("li", {}, ...words);
    const filter = filterBy(key, value);
    return el("li", {}, el("button", { type: "button", className: "tag", title: `Only ${filter}`, onclick: () => choose(filter) },
      ...words));
  }));
}
