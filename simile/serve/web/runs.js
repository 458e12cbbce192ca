// SPDX-License-Identifier: Apache-2.0
// The view of training runs: which there are, their curves while they go on, results, and worst errors.
import { byId, canCopy, copiesLink, el, linkTo, plural } from "./dom.js";
import { ask } from "./http.js";
import { clearProblem, showProblem } from "./problem.js";
import { figure, showCharts } from "./run_charts.js";
import { offerErrors } from "./run_errors.js";

const kEvery = 4000;      // ms between two looks
const kMostChosen = 8;    // colours
const kManyRuns = 12;     // from which on they are searched
const kMetrics = 4;       // of a report in the table

const status = byId("runs-status");
const problem = byId("runs-problem");
const body = byId("runs-body");
const list = byId("run-list");
const find = byId("run-find");
const all = byId("run-all");
const smooth = byId("run-smooth");
const table = byId("run-results");
const told = byId("run-told");
const share = byId("runs-share");
let server = {};
let listing = null;        // the runs that there are
let chosen = [];           // names, whose places are their colours; null: one that was let go
let details = new Map();   // name to what is known of it
let timer = 0;
let asking = null;

const names = () => chosen.filter((name) => name !== null);

function ago(seconds) {
  const sizes = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const [size, unit] = sizes.find(([size]) => seconds >= size) ?? sizes.at(-1);
  return `${Math.floor(seconds / size).toLocaleString("en")} ${unit} ago`;
}

function choose(name, on) {
  const free = chosen.indexOf(null);
  if (!on) chosen = chosen.map((other) => (other === name ? null : other));
  else if (free >= 0) chosen[free] = name;
  else chosen.push(name);
}

function showRun(run) {
  const colour = chosen.indexOf(run.name);
  const box = el("input", { type: "checkbox", checked: colour >= 0, value: run.name });
  box.disabled = colour < 0 && names().length >= kMostChosen;
  const mark = el("i", { "aria-hidden": "true" });
  if (colour >= 0) mark.style.background = `var(--c${colour})`;
  const state = run.finished ? "finished" : "unfinished";
  return el("li", {}, el("label", {}, box, mark, el("span", { className: "run-name" }, run.name),
    el("span", { className: "hint" }, `${state}, ${ago(run.seconds_ago)}`)));
}

// The box that has the focus keeps it.
function showList() {
  const focused = list.contains(document.activeElement) ? document.activeElement.value : null;
  const words = find.value.trim().toLowerCase();
  byId("run-find-part").hidden = listing.runs.length < kManyRuns;
  const shown = listing.runs.filter(({ name }) => chosen.includes(name) || name.toLowerCase().includes(words));
  list.replaceChildren(...shown.map(showRun));
  for (const box of list.querySelectorAll("input")) if (box.value === focused) box.focus();
}

// Of each evaluation the runs' own models, and beside them the other models of the first run that has it.
function showTable(runs) {
  const groups = new Map();
  for (const { name: run, details: { reports } } of runs) {
    const own = new Set();
    for (const report of reports) {
      const evaluation = report.name || report.task;
      const isOwn = !own.has(evaluation) && Boolean(own.add(evaluation));
      if (!groups.has(evaluation)) groups.set(evaluation, { first: run, rows: [] });
      const { first, rows } = groups.get(evaluation);
      if (isOwn || first === run) rows.push({ label: isOwn ? run : report.model, isOwn, report });
    }
  }
  table.replaceChildren(...[...groups].map(([evaluation, { rows }]) => {
    const metrics = [...new Set(rows.flatMap(({ report }) => Object.keys(report.metrics)))].slice(0, kMetrics);
    const head = el("tr", {}, el("th", { scope: "col" }, evaluation), ...metrics.map((name) => el("th", { scope: "col" }, name)));
    const lines = rows.map(({ label, isOwn, report }) => el("tr", isOwn ? {} : { className: "other" }, el("th", { scope: "row" }, label),
      ...metrics.map((name) => el("td", {}, figure(report.metrics[name])))));
    return el("div", { className: "scroll" }, el("table", {}, el("thead", {}, head), el("tbody", {}, ...lines)));
  }));
}

