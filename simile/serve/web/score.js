// SPDX-License-Identifier: Apache-2.0
// The score of a hit as one bar, whose parts are meaning and words, and how it was made.
import { el } from "./dom.js";

// `like`: a score whose size says how many digits are worth telling.
export function number(score, like = 1) {
  if (typeof score !== "number") return "–";
  const digits = Math.abs(like) >= 10 ? 1 : Math.abs(like) >= 0.1 ? 3 : 4;
  return score.toFixed(digits).replace("-", "−");
}

function bar(parts, full) {
  return el("span", { className: "score-bar", "aria-hidden": "true" }, ...parts.map(([name, score]) => {
    const piece = el("i", { className: name });
    piece.style.setProperty("--part", full > 0 ? Math.max(0, Math.min(1, score / full)) : 0);
    return piece;
  }));
}

const row = (head, ...cells) => el("tr", {}, el("th", { scope: "row" }, head), ...cells.map((cell) => el("td", {}, cell)));
const table = (caption, heads, rows) => el("table", {}, el("caption", { className: "unseen" }, caption),
  el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", { scope: "col" }, head)))), el("tbody", {}, ...rows));

// A hit's similarity, the words it shares with the query, and what both give.
function explain({ score, vector_score, lexical_score, explanation: made }) {
  const both = vector_score !== undefined || lexical_score !== undefined;
  const [similarity, words] = both ? [vector_score, lexical_score] : [score, score];
  const parts = [];
  if (both || made?.vector_part !== undefined) {
    parts.push(row(el("span", { className: "sign meaning" }, "Meaning"), `similarity ${number(similarity)}`, number(made?.vector_part)));
  }
  if (both || made?.word_part !== undefined) {
    parts.push(row(el("span", { className: "sign words" }, "Words"), `BM25 ${number(words, Math.max(words, 1))}`, number(made?.word_part, score)));
  }
  if (parts.length === 0) parts.push(row(el("span", { className: "sign meaning" }, "Meaning"), "similarity", number(score)));
  if (parts.length > 1) parts.push(row("Score", "", number(score)));
  const inWords = made?.words ?? [];
  return [table("Parts of the score", ["Part", "By", "Gives"], parts),
    ...(inWords.length === 0 ? [] : [table("Words of the query", ["Word", "In this text", "Documents with it", "BM25"], inWords.map((one) =>
      row(one.word, one.in_document.toLocaleString("en"), one.documents.toLocaleString("en"), number(one.score))))]),
    ...(made ? [el("p", { className: "hint" }, "Score = ", el("code", {}, made.how))] : [])];
}

// A button with the bar and the figure, and the panel that it opens.
export function scoreOf(hit, fullScore, id) {
  const { vector_part: meaning, word_part: words } = hit.explanation ?? {};
  const parts = meaning === undefined && words === undefined ? [["meaning", hit.score]]
    : [["meaning", meaning ?? 0], ["words", words ?? 0]];
  const panel = el("div", { className: "why", id, hidden: true });
  const opener = el("button", { type: "button", className: "score", "aria-expanded": "false", "aria-controls": id, title: "How the score was made" },
    bar(parts, fullScore), el("span", { className: "unseen" }, "Score "), number(hit.score, fullScore));
  opener.addEventListener("click", () => {
    panel.hidden = !panel.hidden;
    opener.setAttribute("aria-expanded", !panel.hidden);
    if (panel.childElementCount === 0) panel.append(...explain(hit));
  });
  return { opener, panel };
}
