// SPDX-License-Identifier: Apache-2.0
// The view that shows documents in a plane, and a query among them.
import { byId, copiesLink, el, goTo, linkTo, milliseconds, plural } from "./dom.js";
import { body as textOf, showMetadata } from "./hit.js";
import { ask, Asking } from "./http.js";
import { board, nameOf } from "./map_board.js";
import { colouring, offerColours } from "./map_colours.js";
import { topicsOf } from "./map_topics.js";

const kLeastDocuments = 12;  // to arrange them by their neighbours
const kNeighbours = 15;      // of each that count then
const kBeginning = 200;  // characters that the server gives of a text of the sample

const query = byId("map-query");
const status = byId("map-status");
const body = byId("map-body");
const note = byId("map-note");
const panel = byId("map-panel");
const list = byId("map-hits");
const share = copiesLink(byId("map-share"));
const asking = new Asking("map", byId("map"));
const colour = byId("map-colour");
const layout = byId("map-layout");
const topics = byId("map-topics");
let server = {};
let known = null;  // the answer that has the sample of a generation
let asked = "";  // the query, by the address, whatever is being typed

// Where documents lie when neighbours are to lie together (UMAP), and a query among them.
let worker = null;
let made = null;  // { sample, places } of the last layout

// Whether there are enough of them.
const canArrange = (documents) => documents >= kLeastDocuments;

// The place of each document of `sample`, which has its neighbours. `tell`: called with the finished part. Earlier
// work for another sample ends without an answer.
function arrange(sample, tell) {
  if (made?.sample === sample) return Promise.resolve(made.places);
  worker?.terminate();
  const most = Math.min(kNeighbours, sample.length - 2);
  return new Promise((resolve, reject) => {
    worker = new Worker(new URL("umap_worker.js", import.meta.url));
    worker.onmessage = ({ data }) => {
      if (!data.places) return tell(data.part);
      worker.terminate();
      made = { sample, places: data.places };
      resolve(data.places);
    };
    worker.onerror = (event) => reject(new Error(event.message || "the layout cannot be made"));
    worker.postMessage({
      near: sample.map(({ near }) => near.slice(0, most)),
      distances: sample.map(({ distances }) => distances.slice(0, most)),
      begin: sample.map(({ x, y }) => [x, y]),
    });
  });
}

// The mean of its neighbours' places; near ones count more.
function placeAmong({ near, distances }, places) {
  if (near.length === 0) return { x: 0, y: 0 };
  const mean = distances.reduce((sum, far) => sum + far, 0) / distances.length;
  const width = Math.max((mean - distances[0]) / 4, 1e-9);
  const weights = distances.map((far) => Math.exp((distances[0] - far) / width));
  const all = weights.reduce((sum, weight) => sum + weight, 0);
  const middle = (axis) => near.reduce((sum, place, i) => sum + weights[i] * places[place][axis], 0) / all;
  return { x: middle("x"), y: middle("y") };
}

const percent = (part) => {
  const value = 100 * part;
  return value > 0 && value < 1 ? "less than 1 %" : `${Math.round(value)} %`;
};

const keyOf = ({ id, passage }) => `${passage?.number ?? 0} ${id}`;

// `places`: of the sample's documents, where they are not those of the plane; what lies beyond the sample is placed
// among its neighbours.
function pointsOf(sample, hits, places) {
  const points = new Map(sample.map((point, i) => [keyOf(point), { ...point, ...places?.[i] }]));
  hits.forEach((hit, i) => {
    const known = points.get(keyOf(hit));
    const place = !places ? {} : known && hit.text.startsWith(known.text) ? { x: known.x, y: known.y } : placeAmong(hit, places);
    points.set(keyOf(hit), { ...hit, ...place, rank: i + 1 });
  });
  return [...points.values()];
}

// So that nobody takes it for more than it is.
function tellLayout(answer) {
  if (layout.value === "umap") {
    return "Documents lie beside those whose vectors are nearest to theirs (UMAP), and a query among the documents " +
      "nearest to it. Documents close together are alike; the distances and sizes of groups mean little.";
  }
  const [first, second] = answer.variance;
  if (first === 0) return "The vectors of these documents do not differ, so they all lie in one place.";
  const shown = first + second;
  const all = `The two axes show ${percent(shown)} of how these documents differ`;
  if (shown > 0.95) return `${all}: nearly all of it.`;
  return `${all}; ${percent(1 - shown)} is not to be seen here. Take the map for a sketch: points that lie together ` +
    "may still be about different things, and a hit may lie far from the query. A search compares all of it.";
}

function tellCount({ sample, documents, passages }) {
  const all = passages ?? documents;
  const some = sample.length < all ? `${sample.length.toLocaleString("en")} of ` : "";
  if (passages === undefined) return some + plural(documents, "document", "documents");
  return `${some}${plural(passages, "passage", "passages")} of ${plural(documents, "document", "documents")}`;
}

// The sample is sent once for each generation of the index, and again when neighbours are needed.
async function askMap(text, signal) {
  const neighbours = layout.value === "umap";
  const body = { ...(text && { query: text }), ...(neighbours && { neighbours }) };
  const lacks = known === null || (neighbours && known.sample.length > 0 && !known.sample[0].near);
  const reply = await ask("map", { ...body, sample: lacks }, signal);
  if (reply.answer.sample) known = reply.answer;
  if (reply.answer.generation === known.generation) return reply;
  const again = await ask("map", body, signal);
  known = again.answer;
  return again;
}

