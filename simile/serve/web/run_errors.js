// SPDX-License-Identifier: Apache-2.0
// The examples that a run gets most wrong.
import { byId, el } from "./dom.js";
import { ask } from "./http.js";
import { figure } from "./run_charts.js";
import { clearProblem, showProblem } from "./problem.js";

const part = byId("run-errors");
const choice = byId("run-errors-of");
const list = byId("run-errors-list");
const problem = byId("run-errors-problem");
let asking = null;
let shown = "";  // version of the run that is shown

const percent = (share) => `${Math.round(100 * share)} %`;
const line = (label, text) => (text ? [el("p", { className: "passage", dir: "auto" }, label && el("b", {}, label), label && " ", text)] : []);

const kWords = {
  scores: (worst) => `gold ${figure(worst.gold)}, score ${figure(worst.score)}: higher than ${percent(worst.gold_rank)} of the ` +
    `others by gold, than ${percent(worst.score_rank)} by score`,
  classes: (worst) => `gold ${worst.gold}, predicted ${worst.predicted} with probability ${figure(worst.probability)}`,
  queries: (worst) => `${worst.metric} ${figure(worst.value)}; ` +
    (worst.first_relevant === 0 ? "no relevant document found" : `first relevant document at rank ${worst.first_relevant}`),
};

function showExample(kind, worst) {
  const texts = kind === "queries"
    ? [...line("query", worst.query), ...line("found first", worst.top), ...line("relevant", worst.relevant)]
    : worst.texts.flatMap((text) => line("", text));
  return el("li", {}, el("p", { className: "hint" }, kWords[kind](worst)), ...texts);
}

function showEvaluation({ name, task, kind, worst, examples }, i) {
  const title = el("summary", {}, name || task, el("span", { className: "hint" }, ` ${task}, ${examples.toLocaleString("en")} examples`));
  return el("details", { open: i === 0 }, title, worst.length === 0 ? el("p", { className: "hint" }, "No errors.")
    : el("ol", { className: "errors" }, ...worst.map((each) => showExample(kind, each))));
}

async function show() {
  asking?.abort();
  clearProblem(problem);
  const mine = asking = new AbortController();
  list.setAttribute("aria-busy", "true");
  try {
    const { answer } = await ask(`runs/${encodeURIComponent(choice.value)}/errors`, undefined, mine.signal);
    const parts = answer.evaluations.map(showEvaluation);
    list.replaceChildren(...answer.problems.map((words) => el("p", { className: "filter-problem" }, words)),
      ...(parts.length > 0 || answer.problems.length > 0 ? parts : [el("p", { className: "hint" }, "This run left no predictions.")]));
  } catch (error) {
    if (error.name === "AbortError") return;
    list.replaceChildren();
    showProblem(problem, error, show);
  } finally {
    if (asking === mine) list.removeAttribute("aria-busy");
  }
}

// Those of the finished ones of `runs`, { name, version, finished }, once they are asked for.
export function offerErrors(runs) {
  const finished = runs.filter((run) => run.finished);
  part.hidden = finished.length === 0;
  const before = choice.value;
  choice.replaceChildren(...finished.map(({ name }) => el("option", {}, name)));
  if (finished.some(({ name }) => name === before)) choice.value = before;
  const chosen = finished.find(({ name }) => name === choice.value);
  const version = chosen ? `${chosen.name} ${chosen.version}` : "";
  if (version === shown) return;
  shown = "";
  list.replaceChildren();
  if (part.open && chosen) {
    shown = version;
    show();
  }
}

part.addEventListener("toggle", () => {
  if (part.open && list.childElementCount === 0) show();
});
choice.addEventListener("change", show);
