// SPDX-License-Identifier: Apache-2.0
// One hit of a search, and the metadata of a document.
import { el, linkTo, shortened } from "./dom.js";
import { markText } from "./marking.js";
import { scoreOf } from "./score.js";

// The text without its title, which is shown above it.
export const body = ({ title, text = "" }) => (title && text.startsWith(`${title} `) ? text.slice(title.length + 1) : text);

// `fullScore`: the one that fills the bar; null: there is no score. `choose`: called with a column and a value of the
// metadata.
export function showHit(hit, words, fullScore, place, choose) {
  const head = el("h2", { id: `hit-${place}` }, el("a", { href: linkTo("document", { id: hit.id }), dir: "auto" }, hit.title || hit.id));
  const passage = el("p", { className: "passage", dir: "auto" });
  const { nodes, cut } = markText(body(hit), words, false);
  passage.append(...nodes);
  const article = el("article", { className: "hit", tabIndex: 0 }, el("div", { className: "hit-head" }, head), passage);
  article.setAttribute("aria-labelledby", head.id);
  if (fullScore !== null) {
    const { opener, panel } = scoreOf(hit, fullScore, `why-${place}`);
    article.firstChild.append(opener);
    article.append(panel);
  }
  article.append(el("div", { className: "hit-foot" }, ...(cut ? [wholeTextButton(hit, words, passage)] : []),
    el("a", { className: "more", href: linkTo("search", { like: hit.id }) }, "More like this"),
    hit.title ? el("code", { className: "id" }, hit.id) : "", showMetadata(hit.metadata, choose) ?? ""));
  return el("li", {}, article);
}

function wholeTextButton(hit, words, passage) {
  const button = el("button", { type: "button", className: "more whole", "aria-expanded": "false" }, "Whole text");
  button.addEventListener("click", () => {
    const whole = button.getAttribute("aria-expanded") !== "true";
    passage.replaceChildren(...markText(body(hit), words, whole).nodes);
    button.setAttribute("aria-expanded", whole);
    button.textContent = whole ? "Passage only" : "Whole text";
  });
  return button;
}

// A list of keys and values, null where there are none. With `choose` each is a button that calls it; arrow keys of the
// list of hits reach them, so that Tab goes from hit to hit.
export function showMetadata(metadata, choose) {
  const entries = Object.entries(metadata ?? {}).flatMap(([key, values]) => [values].flat().map((value) => [key, value]));
  if (entries.length === 0) return null;
  return el("ul", { className: "metadata", "aria-label": "Metadata" }, ...entries.map(([key, value]) => {
    const words = [el("span", { className: "of" }, shortened(key)), shortened(String(value))];
    if (!choose) return el("li", {}, ...words);
    return el("li", {}, el("button", { type: "button", className: "tag", tabIndex: -1, title: `Only ${key} = ${value}`,
      onclick: () => choose(key, value) }, ...words));
  }));
}