function close() {
  panel.hidden = true;
  panel.replaceChildren();
  board.choose(null);
}

function open(point) {
  const cut = !point.rank && [...point.text].length >= kBeginning;
  const opening = el("a", { className: "button", href: linkTo("document", { id: point.id }) }, "Open");
  const searching = el("a", { className: "chip", href: linkTo("search", { like: point.id }) }, "More like this");
  const closing = el("button", { type: "button", className: "quiet" }, "Close");
  closing.addEventListener("click", () => {
    close();
    byId("map-canvas").focus();
  });
  panel.replaceChildren(
    el("h2", { tabIndex: -1 }, nameOf(point)),
    el("p", { className: "passage", dir: "auto" }, cut ? `${textOf(point)}…` : textOf(point)),
    showMetadata(point.metadata) ?? "",
    el("div", { className: "options" }, opening, searching, closing));
  panel.hidden = false;
  board.choose(point);
  panel.firstChild.focus({ preventScroll: true });
  panel.scrollIntoView({ block: "nearest" });
}

function listItem(point) {
  const button = el("button", { type: "button" }, el("span", { className: "rank", "aria-hidden": "true" }, String(point.rank)),
    el("strong", {}, nameOf(point)), el("span", { className: "line" }, textOf(point)));
  for (const event of ["mouseenter", "focus"]) button.addEventListener(event, () => board.look(point));
  for (const event of ["mouseleave", "blur"]) button.addEventListener(event, () => board.look(null));
  button.addEventListener("click", () => {
    board.bring(point);
    open(point);
  });
  return el("li", {}, button);
}

// Null: the plane's.
async function placesOf(sample, signal) {
  if (layout.value !== "umap" || !canArrange(sample.length)) return null;
  const places = await arrange(sample, (part) => {
    if (!signal.aborted) status.textContent = `The layout is being made: ${Math.round(100 * part)} %`;
  });
  if (signal.aborted) throw new DOMException("another was asked for", "AbortError");
  return places;
}

const showColours = () => board.colour(colouring(known.sample, board.redraw));

async function showAnswer({ answer, ms }, text, wanted, signal) {
  const hits = answer.query?.hits ?? [];
  const places = await placesOf(known.sample, signal);
  const points = pointsOf(known.sample, hits, places);
  const found = points.filter((point) => point.rank).sort((a, b) => a.rank - b.rank);
  const among = text ? `, the query and its ${plural(hits.length, "hit", "hits")} among them` : "";
  body.hidden = points.length === 0;
  status.textContent = points.length === 0 ? "The index has no documents yet."
    : `${tellCount(known)}${among}, in ${milliseconds(ms)}`;
  note.textContent = tellLayout(known);
  list.replaceChildren(...found.map(listItem));
  byId("map-legend").hidden = !text;
  byId("map-arranging").hidden = !canArrange(known.sample.length);
  offerColours(known.sample, wanted);
  showColours();
  const about = topicsOf(points);
  const showTopics = () => board.tell(topics.checked ? about : []);
  topics.parentElement.hidden = about.length === 0;
  topics.onchange = showTopics;
  showTopics();
  const placed = answer.query && { ...answer.query, ...(places && placeAmong(answer.query, places)) };
  board.show(points, placed ?? null, `Map of ${tellCount(known)}. Arrows go from one to the next, Enter opens it, ` +
    `plus and minus zoom, 0 shows all.${about.length > 0 ? ` Its parts are about ${about.map(({ words }) => words).join("; ")}.` : ""}${text ? " The hits of the query are listed below." : ""}`);
}

function showMap(wanted = colour.value) {
  asking.stop();
  close();
  share(false);
  const text = asked;
  if (server.documents === undefined) {
    body.hidden = true;
    status.textContent = "This server has no index to show: start it with --index DIR. Compare works without one.";
    return;
  }
  if (known === null) status.textContent = "The map is being made…";
  asking.run(async (signal) => {
    await showAnswer(await askMap(text, signal), text, wanted, signal);
    share(true);
  }, () => { status.textContent = ""; }, () => showMap());
}

function state(text = query.value.trim()) {
  return { ...(text && { q: text }), ...(colour.value && { colour: colour.value }),
    ...(layout.value !== "pca" && { layout: layout.value }) };
}

const submit = () => goTo("map", state(), showMap);

byId("map-form").addEventListener("submit", (event) => {
  event.preventDefault();
  if (matchMedia("(pointer: coarse)").matches) query.blur();
  submit();
});
layout.addEventListener("change", submit);
// Only the colour changes, so the server is not asked.
colour.addEventListener("change", () => {
  history.replaceState(null, "", linkTo("map", state(asked)));
  showColours();
});
byId("map").addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  if (panel.hidden) return query.focus();
  close();
  byId("map-canvas").focus();
});
board.onOpen(open);

export const mapView = {
  title: () => (asked ? `${asked} on the map · Simile` : "Map · Simile"),
  learn(info) {
    server = info;
    known = null;
  },
  fill(parameters) {
    query.value = parameters.get("q") ?? "";
  },
  show(parameters) {
    asked = (parameters.get("q") ?? "").trim();
    layout.value = parameters.get("layout") === "umap" ? "umap" : "pca";
    showMap(parameters.get("colour") ?? "");
  },
  focus: () => query.select(),
};
