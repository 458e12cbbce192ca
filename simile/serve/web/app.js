// SPDX-License-Identifier: Apache-2.0
// The page: which view is shown, what the server is, and the API key.
// The state is the address's part behind #, which browsers do not send: #/search?q=...
import { byId, plural } from "./dom.js";
import { compareView } from "./compare.js";
import { documentView } from "./document.js";
import { ask, clearProblem, key, showProblem } from "./http.js";
import { mapView } from "./map.js";
import { runsView } from "./runs.js";
import { searchView } from "./search.js";

const views = { search: searchView, document: documentView, compare: compareView, map: mapView, runs: runsView };
const notice = byId("notice");
const panel = byId("key-panel");
const opener = byId("key-open");
const filled = { search: "", map: "" };  // what of the address stands in the fields of each view
let ready = false;  // whether the server told what it is
let starting = null;  // who asks it
let usual = "search";  // the view where the address names none

function place() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { name: path in views ? path : usual, parameters: new URLSearchParams(query) };
}

function showView() {
  const { name, parameters } = place();
  for (const other of Object.keys(views)) byId(other).hidden = other !== name;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view !== name) {
      link.removeAttribute("aria-current");
      continue;
    }
    link.setAttribute("aria-current", "page");
    if (location.hash !== "") link.href = location.hash;  // who comes back finds what was left
  }
  fill(name, parameters);
  if (!ready) return;
  views[name].show(parameters);
  document.title = views[name].title();
}

// Keeps text typed since, unless the address has changed.
function fill(name, parameters) {
  if (!(name in filled) || filled[name] === parameters.toString()) return;
  filled[name] = parameters.toString();
  views[name].fill(parameters);
}

async function start() {
  const mine = starting = {};
  clearProblem(notice);
  showView();
  try {
    const { answer } = await ask("info");
    if (mine !== starting) return;
    byId("served").textContent = answer.model_id +
      (answer.documents === undefined ? "" : ` · ${plural(answer.documents, "document", "documents")}`);
    for (const view of Object.values(views)) view.learn(answer);
    byId("runs-link").hidden = !answer.runs;
    usual = answer.runs && answer.documents === undefined ? "runs" : "search";
    ready = true;
    opener.hidden = key.get() === "";
    showKeyPanel(false);
    showView();
    if (document.activeElement === document.body) views[place().name].focus();
  } catch (error) {
    if (mine !== starting) return;
    ready = false;
    showProblem(notice, error, start);
  }
  starting = null;
}

function showKeyPanel(open) {
  panel.hidden = !open;
  opener.setAttribute("aria-expanded", open);
  byId("key-forget").hidden = key.get() === "";
  if (open) byId("key").focus();
}

panel.addEventListener("submit", (event) => {
  event.preventDefault();
  const given = byId("key").value.trim();
  if (!/^[\x21-\x7e]+$/.test(given)) {
    byId("key-help").textContent = "A key is made of letters, digits and signs, without spaces.";
    return;
  }
  byId("key-help").textContent = "Kept in this tab until it is closed.";
  byId("key").value = "";
  key.set(given);
  for (const id of ["search-problem", "document-problem", "compare-problem", "map-problem", "runs-problem"]) clearProblem(byId(id));
  start();
});
byId("key-forget").addEventListener("click", () => {
  key.forget();
  start();
});
opener.addEventListener("click", () => showKeyPanel(panel.hidden));
document.addEventListener("key-needed", () => {
  opener.hidden = false;
  showKeyPanel(true);
});

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input:not([type=checkbox], [type=radio], [type=range]), textarea, select, dialog");
  if (event.key === "?" && !typing) byId("help").showModal();
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  if (place().name !== "search") location.hash = "#/search";
  byId("search").hidden = false;
  searchView.focus();
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  byId("main").focus();
});
byId("help-open").addEventListener("click", () => byId("help").showModal());
window.addEventListener("hashchange", () => (ready || starting ? showView() : start()));
start();
