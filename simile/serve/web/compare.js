// SPDX-License-Identifier: Apache-2.0
// The view that compares texts with each other.
import { byId, canCopy, copiesLink, linkTo } from "./dom.js";
import { showHeat } from "./heat.js";
import { clearProblem, showProblem } from "./problem.js";
import { similarities } from "./similarity.js";

const kMostTexts = 40;
const kExample = ["How do I reset my password?", "I forgot how to log in", "Change the colours of the calendar",
  "Make my calendar look different", "The train to Ghent leaves at nine"];

const texts = byId("texts");
const status = byId("compare-status");
const problem = byId("compare-problem");
const heat = byId("heat");
const cell = byId("heat-cell");
const share = byId("compare-share");
let most = 32;  // texts of one request
let asking = null;

const lines = () => texts.value.split("\n").map((line) => line.trim()).filter((line) => line !== "");

function clear(words) {
  heat.replaceChildren();
  cell.textContent = "";
  status.textContent = words;
}

async function compare() {
  asking?.abort();
  clearProblem(problem);
  share.hidden = true;
  const given = lines();
  if (given.length === 0) return clear("");
  if (given.length === 1) return clear("One more text, and they can be compared.");
  if (given.length > kMostTexts) return clear(`At most ${kMostTexts} texts at a time; these are ${given.length}.`);
  const mine = asking = new AbortController();
  heat.setAttribute("aria-busy", "true");
  try {
    const { cosines, ms } = await similarities(given, most, mine.signal);
    clear(`${given.length} texts in ${Math.max(1, Math.round(ms))} ms. Cosine similarity: 1 is the same.`);
    showHeat(heat, cell, given, cosines);
    share.hidden = !canCopy();
  } catch (error) {
    if (error.name === "AbortError") return;
    clear("");
    showProblem(problem, error, compare);
  } finally {
    if (asking === mine) heat.removeAttribute("aria-busy");
  }
}

function submit(event) {
  event?.preventDefault();
  const link = linkTo("compare", lines().map((line) => ["t", line]));
  if (link === location.hash) compare();
  else location.hash = link;  // show() follows
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
copiesLink(share);

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
