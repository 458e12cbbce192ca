// SPDX-License-Identifier: Apache-2.0
// Shows a Problem in a place of the page, with a button that tries again once that may help.
import { el } from "./dom.js";
import { Problem } from "./http.js";

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
