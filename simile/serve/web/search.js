// SPDX-License-Identifier: Apache-2.0
// The view that searches the index: by a query, by a document (more like this), or all documents that pass the filters.
import { byId, copiesLink, el, goTo, linkTo, milliseconds, plural } from "./dom.js";
import { facets } from "./facets.js";
import { showHit } from "./hit.js";
import { ask, Asking } from "./http.js";
import { wordsToMark } from "./marking.js";
import { showPages } from "./pages.js";
import { remember, showStart } from "./start.js";

const kModes = {
  hybrid: ["Both", "Meaning and words together"],
  vector: ["Meaning", "By the vectors of the model"],
  lexical: ["Words", "By the words of the query"],
};
const kMostHits = 1000;  // that the server counts pages over

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
let first = null;  // documents of the index, once its columns are known

const mode = () => modes.querySelector("input:checked")?.value;

function countOf(parameters) {
  const n = parameters.get("n") ?? "10";
  return [...count.options].some((option) => option.value === n) ? n : "10";
}

// The state of what is in the fields; a new query is asked for in place of a document.
function state() {
  const chosen = mode();
  const text = query.value.trim();
  const only = filter.value.trim();
  const kept = asked?.like && (text === "" || text === asked.text) ? [["like", asked.like]] : [["q", text]];
  return [...kept, ...(asked?.all && text === "" && !asked.like ? [["all", "1"]] : []), ...(only ? [["filter", only]] : []), ...facets.state(), ...(count.value !== "10" ? [["n", count.value]] : []),
    ...(chosen && chosen !== server.search_modes?.[0] ? [["mode", chosen]] : [])];
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

function tell({ found, all, warnings, ms, serverMs }) {
  const time = milliseconds(ms);
  const inside = serverMs === null ? "" : ` (${serverMs < 1 ? "less than 1" : serverMs} in the server)`;
  const why = (warnings ?? []).map((warning) => `; ${warning}`).join("");
  const begin = (asked.page - 1) * asked.count;
  const some = asked.text || asked.like ? "hit" : "document";
  const range = `${begin + 1} to ${begin + found.length}`;
  const many = all === undefined && asked.page > 1 ? `Hits ${range}` : !(all > found.length) ? plural(found.length, some, `${some}s`)
    : `${asked.cursor ? "" : `${range} of `}${plural(all, some, `${some}s`)}`;
  status.textContent = found.length === 0 ? `Nothing found${filterNow() === "" ? "" : " among the documents that pass the filter"}, ${time}${why}`
    : `${many} in ${time}${inside}`;
}

// Shares of 1 fill a bar at 1; other scores are seen beside the best.
const fullScore = ([{ score }]) => (score > 0.1 && score <= 1 ? 1 : score);

// Shows a filter's error beside the filter.
function showFilterProblem(error) {
  filterProblem.textContent = error?.detail ?? "";
  filterProblem.hidden = !error;
  filter.toggleAttribute("aria-invalid", Boolean(error));
  if (error) {
    filter.setAttribute("aria-invalid", "true");
    byId("filter-part").open = true;
  }
}

const filterNow = () => facets.filter(asked.only);
const blamesFilter = (error) => asked.only !== "" && [400, 422].includes(error.status) && /filter|metadata/i.test(error.detail);

// A page of documents that pass the filters, in the form of a search's answer.
async function list(signal) {
  const query = new URLSearchParams([["limit", asked.count], ["text", "true"], ["count", "true"],
    ...(filterNow() ? [["filter", filterNow()]] : []), ...(asked.cursor ? [["cursor", asked.cursor]] : [])]);
  const { answer, ...times } = await ask(`documents?${query}`, undefined, signal);
  return { found: answer.documents, all: answer.count, cursor: answer.cursor, ...times };
}

// By a document the server counts nothing, and explains nothing.
async function find(signal) {
  const offset = (asked.page - 1) * asked.count;
  const explain = asked.mode !== "vector" && (server.search_modes ?? []).includes("hybrid");
  const body = { ...(asked.like ? { like: asked.like } : { query: asked.text, count: true, ...(explain && { explain }) }),
    ...(asked.mode && { mode: asked.mode }), ...(filterNow() && { filter: filterNow() }),
    top_k: Math.min(asked.count, kMostHits - offset), ...(offset > 0 && { offset }) };
  const { answer, ...times } = await ask("search", body, signal);
  const [{ hits: found, count: all }] = answer.results;
  return { found, all: asked.like ? undefined : all ?? found.length, warnings: answer.warnings, ...times };
}

// Only a search by words counts other documents than those that pass the filters.
async function countOne({ facets: counted, filter }, signal) {
  if (asked.text !== "" && asked.mode === "lexical") {
    const body = { query: asked.text, mode: asked.mode, top_k: 1, text: false, facets: counted, ...(filter && { filter }) };
    return (await ask("search", body, signal)).answer.results[0].facets ?? [];
  }
  const query = new URLSearchParams([["limit", "0"], ...counted.map((facet) => ["facets", facet]), ...(filter ? [["filter", filter]] : [])]);
  return (await ask(`documents?${query}`, undefined, signal)).answer.facets;
}

async function countFacets(signal) {
  const parts = [{ facets: facets.wanted(), filter: filterNow() }, ...facets.apart(asked.only)];
  return (await Promise.all(parts.filter((part) => part.facets.length > 0).map((part) => countOne(part, signal)))).flat();
}

function showFound(reply) {
  const words = asked.text ? wordsToMark(asked.text) : [];
  const searched = asked.text !== "" || asked.like;
  hits.replaceChildren(...reply.found.map((hit, i) => showHit(hit, words, searched ? fullScore(reply.found) : null, i, facets.choose)));
  tell(reply);
  const more = reply.found.length === asked.count && asked.page * asked.count < kMostHits;  // where not all are counted
  const last = asked.text ? Math.ceil(Math.min(reply.all, kMostHits) / asked.count) : asked.like ? asked.page + (more ? 1 : 0) : 1;
  const to = (more) => linkTo("search", [...state(), ...more]);
  showPages(byId("pages"), { page: asked.page, last, to: (page) => to(page > 1 ? [["page", page]] : []),
    next: reply.cursor && to([["cursor", reply.cursor]]) });
}

async function showLike(signal) {
  const { answer } = await ask(`documents/${encodeURIComponent(asked.like)}`, undefined, signal);
  const name = answer.title || answer.id;
  byId("like").replaceChildren("Documents like ", el("a", { href: linkTo("document", { id: answer.id }) }, name), " ",
    el("a", { className: "chip", href: linkTo("search", {}), "aria-label": `Without ${name}` }, "×"));
}

function search() {
  if (asked === null) return;
  asking.stop();
  showFilterProblem(null);
  share(false);
  byId("like").hidden = !asked.like;
  if (server.documents === undefined && asked.text === "" && !asked.like) return clear(true);
  const starts = asked.text === "" && !asked.like && filterNow() === "" && !asked.all;
  asking.run(async (signal) => {
    if (first === null && server.documents !== undefined) first = await facets.learn(signal);
    filter.placeholder = facets.example();
    byId("chips").replaceChildren(...facets.chips());
    const counts = countFacets(signal);
    counts.catch(() => {});  // told below
    if (starts) {
      clear();
      await showStart(byId("start"), server, first, signal);
    } else {
      const [reply] = await Promise.all([asked.text || asked.like ? find(signal) : list(signal), asked.like && showLike(signal)]);
      byId("start").hidden = true;
      showFound(reply);
      if (asked.text) remember(asked.text);
      share(true);
    }
    hits.removeAttribute("aria-busy");
    facets.show(await counts);
  }, (error) => {
    status.textContent = "";
    hits.replaceChildren();
    byId("pages").hidden = true;
    byId("start").hidden = true;
    if (!blamesFilter(error)) return true;
    showFilterProblem(error);
    facets.show(null);
    return false;
  }, search);
}

function clear(without = false) {
  hits.replaceChildren();
  hits.removeAttribute("aria-busy");
  byId("pages").hidden = true;
  byId("facets").hidden ||= without;
  status.textContent = without ? "This server has no index to search: start it with --index DIR. Compare works without one."
    : `${plural(server.documents, "document", "documents")} to search.`;
}

function submit(event) {
  event?.preventDefault();
  if (event && matchMedia("(pointer: coarse)").matches) query.blur();  // the keyboard would cover the hits
  goTo("search", state(), search);
}

// From hit to hit, within it, and back to the query.
function move(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const all = [...hits.querySelectorAll(".hit")];
  const at = all.indexOf(event.target.closest(".hit"));
  const inside = at < 0 ? [] : [...all[at].querySelectorAll("a, button")];
  const beside = (far) => (inside[inside.indexOf(event.target) + far] ?? all[at])?.focus();
  const moves = {
    ArrowDown: () => all[at + 1]?.focus(),
    ArrowUp: () => (at > 0 ? all[at - 1] : query).focus(),
    ArrowRight: () => beside(1),
    ArrowLeft: () => beside(-1),
    Home: () => all[0]?.focus(),
    End: () => all.at(-1)?.focus(),
    Escape: () => query.focus(),
    Enter: () => (all[at].querySelector("button.whole") ?? inside[0])?.click(),
  };
  if (!(event.key in moves) || (event.key === "Enter" && event.target.closest("button, a"))) return;
  event.preventDefault();
  moves[event.key]();
}

const wide = matchMedia("(min-width: 60rem)");
const openFacets = () => { byId("facets").open = wide.matches; };
wide.addEventListener("change", openFacets);
openFacets();
byId("search-form").addEventListener("submit", submit);
filter.addEventListener("change", () => showFilterProblem(null));
filter.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  if (filter.value === "") query.focus();
  filter.value = "";
});
const again = () => (asked?.text || asked?.like || asked?.all || query.value.trim()) && submit();
count.addEventListener("change", again);
modes.addEventListener("change", again);
facets.onChange(submit);
hits.addEventListener("keydown", move);
query.addEventListener("keydown", (event) => {
  const first = hits.querySelector(".hit");
  if (event.key !== "ArrowDown" || !first) return;
  event.preventDefault();
  first.focus();
});