function showTold(runs) {
  told.replaceChildren(...runs.flatMap(({ name, details: { finished, verdict, causes, problems, steps, missing } }) => {
    const state = `${plural(steps, "step", "steps")}${finished ? "" : " so far"}`;
    const words = [el("p", {}, el("b", {}, name), ` ${verdict || state}`)];
    if (causes.length > 0) words.push(el("p", { className: "hint" }, `Nothing was gained: ${causes.join("; ")}`));
    for (const each of problems) words.push(el("p", { className: "filter-problem" }, `${name}: ${each}`));
    if (missing.includes("metrics.jsonl")) words.push(el("p", { className: "filter-problem" }, `${name}: metrics.jsonl is missing`));
    return words;
  }));
}

async function showChosen() {
  const runs = chosen.map((name, colour) => ({ name, colour, details: details.get(name) })).filter((run) => run.details);
  showTold(runs);
  showTable(runs);
  offerErrors(runs.map((run) => run.details));
  byId("run-controls").hidden = runs.length === 0;
  await showCharts(runs, all.checked, Number(smooth.value));
}

function tell() {
  const going = listing.runs.filter((run) => !run.finished).length;
  const more = listing.left_out > 0 ? `, and ${listing.left_out.toLocaleString("en")} older ones that are not listed` : "";
  status.textContent = listing.runs.length === 0 ? "There are no runs in this folder yet."
    : `${plural(listing.runs.length, "run", "runs")}${more}${going > 0 ? `, ${going} of them not finished` : ""}`;
  body.hidden = listing.runs.length === 0;
  share.hidden = !canCopy() || names().length === 0;
}

// What changed since the last look.
async function look(signal) {
  const { answer } = await ask("runs", undefined, signal);
  listing = answer;
  const there = new Map(listing.runs.map((run) => [run.name, run]));
  if (names().length === 0 && listing.runs.length > 0 && location.hash.split("?")[1] === undefined) chosen = [listing.runs[0].name];
  chosen = chosen.map((name) => (there.has(name) ? name : null));
  for (const name of names()) {
    if (details.get(name)?.version === there.get(name).version) continue;
    const reply = await ask(`runs/${encodeURIComponent(name)}`, undefined, signal);
    details.set(name, reply.answer);
  }
  tell();
  showList();
  await showChosen();
}

async function refresh() {
  clearTimeout(timer);
  asking?.abort();
  clearProblem(problem);
  if (!server.runs) {
    body.hidden = true;
    status.textContent = "This server shows no runs: start it with --runs DIR, the folder that simile train writes to.";
    return;
  }
  const mine = asking = new AbortController();
  try {
    await look(mine.signal);
    schedule();
  } catch (error) {
    if (error.name === "AbortError") return;
    status.textContent = "";
    showProblem(problem, error, refresh);
  }
}

// Only who looks at it asks.
function schedule() {
  clearTimeout(timer);
  timer = setTimeout(() => {
    if (document.hidden || byId("runs").hidden) return schedule();
    refresh();
  }, kEvery);
}

const state = () => [...names().map((name) => ["run", name]), ...(all.checked ? [["all", "1"]] : []),
  ...(smooth.value !== "0" ? [["smooth", smooth.value]] : [])];

function keepState() {
  history.replaceState(null, "", linkTo("runs", names().length > 0 ? state() : { run: "" }));
}

list.addEventListener("change", ({ target }) => {
  choose(target.value, target.checked);
  keepState();
  refresh();
});
find.addEventListener("input", showList);
for (const control of [all, smooth]) {
  control.addEventListener("change", () => {
    keepState();
    showChosen();
  });
}
copiesLink(share);

export const runsView = {
  title: () => (names().length > 0 ? `${names().join(", ")} · Runs · Simile` : "Runs · Simile"),
  learn(info) {
    server = info;
    details = new Map();
  },
  show(parameters) {
    chosen = parameters.getAll("run").filter((name) => name !== "").slice(0, kMostChosen);
    all.checked = parameters.get("all") === "1";
    const wanted = parameters.get("smooth") ?? "0";
    smooth.value = [...smooth.options].some((option) => option.value === wanted) ? wanted : "0";
    refresh();
  },
  focus: () => list.querySelector("input")?.focus(),
};
