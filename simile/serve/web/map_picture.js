// SPDX-License-Identifier: Apache-2.0
// Draws the map: documents as dots, hits as numbered ones, the query as a diamond.

const kDot = 3, kColouredDot = 3.8, kHit = 9.5, kQuery = 8;  // pixels

function colours(canvas) {
  const style = getComputedStyle(canvas);
  return Object.fromEntries(["ink", "muted", "accent", "on-accent", "surface", "warn"].map((name) =>
    [name, style.getPropertyValue(`--${name}`).trim()]));
}

function dot(pen, [x, y], radius) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
}

function drawHit(pen, at, rank, colour) {
  dot(pen, at, kHit);
  pen.fillStyle = colour.accent;
  pen.fill();
  pen.strokeStyle = colour.surface;
  pen.lineWidth = 2;
  pen.stroke();
  pen.fillStyle = colour["on-accent"];
  pen.fillText(rank, at[0], at[1] + 0.5);
}

function drawQuery(pen, [x, y], colour) {
  pen.beginPath();
  for (const [right, down] of [[0, -1], [1, 0], [0, 1], [-1, 0]]) pen.lineTo(x + right * kQuery, y + down * kQuery);
  pen.closePath();
  pen.fillStyle = colour.warn;
  pen.fill();
  pen.strokeStyle = colour.surface;
  pen.lineWidth = 2;
  pen.stroke();
}

// `points`: with a rank where they are hits. `ringed`: the set of those that get a ring. `colourOf`: of a document,
// where they are not all alike.
export function drawMap(canvas, camera, points, query, ringed, colourOf) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(camera.width * ratio);
  canvas.height = Math.round(camera.height * ratio);
  const pen = canvas.getContext("2d");
  const colour = colours(canvas);
  pen.scale(ratio, ratio);
  Object.assign(pen, { textAlign: "center", textBaseline: "middle", font: `600 11px ${getComputedStyle(canvas).fontFamily}` });
  pen.fillStyle = colour.muted;
  pen.globalAlpha = colourOf ? 0.85 : 0.6;
  const radius = (colourOf ? kColouredDot : kDot) * Math.min(2, camera.zoom ** 0.25);
  for (const point of points) {
    if (point.rank) continue;
    dot(pen, camera.toScreen(point), radius);
    if (colourOf) pen.fillStyle = colourOf(point);
    pen.fill();
  }
  pen.globalAlpha = 1;
  const hits = points.filter((point) => point.rank).sort((a, b) => b.rank - a.rank);  // the best above the others
  for (const hit of hits) drawHit(pen, camera.toScreen(hit), hit.rank, colour);
  if (query) drawQuery(pen, camera.toScreen(query), colour);
  for (const point of ringed) {
    const at = camera.toScreen(point);
    if (point.rank) drawHit(pen, at, point.rank, colour);
    dot(pen, at, point.rank ? kHit + 3 : radius + 4);
    pen.strokeStyle = colour.ink;
    pen.stroke();
  }
}
