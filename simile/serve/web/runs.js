// SPDX-License-Identifier: Apache-2.0
// The view of training runs: which there are, and the report of those chosen, also while they go on.
import { byId, copiesLink, el, linkTo, plural } from "./dom.js";
import { showDifferences } from "./differences.js";
import { ask, Asking } from "./http.js";

const kEvery = 4000;      // ms between two looks, and
const kShare = 10;        // times as long as a report takes
const kMostChosen = 8;    // colours
const kManyRuns = 12;     // from which on they are searched
const kErrors = 20;       // of an evaluation
const kDrawn = 6;         // pixels from which on the pointer was drawn

const status = byId("runs-status");
const body = byId("runs-body");
const list = byId("run-list");
const find = byId("run-find");
const all = byId("run-all");
const errors = byId("run-errors");
const smooth = byId("run-smooth");
const differences = byId("run-differences");
const share = copiesLink(byId("runs-share"));
const asking = new Asking("runs", null);
const report = byId("run-report").attachShadow({ mode: "open" });  // its styles are its own
let server = {};
let listing = null;     // the runs that there are
let chosen = [];        // names, in the order of their colours
let steps = [0, 0];     // the first and last one shown; 0: the end
let compared = "";      // the runs whose differences are shown, with their versions
let shown = "";         // the request whose answer is shown, with the runs' versions
let timer = 0;
const points = new WeakMap();  // of a line of a plot, as they are drawn

function ago(seconds) {
  const sizes = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const [size, unit] = sizes.find(([size]) => seconds >= size) ?? sizes.at(-1);
  return `${Math.floor(seconds / size).toLocaleString("en")} ${unit} ago`;
}

function showRun(run) {
  const colour = chosen.indexOf(run.name);
  const box = el("input", { type: "checkbox", checked: colour >= 0, value: run.name });
  box.disabled = colour < 0 && chosen.length >= kMostChosen;
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
  const wanted = listing.runs.filter(({ name }) => chosen.includes(name) || name.toLowerCase().includes(words));
  list.replaceChildren(...wanted.map(showRun));
  for (const box of list.querySelectorAll("input")) if (box.value === focused) box.focus();
}

function tell() {
  const going = listing.runs.filter((run) => !run.finished).length;
  const more = listing.left_out > 0 ? `, and ${listing.left_out.toLocaleString("en")} older ones that are not listed` : "";
  status.textContent = listing.runs.length === 0 ? "There are no runs in this folder yet."
    : `${plural(listing.runs.length, "run", "runs")}${more}${going > 0 ? `, ${going} of them not finished` : ""}`;
  body.hidden = listing.runs.length === 0;
  byId("run-controls").hidden = chosen.length === 0;
  share(chosen.length > 0);
}

// Sections that are as before stay, and of others what was opened stays open.
function putReport(html) {
  const [head, style, rest] = html.split(/<\/?style>/);  // which the page's policy allows as a sheet alone
  if (report.adoptedStyleSheets.length === 0) {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(style);
    report.adoptedStyleSheets = [sheet];
  }
  const page = new DOMParser().parseFromString(head + rest, "text/html");
  const sections = [...page.querySelectorAll("section")].map((section) => {
    const before = report.getElementById(section.id);
    const opened = before?.querySelectorAll("details") ?? [];
    section.querySelectorAll("details").forEach((part, i) => { if (opened[i]) part.open = opened[i].open; });
    return before?.isEqualNode(section) ? before : document.adoptNode(section);
  });
  sections.forEach((section, i) => { if (report.children[i] !== section) report.insertBefore(section, report.children[i] ?? null); });
  while (report.children.length > sections.length) report.lastElementChild.remove();
}

// Those that are finished, again only after a change.
async function compare(signal) {
  const runs = listing.runs.filter(({ name, finished }) => finished && chosen.includes(name));
  const wanted = JSON.stringify([chosen, runs.map(({ name, version }) => [name, version])]);
  if (wanted === compared) return;
  await showDifferences(differences, chosen.filter((name) => runs.some((run) => run.name === name)), signal);
  compared = wanted;
}

// Returns how long the report took.
async function showReport(signal) {
  const request = { runs: chosen, curves: all.checked ? "all" : "main", smooth: Number(smooth.value),
    errors: errors.checked ? kErrors : 0, first_step: steps[0], last_step: steps[1] };
  const versions = listing.runs.filter(({ name }) => chosen.includes(name)).map(({ version }) => version);
  const wanted = JSON.stringify([request, versions]);
  if (wanted === shown) return 0;
  if (chosen.length === 0) {
    report.replaceChildren();
    differences.hidden = true;
    shown = wanted;
    return 0;
  }
  const { answer, ms } = await ask("runs", request, signal);
  putReport(answer);
  await compare(signal);
  shown = wanted;
  return ms;
}

// Fetches the changes since the last look.
async function look(signal) {
  listing = (await ask("runs", undefined, signal)).answer;
  const there = new Set(listing.runs.map(({ name }) => name));
  if (chosen.length === 0 && listing.runs.length > 0 && location.hash.split("?")[1] === undefined) chosen = [listing.runs[0].name];
  chosen = chosen.filter((name) => there.has(name));
  tell();
  showList();
  return showReport(signal);
}

