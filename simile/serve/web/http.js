// SPDX-License-Identifier: Apache-2.0
// Questions to the server that the page came from, and in words why there is no answer.

const kKey = "simile.key";

export const key = {
  get: () => sessionStorage.getItem(kKey) ?? "",
  set: (value) => sessionStorage.setItem(kKey, value),
  forget: () => sessionStorage.removeItem(kKey),
};

// `retrySeconds`: when it may be tried again; 0: at once.
export class Problem extends Error {
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

// What the route answers, and milliseconds: as seen from here, and in the server (null: not told).
// Throws Problem, and AbortError after the signal.
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
