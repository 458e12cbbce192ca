// SPDX-License-Identifier: Apache-2.0
// Wheel, drag and pinch on the map's canvas.

const kClick = 5;  // pixels that a click may move

// `to`: what is told: hover(x, y), leave(), click(x, y), pan(right, down), zoom(factor, x, y).
export function followGestures(canvas, to) {
  const down = new Map();  // pointer to its place
  let moved = 0;
  const place = (event) => [event.offsetX, event.offsetY];

  function span() {
    const [[ax, ay], [bx, by]] = [...down.values()];
    return { size: Math.max(1, Math.hypot(ax - bx, ay - by)), x: (ax + bx) / 2, y: (ay + by) / 2 };
  }

  function drag(event) {
    const [x, y] = place(event);
    const [oldX, oldY] = down.get(event.pointerId);
    moved += Math.hypot(x - oldX, y - oldY);
    if (down.size === 1) {
      down.set(event.pointerId, [x, y]);
      if (moved > kClick) to.pan(x - oldX, y - oldY);
    } else if (down.size === 2) {
      const before = span();
      down.set(event.pointerId, [x, y]);
      const after = span();
      to.pan(after.x - before.x, after.y - before.y);
      to.zoom(after.size / before.size, after.x, after.y);
    }
  }

  function lift(event) {
    const known = down.delete(event.pointerId);
    if (!known || down.size > 0) return;
    if (event.type === "pointerup" && moved <= kClick) to.click(...place(event));
    canvas.classList.remove("dragged");
  }

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    if (down.size === 0) moved = 0;
    else moved = Infinity;  // two fingers click nothing
    down.set(event.pointerId, place(event));
    canvas.setPointerCapture(event.pointerId);
    canvas.classList.add("dragged");
  });
  canvas.addEventListener("pointermove", (event) => {
    if (down.has(event.pointerId)) drag(event);
    else if (event.pointerType === "mouse") to.hover(...place(event));
  });
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
  canvas.addEventListener("pointerleave", () => to.leave());
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 20 : 1;
    to.zoom(Math.exp(-Math.max(-120, Math.min(120, event.deltaY * lines)) / 300), ...place(event));
  }, { passive: false });
}