function refresh() {
  clearTimeout(timer);
  asking.stop();
  if (!server.runs) {
    body.hidden = true;
    status.textContent = "This server shows no runs: start it with --runs DIR, the folder that simile train writes to.";
    return;
  }
  asking.run(async (signal) => schedule(await look(signal)), () => { status.textContent = ""; }, refresh);
}

// A hidden page does not poll.
function schedule(ms = 0) {
  clearTimeout(timer);
  timer = setTimeout(() => {
    if (document.hidden || byId("runs").hidden) return schedule();
    refresh();
  }, Math.max(kEvery, kShare * ms));
}

function change() {
  const state = [...chosen.map((name) => ["run", name]), ...(all.checked ? [["all", "1"]] : []), ...(errors.checked ? [["errors", "1"]] : []),
    ...(smooth.value !== "0" ? [["smooth", smooth.value]] : []), ...(steps[1] > 0 ? [["steps", steps.join("-")]] : [])];
  history.replaceState(null, "", linkTo("runs", chosen.length > 0 ? state : { run: "" }));
  refresh();
}

// The plots of the report under the pointer: the values of all of them at its step, and the steps it is drawn over.
// An axis as report/plot.cpp describes it: its values at both ends, and where these are.
function axisOf(plot, name) {
  const [low, high, begin, end] = plot.dataset[name].split(" ").map(Number);
  return { begin, end, place: (value) => begin + (value - low) / (high - low) * (end - begin),
    value: (place) => low + (place - begin) / (end - begin) * (high - low) };
}

function pointsOf(line) {
  if (!points.has(line)) points.set(line, line.getAttribute("points").split(" ").map((pair) => pair.split(",").map(Number)));
  return points.get(line);
}

function stepAt(plot, { clientX }) {
  const { left, width } = plot.getBoundingClientRect();
  const x = axisOf(plot, "x");
  const place = (clientX - left) / width * plot.viewBox.baseVal.width;
  return Math.round(x.value(Math.min(x.end, Math.max(x.begin, place))));
}

// With four digits, zeros at the end too.
const figure = (value) => (Math.abs(value) >= 1e-3 && Math.abs(value) < 1e4 || value === 0 ? value.toPrecision(4) : value.toExponential(2));

function clearPointer(root) {
  for (const mark of root.querySelectorAll(".at-pointer")) mark.remove();
}

function showValues(plot, step) {
  const x = axisOf(plot, "x"), y = axisOf(plot, "y"), place = x.place(step);
  const values = [...plot.querySelectorAll("polyline")].map((line) => {
    const near = (best, point) => (Math.abs(point[0] - place) < Math.abs(best[0] - place) ? point : best);
    return `${line.previousElementSibling.textContent} ${figure(y.value(pointsOf(line).reduce(near)[1]))}`;
  });
  const mark = document.createElementNS(plot.namespaceURI, "path");
  mark.setAttribute("class", "mark at-pointer");
  mark.setAttribute("d", `M${place} ${y.begin}V${y.end}`);
  plot.append(mark);
  plot.previousElementSibling.append(el("small", { className: "at-pointer" }, ` at ${step}: ${values.join(", ")}`));
}

// Calls `draw(first, last)` with the steps drawn over, and `draw(0, 0)` for a double click.
function watchPlots(root, draw) {
  let begun = null;
  const plotOf = ({ target }) => target.closest("svg[data-x]");
  root.addEventListener("pointermove", (event) => {
    clearPointer(root);
    const plot = plotOf(event);
    if (plot) for (const other of root.querySelectorAll("svg[data-x]")) showValues(other, stepAt(plot, event));
  });
  root.addEventListener("pointerdown", (event) => { begun = plotOf(event) && { plot: plotOf(event), event }; });
  root.addEventListener("pointerup", (event) => {
    if (!begun?.plot.isConnected || Math.abs(event.clientX - begun.event.clientX) < kDrawn) return;
    const steps = [begun.event, event].map((end) => stepAt(begun.plot, end));
    if (steps[0] !== steps[1]) draw(Math.min(...steps), Math.max(...steps));
  });
  root.addEventListener("dblclick", (event) => plotOf(event) && draw(0, 0));
}

list.addEventListener("change", ({ target }) => {
  chosen = target.checked ? [...chosen, target.value] : chosen.filter((name) => name !== target.value);
  change();
});
find.addEventListener("input", showList);
for (const control of [all, errors, smooth]) control.addEventListener("change", change);
watchPlots(report, (first, last) => {
  steps = [first, last];
  change();
});

export const runsView = {
  title: () => (chosen.length > 0 ? `${chosen.join(", ")} · Runs · Simile` : "Runs · Simile"),
  learn(info) {
    server = info;
    shown = "";
  },
  show(parameters) {
    chosen = parameters.getAll("run").filter((name) => name !== "").slice(0, kMostChosen);
    all.checked = parameters.get("all") === "1";
    errors.checked = parameters.get("errors") === "1";
    const wanted = parameters.get("smooth") ?? "0";
    smooth.value = [...smooth.options].some((option) => option.value === wanted) ? wanted : "0";
    steps = /^\d+-\d+$/.test(parameters.get("steps")) ? parameters.get("steps").split("-").map(Number) : [0, 0];
    refresh();
  },
  focus: () => list.querySelector("input")?.focus(),
};
