// SPDX-License-Identifier: Apache-2.0
// Elements without strings of HTML: what comes from data is always text.

export const byId = (id) => document.getElementById(id);

// A property where the element has one of that name, else an attribute; undefined: neither.
export function el(name, properties = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined) continue;
    if (key in node) node[key] = value;
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

const kLongest = 60;  // characters that are shown of a name or a value

export const shortened = (text) => (text.length > kLongest ? `${text.slice(0, kLongest)}…` : text);

export const plural = (count, one, many) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

// The address without its state, so that a link to the same state can be given away.
export function linkTo(view, state) {
  const query = new URLSearchParams(state).toString();
  return `#/${view}${query ? `?${query}` : ""}`;
}

// Goes there, where showing follows; where the page is there already, `again` is called.
export function goTo(view, state, again) {
  const link = linkTo(view, state);
  if (link === location.hash) again();
  else location.hash = link;
}

export const milliseconds = (ms) => `${Math.max(1, Math.round(ms))} ms`;

// A button that copies the address of the page. Returns what shows it, where the browser lets it.
export function copiesLink(button) {
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(location.href).then(
      () => { button.textContent = "Copied"; }, () => { button.textContent = "Not copied"; });
    setTimeout(() => { button.textContent = "Copy link"; }, 1500);
  });
  return (shown) => { button.hidden = !shown || !navigator.clipboard; };
}
