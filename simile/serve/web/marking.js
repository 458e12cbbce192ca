// SPDX-License-Identifier: Apache-2.0
// Finds the words of a query in a text, and the passage that has most of them.
import { el } from "./dom.js";

const kCommon = new Set(("a about am an and are as at be been but by can could did do does for from get had has have " +
  "how i if in into is it its me my of on or our so than that the their them then there they this to us was we what " +
  "when where which who why will with would you your").split(" "));
const kPassage = 380;  // characters
const kLead = 60;      // of them before the first marked word
const kMostRead = 100000;

const segmenter = typeof Intl.Segmenter === "function" ? new Intl.Segmenter(undefined, { granularity: "word" }) : null;
// Through capitals, so that ß is ss and both small sigmas are one.
const fold = (word) => word.normalize("NFKD").replace(/[\p{M}\p{Default_Ignorable_Code_Point}]/gu, "").toUpperCase().toLowerCase();

function wordsOf(text) {
  const pieces = segmenter
    ? Array.from(segmenter.segment(text)).filter((piece) => piece.isWordLike)
    : Array.from(text.matchAll(/[\p{L}\p{N}\p{M}]+/gu), (found) => ({ segment: found[0], index: found.index }));
  return pieces.map(({ segment, index }) => ({ word: fold(segment), begin: index, end: index + segment.length }));
}

// The words to mark: all but the commonest, unless there are no others.
export function wordsToMark(query) {
  const words = [...new Set(wordsOf(query).map(({ word }) => word))];
  const rare = words.filter((word) => !kCommon.has(word));
  return rare.length > 0 ? rare : words;
}

// The words of a text that tell what it is about, each once.
export const rareWords = (text) => [...new Set(wordsOf(text).map(({ word }) => word))]
  .filter((word) => word.length > 2 && !kCommon.has(word) && !/^\p{N}+$/u.test(word));

// The same word, or a form of it with another ending.
export function isForm(word, asked) {
  const [short, long] = word.length < asked.length ? [word, asked] : [asked, word];
  return short === long || (short.length >= 4 && long.length - short.length <= 3 && long.startsWith(short));
}

function findMarks(text, words) {
  const marks = [];
  for (const { word, begin, end } of wordsOf(text.slice(0, kMostRead))) {
    const asked = words.findIndex((other) => isForm(word, other));
    if (asked >= 0) marks.push({ asked, begin, end });
  }
  return marks;
}

// The mark with which the passage of most different words begins.
function bestStart(marks) {
  let best = { words: 0, begin: 0 };
  for (let i = 0; i < marks.length && i < 2000; ++i) {
    const seen = new Set();
    for (let j = i; j < marks.length && marks[j].end <= marks[i].begin + kPassage - kLead; ++j) seen.add(marks[j].asked);
    if (seen.size > best.words) best = { words: seen.size, begin: marks[i].begin };
  }
  return best.begin;
}

function passageOf(text, marks) {
  if (text.length <= kPassage * 1.2) return [0, text.length];
  let begin = Math.max(0, Math.min(bestStart(marks) - kLead, text.length - kPassage));
  if (begin < kLead) begin = 0;
  const space = begin === 0 ? -1 : text.indexOf(" ", begin);
  if (space >= 0 && space < begin + kLead) begin = space + 1;
  let end = Math.min(text.length, begin + kPassage);
  const last = end < text.length ? text.lastIndexOf(" ", end) : -1;
  if (last > end - kLead) end = last;
  return [begin, end];
}

// Nodes of the text, or of its best passage, with the words marked; `cut`: it is not the whole text.
export function markText(text, words, whole) {
  const marks = findMarks(text, words);
  const [begin, end] = whole ? [0, text.length] : passageOf(text, marks);
  const nodes = [begin > 0 ? "… " : ""];
  let at = begin;
  for (const mark of marks) {
    if (mark.begin < begin || mark.end > end) continue;
    nodes.push(text.slice(at, mark.begin), el("mark", {}, text.slice(mark.begin, mark.end)));
    at = mark.end;
  }
  nodes.push(text.slice(at, end), end < text.length ? " …" : "");
  return { nodes, cut: begin > 0 || end < text.length };
}
