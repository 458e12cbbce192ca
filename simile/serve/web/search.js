// SPDX-License-Identifier: Apache-2.0
// The view that searches the index.
import { byId, copiesLink, el, goTo, milliseconds, plural } from "./dom.js";
import { showHit } from "./hit.js";
import { ask, Asking } from "./http.js";
import { wordsToMark } from "./marking.js";

const kModes = {
  hybrid: ["Both", "Meaning and words together"],
  vector: ["Meaning", "By the vectors of the model"],
  lexical: ["Words", "By the words of the query"],
};

const query = byId("query");
const count = byId("count");
const filter = byId("filter");
const filterProblem = byId("filter-problem");
const modes = byId("modes");
const status = byId("search-status");
const hits = byId("hits");
const share = copiesLink(byId("share"));
const asking = new Asking("search", hits);
let server = {};
let asked = null;  // what for, by the address, whatever is being typed; null: the server is not known yet

const mode = () => modes.querySelector("input:checked")?.value;

function countOf(parameters) {
  const n = parameters.get("n") ?? "10";
  return [...count.options].some((option) => option.value === n) ? n : "10";
}

function state() {
  const chosen = mode();
  const usual = server.search_modes?.[0];
  const only = filter.value.trim();
  return { q: query.value.trim(), ...(only && { filter: only }), ...(count.value !== "10" && { n: count.value }),
    ...(chosen && chosen !== usual && { mode: chosen }) };
}

function showModes() {
  const known = (server.search_modes ?? []).filter((name) => name in kModes);
  modes.hidden = known.length < 2;
  modes.replaceChildren(modes.firstElementChild, ...(modes.hidden ? [] : known).map((name, i) => {
    const [label, title] = kModes[name];
    return el("label", { title }, el("input", { type: "radio", name: "mode", value: name, checked: i === 0 }),
      el("span", {}, label));
  }));
}

function tell({ answer, ms, serverMs }, found) {
  const time = milliseconds(ms);
  const inside = serverMs === null ? "" : ` (${serverMs < 1 ? "less than 1" : serverMs} in the server)`;
  const among = asked.only === "" ? "" : " among the documents that pass the filter";
  const why = (answer.warnings ?? []).map((warning) => `; ${warning}`).join("");
  status.textContent = found === 0 ? `Nothing found${among}, ${time}${why}` : `${plural(found, "hit", "hits")} in ${time}${inside}`;
}

// Cosines fill a bar at 1; other scores are seen beside the best.
function fullScore(found) {
  const cosines = server.similarity === "cosine" && !("lexical_score" in found[0]);
  return cosines ? 1 : found[0].score;
}

// Shows a filter's error beside the filter.
function showFilterProblem(error) {
  filterProblem.textContent = error?.detail ?? "";
  filterProblem.hidden = !error;
  filter.toggleAttribute("aria-invalid", Boolean(error));
  if (error) filter.setAttribute("aria-invalid", "true");
}

const blamesFilter = (error) => asked.only !== "" && [400, 422].includes(error.status) && /filter/i.test(error.detail);

// To what there is already, if anything.
function narrow(more) {
  const before = filter.value.trim();
  if (before.includes(more)) return;
  filter.value = before === "" ? more : / or /i.test(before) ? `(${before}) and ${more}` : `${before} and ${more}`;
  submit();
}

function search() {
  if (asked === null) return;
  asking.stop();
  showFilterProblem(null);
  const { text, only, mode: chosen } = asked;
  share(false);
  if (text === "") return showNothing();
  asking.run(async (signal) => {
    const body = { query: text, top_k: asked.count, ...(chosen && { mode: chosen }), ...(only && { filter: only }) };
    const reply = await ask("search", body, signal);
    const found = reply.answer.results[0].hits;
    const words = wordsToMark(text);
    hits.replaceChildren(...found.map((hit, i) => showHit(hit, words, fullScore(found), i, narrow)));
    tell(reply, found.length);
    share(true);
  }, (error) => {
    status.textContent = "";
    hits.replaceChildren();
    if (!blamesFilter(error)) return true;
    showFilterProblem(error);
    return false;
  }, search);
}

function showNothing() {
  hits.replaceChildren();
  hits.removeAttribute("aria-busy");
  status.textContent = server.documents === undefined
    ? "This server has no index to search: start it with --index DIR. Compare works without one."
    : `${plural(server.documents, "document", "documents")} to search.`;
}

function submit(event) {
  event?.preventDefault();
  if (matchMedia("(pointer: coarse)").matches) query.blur();  // the keyboard would cover the hits
  goTo("search", state(), search);
}

// From hit to hit, and back to the query.
function move(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const all = [...hits.querySelectorAll(".hit")];
  const at = all.indexOf(event.target.closest(".hit"));
  const button = at < 0 ? null : all[at].querySelector("button.small");
  const moves = {
    ArrowDown: () => all[at + 1]?.focus(),
    ArrowUp: () => (at > 0 ? all[at - 1] : query).focus(),
    Home: () => all[0]?.focus(),
    End: () => all.at(-1)?.focus(),
    Escape: () => query.focus(),
    Enter: () => button?.click(),
  };
  if (!(event.key in moves) || (event.key === "Enter" && event.target.closest("button"))) return;
  event.preventDefault();
  moves[event.key]();
}

byId("search-form").addEventListener("submit", submit);
filter.addEventListener("change", () => showFilterProblem(null));
filter.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  if (filter.value === "") query.focus();
  filter.value = "";
});
count.addEventListener("change", () => query.value.trim() && submit());
modes.addEventListener("change", () => query.value.trim() && submit());
hits.addEventListener("keydown", move);
query.addEventListener("keydown", (event) => {
  const first = hits.querySelector(".hit");
  if (event.key !== "ArrowDown" || !first) return;
  event.preventDefault();
  first.focus();
});

export const searchView = {
  title: () => (asked?.text ? `${asked.text} · Simile` : "Simile"),
  learn(info) {
    server = info;
    showModes();
    filter.parentElement.hidden = info.documents === undefined;
  },
  fill(parameters) {
    query.value = parameters.get("q") ?? "";
    filter.value = parameters.get("filter") ?? "";
    count.value = countOf(parameters);
  },
  show(parameters) {
    const wanted = parameters.get("mode") ?? server.search_modes?.[0];
    for (const input of modes.querySelectorAll("input")) input.checked = input.value === wanted;
    const text = (parameters.get("q") ?? "").trim();
    asked = { text, only: (parameters.get("filter") ?? "").trim(), count: Number(countOf(parameters)), mode: mode() };
    search();
  },
  focus: () => query.select(),
};
