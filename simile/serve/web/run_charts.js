// SPDX-License-Identifier: Apache-2.0
// Curves of several runs, a chart for each kind of curve.
import { byId, el } from "./dom.js";
import { loadCharts } from "./chart_library.js";

const kHeight = 190;      // pixels
const kMostCharts = 60;

const place = byId("run-charts");
const known = new Map();  // name of a curve to its chart
const sizes = new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) {
    target.chart?.setSize({ width: Math.max(120, Math.floor(contentRect.width)), height: kHeight });
  }
});

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Digits that tell values of this size apart.
export function figure(value) {
  if (typeof value !== "number") return "–";
  const size = Math.abs(value);
  const text = size !== 0 && (size < 1e-3 || size >= 1e6) ? value.toExponential(2).replace(/\.?0+e/, "e")
    : value.toLocaleString("en", { useGrouping: false, maximumFractionDigits: size >= 100 ? 1 : 4 });
  return text.replaceAll("-", "−");
}

// Of the last 2 `half` + 1 points around each, so that a trend is seen.
function smoothed(values, half) {
  if (half === 0) return values;
  let sum = 0;
  const sums = [0, ...values.map((value) => (sum += value))];
  return values.map((_, i) => {
    const near = Math.min(half, i, values.length - 1 - i);
    return (sums[i + near + 1] - sums[i - near]) / (2 * near + 1);
  });
}

function axis(uPlot, more) {
  return { stroke: () => css("--muted"), grid: { stroke: () => css("--line"), width: 1 },
    ticks: { stroke: () => css("--line"), width: 1, size: 4 }, font: `11px ${getComputedStyle(document.body).fontFamily}`, ...more };
}

function makeChart(uPlot, box, runs) {
  const series = runs.map(({ name, colour }) => ({ label: name, stroke: () => css(`--c${colour}`), width: 1.5, spanGaps: true,
    value: (_, value) => figure(value) }));
  const options = {
    width: Math.max(120, box.clientWidth || 320), height: kHeight, pxAlign: false,
    scales: { x: { time: false } }, cursor: { sync: { key: "runs" }, points: { size: 6 }, drag: { x: true, y: false } },
    legend: { live: true },
    axes: [axis(uPlot, { size: 30, space: 60 }), axis(uPlot, { size: 52, space: 30, values: (_, ticks) => ticks.map(figure) })],
    series: [{ label: "step" }, ...series],
  };
  return new uPlot(options, [[], ...runs.map(() => [])], box);
}

function describe(name, runs, curves) {
  const ends = runs.map(({ name: run }, i) => {
    const curve = curves[i];
    return `${run}: ${figure(curve.values.at(-1))} at step ${curve.steps.at(-1)}`;
  });
  return `${name}. ${ends.join("; ")}`;
}

function newFigure(name, runs, uPlot) {
  const box = el("div", { className: "chart", role: "img" });
  const whole = el("figure", {}, el("figcaption", {}, name), box);
  place.append(whole);
  box.chart = makeChart(uPlot, box, runs);
  sizes.observe(box);
  return { whole, box, chart: box.chart, runs: runs.map((run) => run.name + run.colour).join("\n") };
}

function drop(name) {
  const { whole, box, chart } = known.get(name);
  sizes.unobserve(box);
  chart.destroy();
  whole.remove();
  known.delete(name);
}

// Which curves there are, those of evaluations first: [name, whether it is one of training].
function namesOf(runs, all) {
  const training = new Set(), evaluations = new Set();
  for (const { details } of runs) {
    for (const { name } of details.training) training.add(name);
    for (const { name } of details.evaluations) evaluations.add(name);
  }
  const seen = new Set();
  const isFirst = (name) => {  // metric of its evaluation
    const evaluation = name.slice(0, name.lastIndexOf("."));
    return !seen.has(evaluation) && Boolean(seen.add(evaluation));
  };
  const shown = [...[...training].filter((name) => all || /^loss\b/.test(name)).map((name) => [name, true]),
    ...[...evaluations].filter((name) => isFirst(name) || all).map((name) => [name, false])];
  return shown.slice(0, kMostCharts);
}

// `runs`: { name, colour, details } as the server gives them. `all`: not the losses and first metrics alone. `half`:
// points on each side that smooth curves of training.
export async function showCharts(runs, all, half) {
  const uPlot = runs.length > 0 ? await loadCharts() : null;
  const names = namesOf(runs, all);
  for (const name of [...known.keys()]) if (!names.some(([other]) => other === name)) drop(name);
  for (const [name, isTraining] of names) {
    const curveOf = ({ details }) => details[isTraining ? "training" : "evaluations"].find((curve) => curve.name === name);
    const having = runs.filter((run) => curveOf(run)?.steps.length > 0);
    if (known.has(name) && known.get(name).runs !== having.map((run) => run.name + run.colour).join("\n")) drop(name);
    if (having.length === 0) continue;
    if (!known.has(name)) known.set(name, newFigure(name, having, uPlot));
    const { whole, box, chart } = known.get(name);
    const curves = having.map(curveOf);
    chart.setData(uPlot.join(curves.map(({ steps, values }) => [steps, smoothed(values, isTraining && /loss|norm/.test(name) ? half : 0)])));
    box.setAttribute("aria-label", describe(name, having, curves));
    place.append(whole);  // in order
  }
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const { chart } of known.values()) chart.redraw(false, true);
});
