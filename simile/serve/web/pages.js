// SPDX-License-Identifier: Apache-2.0
// Links to the other pages of a list.
import { el } from "./dom.js";

const kBeside = 2;  // pages that are linked on each side of this one

// `to`: the address of a page. `next`: of the next one, where pages have no numbers.
export function showPages(place, { page, last, to, next }) {
  const near = (i) => i === 1 || i === last || Math.abs(i - page) <= kBeside;
  const numbers = last > 1 ? Array.from({ length: last }, (_, i) => i + 1).filter(near) : [];
  const link = (words, i, more = {}) => el("a", { href: to(i), ...more }, words);
  const links = numbers.map((i, at) => [...(at > 0 && numbers[at - 1] < i - 1 ? [el("span", { "aria-hidden": "true" }, "…")] : []),
    link(String(i), i, { "aria-label": `Page ${i}`, ...(i === page && { "aria-current": "page" }) })]).flat();
  if (page > 1) links.unshift(link("Previous", page - 1, { rel: "prev" }));
  if (page < last) links.push(link("Next", page + 1, { rel: "next" }));
  if (next) links.push(el("a", { href: next, rel: "next" }, "Next"));
  place.hidden = links.length === 0;
  place.replaceChildren(...links);
}
