// SPDX-License-Identifier: Apache-2.0
// Questions to the server that the page came from, and in words why there is no answer.
import { byId, el } from "./dom.js";

const kKey = "simile.key";

export const key = {
  get: () => sessionStorage.getItem(kKey) ?? "",
  set: (value) => sessionStorage.setItem(kKey, value),
  forget: () => sessionStorage.removeItem(kKey),
};

// `retrySeconds`: when it may be tried again; 0: at once.
class Problem extends Error {
  constructor(title, detail, status = 0, retrySeconds = 0) {
    super(title);
    Object.assign(this, { detail, status, retrySeconds });
  }
}

const kTitles = {
  400: "The server cannot read this",
  403: "The server does not allow this",
  404: "The server does not have this",
  413: "This is too long",
  422: "The server cannot use this",
  424: "The server cannot do this",
  429: "The server is busy",
  503: "The server could not answer in time",
};

const kHelp = {
  413: "It is more than the server takes in one request. Shorten it, or send less at a time.",
  429: "More questions wait than it can take. Nothing is lost: ask again in a moment.",
  503: "It has too much to do, or is stopping. Ask again in a moment.",
};

async function said(reply) {
  try {
    const { error } = await reply.json();
    return typeof error === "string" ? error.charAt(0).toUpperCase() + error.slice(1) : "";
  } catch {
    return "";
  }
}

async function problemOf(reply) {
  const { status } = reply;
  const retrySeconds = Math.min(3600, Math.max(0, Number(reply.headers.get("Retry-After")) || 0));
  if (status === 401) {
    document.dispatchEvent(new CustomEvent("key-needed"));
    return key.get()
      ? new Problem("The server does not know this API key", "Enter another one above.", status)
      : new Problem("This server asks for an API key", "Enter yours above.", status);
  }
  const words = await said(reply);
  const detail = kHelp[status] ?? (words || `It answered with status ${status}.`);
  return new Problem(kTitles[status] ?? "The server made a mistake", detail, status, retrySeconds);
}

const kDown = ["The server does not answer",
  "It was stopped, or the network is down. Start it again, or look at your connection."];

async function send(path, body, signal) {
  const headers = key.get() ? { Authorization: `Bearer ${key.get()}` } : {};
  const options = { headers, signal, cache: "no-store" };
  if (body !== undefined) {
    headers["Content-Type"] = "application/json";
    Object.assign(options, { method: "POST", body: JSON.stringify(body) });
  }
  try {
    return await fetch(path, options);
  } catch (error) {
    throw error.name === "AbortError" ? error : new Problem(...kDown);
  }
}

// The route's answer, and milliseconds: as measured here, and in the server (null: unknown). Throws
// Problem, and AbortError after the signal.
export async function ask(path, body, signal) {
  const begin = performance.now();
  const reply = await send(path, body, signal);
  if (!reply.ok) throw await problemOf(reply);
  try {
    const isPage = reply.headers.get("Content-Type")?.startsWith("text/html");
    const answer = await (isPage ? reply.text() : reply.json());
    const told = reply.headers.get("x-total-time");
    return { answer, ms: performance.now() - begin, serverMs: told === null ? null : Number(told) };
  } catch (error) {
    throw error.name === "AbortError" ? error : new Problem(...kDown);
  }
}

const timers = new WeakMap();

export function clearProblem(place) {
  clearInterval(timers.get(place));
  place.replaceChildren();
}

function countDown(place, button, seconds) {
  const end = performance.now() + seconds * 1000;
  const tell = () => {
    const left = Math.ceil((end - performance.now()) / 1000);
    button.disabled = left > 0;
    button.textContent = left > 0 ? `Try again in ${left} s` : "Try again";
    if (left <= 0) clearInterval(timers.get(place));
  };
  timers.set(place, setInterval(tell, 250));
  tell();
}

// Shows a Problem in a place of the page, with a button that tries again once that may help.
export function showProblem(place, error, retry) {
  clearProblem(place);
  const problem = error instanceof Problem ? error
    : new Problem("The page made a mistake", String(error?.message ?? error));
  const words = el("div", { role: "alert" }, el("strong", {}, problem.message), el("p", {}, problem.detail));
  const box = el("div", { className: "problem" }, words);
  const mayHelp = problem.status === 0 || problem.status === 429 || problem.status >= 500;
  if (mayHelp) {
    const button = el("button", { type: "button", className: "quiet", onclick: retry }, "Try again");
    box.append(button);
    if (problem.retrySeconds > 0) countDown(place, button, problem.retrySeconds);
  }
  place.append(box);
}

// The requests of a view, one at a time: a new one aborts the previous. `busy` is dimmed meanwhile.
export class Asking {
  constructor(view, busy) {
    Object.assign(this, { place: byId(`${view}-problem`), busy, current: null });
  }

  stop() {
    this.current?.abort();
    clearProblem(this.place);
  }

  // Calls `work` with the signal. After an error `clear` makes room for it, and unless that shows it itself and returns
  // false, it is shown with `retry` to try again.
  async run(work, clear, retry) {
    this.stop();
    const mine = this.current = new AbortController();
    this.busy?.setAttribute("aria-busy", "true");
    try {
      await work(mine.signal);
    } catch (error) {
      if (error.name === "AbortError") return;
      if (clear(error) !== false) showProblem(this.place, error, retry);
    } finally {
      if (this.current === mine) this.busy?.removeAttribute("aria-busy");
    }
  }
}