export const searchView = {
  title: () => (asked?.text ? `${asked.text} · Simile` : asked?.like ? `Like ${asked.like} · Simile` : "Simile"),
  learn(info) {
    server = info;
    first = null;
    showModes();
    byId("filter-part").hidden = info.documents === undefined;
  },
  fill(parameters) {
    query.value = parameters.get("q") ?? "";
    filter.value = parameters.get("filter") ?? "";
    byId("filter-part").open ||= filter.value !== "";
    count.value = countOf(parameters);
  },
  show(parameters) {
    const wanted = parameters.get("mode") ?? server.search_modes?.[0];
    for (const input of modes.querySelectorAll("input")) input.checked = input.value === wanted;
    facets.read(parameters);
    const [text, before] = [(parameters.get("q") ?? "").trim(), asked];
    const most = Math.floor(kMostHits / Number(countOf(parameters)));
    const page = Math.min(most, Math.max(1, Math.floor(Number(parameters.get("page"))) || 1));
    asked = { text, like: text === "" ? parameters.get("like") : null, only: (parameters.get("filter") ?? "").trim(),
      count: Number(countOf(parameters)), page, cursor: parameters.get("cursor"), all: parameters.get("all") === "1", mode: mode() };
    if (before && (before.page !== page || before.cursor !== asked.cursor)) window.scrollTo(0, 0);
    search();
  },
  focus: () => query.select(),
};
