// SPDX-License-Identifier: Apache-2.0
// The view of one document, which has its own address: its text, its metadata, and the documents that are nearest to it.
import { byId, copiesLink, el, linkTo, plural } from "./dom.js";
import { body, showHit } from "./hit.js";
import { ask, Asking } from "./http.js";

const kNearest = 5;

const place = byId("document-body");
const near = byId("document-near");
const share = copiesLink(byId("document-share"));
const asking = new Asking("document", place);
let id = "";
let name = "";

const toValue = (key, value) => linkTo("search", [[`in.${key}`, value]]);

function show(document) {
  name = document.title || document.id;
  const metadata = Object.entries(document.metadata ?? {});
  const cells = ([key, values]) => [el("dt", {}, key), el("dd", {}, ...[values].flat().map((value) =>
    el("a", { href: toValue(key, value), dir: "auto" }, String(value))))];
  place.replaceChildren(el("h2", { tabIndex: -1, dir: "auto" }, name),
    el("p", { className: "hint" }, document.title ? el("code", {}, `${document.id} `) : "",
      document.passages > 1 ? plural(document.passages, "passage", "passages") : ""),
    el("p", { className: "passage", dir: "auto" }, body(document)),
    ...(metadata.length > 0 ? [el("dl", { className: "facts" }, ...metadata.flatMap(cells))] : []));
  window.document.title = `${name} · Simile`;
}

async function showNearest(signal) {
  const { answer } = await ask("search", { like: id, top_k: kNearest }, signal);
  const { hits } = answer.results[0];
  near.hidden = hits.length === 0;
  byId("document-hits").replaceChildren(...hits.map((hit, i) => showHit(hit, [], hits[0].score, `near-${i}`,
    (key, value) => { location.hash = toValue(key, value); })));
}

function load() {
  asking.stop();
  share(false);
  near.hidden = true;
  byId("document-like").href = linkTo("search", { like: id });
  asking.run(async (signal) => {
    show((await ask(`documents/${encodeURIComponent(id)}`, undefined, signal)).answer);
    place.firstChild.focus({ preventScroll: true });
    share(true);
    await showNearest(signal);
  }, () => place.replaceChildren(), load);
}

export const documentView = {
  title: () => `${name || id} · Simile`,
  learn() {},
  show(parameters) {
    id = parameters.get("id") ?? "";
    name = "";
    window.scrollTo(0, 0);
    load();
  },
  focus() {},
};
