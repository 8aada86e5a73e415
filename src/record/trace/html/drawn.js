"use strict";

// What pages that show a drawing of events share: which events have happened up to a step, what caused what, zoom by keys
// and fingers, and which event somebody means.

const kind = (event) => (event.what === "sends" ? event.label.split(" ")[0] : event.what);

// All that follows from an event by these arrows, without itself.
function closure(from, arrows) {
  const found = new Set();
  const open = [from];
  while (open.length > 0) {
    for (const next of arrows(open.pop())) {
      if (!found.has(next)) {
        found.add(next);
        open.push(next);
      }
    }
  }
  return found;
}

// Scrolls a box, and not the page, until it shows a part of it.
function reveal(box, part) {
  const [frame, target] = [box.getBoundingClientRect(), part.getBoundingClientRect()];
  const move = (from, to, low, high) => (from < low ? from - low : to > high ? Math.min(to - high, from - low) : 0);
  if (target.width === 0) return;
  box.scrollTop += move(target.top - 24, target.bottom + 24, frame.top, frame.bottom);
  box.scrollLeft += move(target.left, target.right, frame.left, frame.right);
}

// The causes and the effects of an event in sentences; `words` has a sentence for each event.
function because({ causes, caused }, words) {
  const some = (set) => {
    const sentences = [...set].sort((a, b) => a - b).slice(0, 4).map(words);
    return set.size > 4 ? `${sentences.join("; ")}; and ${set.size - 4} more` : sentences.join("; ");
  };
  const before = causes.size === 0 ? "No other event caused it." : `Caused by: ${some(causes)}.`;
  const after = caused.size === 0 ? "It caused no other event." : `Effects: ${some(caused)}.`;
  return `${before} ${after}`;
}

// A drawing in a box. `parts` holds, for each event, what shows it elsewhere; what shows it in the drawing is added.
function drawn(box, svg, events, parts) {
  for (const group of svg.querySelectorAll("g[data-event]")) parts[group.dataset.event].push(group);
  const effects = events.map(() => []);
  events.forEach((event, at) => event.causes.forEach((cause) => effects[cause].push(at)));
  const { width, height } = svg.viewBox.baseVal;
  let zoomed = 1;
  // The names of the members stay in sight. Readers of the drawing have them in it.
  const bar = document.createElement("div");
  bar.className = "names";
  bar.setAttribute("aria-hidden", "true");
  const columns = [...svg.querySelectorAll("text.name")].map((text) => {
    const name = document.createElement("span");
    name.textContent = text.textContent;
    bar.append(name);
    return [name, Number(text.getAttribute("x"))];
  });
  box.prepend(bar);
  let isFit = true; // until the reader zooms

  // Shows the events before a step, and what caused the chosen one and what it caused.
  function mark(step, chosen, isOut = () => false) {
    const causes = chosen === null ? new Set() : closure(chosen, (at) => events[at].causes);
    const caused = chosen === null ? new Set() : closure(chosen, (at) => effects[at]);
    events.forEach((event, at) => {
      const classes = {
        later: at >= step,
        now: at === step - 1,
        chosen: at === chosen,
        cause: causes.has(at),
        effect: caused.has(at),
        aside: chosen !== null && at !== chosen && !causes.has(at) && !caused.has(at),
        out: isOut(event, at),
      };
      for (const part of parts[at]) {
        for (const [name, has] of Object.entries(classes)) part.classList.toggle(name, has);
      }
    });
    return { causes, caused };
  }

  // The step at which all effects of an event are shown.
  const stepAfter = (step, at) => Math.max(step, ...closure(at, (of) => effects[of]), at + 1);

  // Keeps what is at this place of the box where it is.
  function scale(to, x = box.clientWidth / 2, y = box.clientHeight / 2) {
    const before = zoomed;
    isFit = false;
    zoomed = Math.min(Math.max(to, 0.1), 5);
    svg.setAttribute("width", width * zoomed);
    svg.setAttribute("height", height * zoomed);
    bar.style.width = `${width * zoomed}px`;
    for (const [name, x] of columns) name.style.left = `${x * zoomed}px`;
    box.scrollLeft = ((box.scrollLeft + x) * zoomed) / before - x;
    box.scrollTop = ((box.scrollTop + y) * zoomed) / before - y;
  }
  const zoom = (by) => scale(zoomed * by);
  function fit() {
    scale(Math.min(1, box.clientWidth / width));
    isFit = true;
  }

  // The event at a point of the drawing: what is there, or else the nearest arrow that a finger may mean.
  function eventAt(target, x, y) {
    const group = target.closest("g[data-event]");
    if (group) return Number(group.dataset.event);
    let [best, least] = [null, 14];
    for (const line of svg.querySelectorAll("g[data-event] > line.arrow")) {
      const matrix = line.getScreenCTM();
      const end = (n) => new DOMPoint(line[`x${n}`].baseVal.value, line[`y${n}`].baseVal.value).matrixTransform(matrix);
      const [a, b] = [end(1), end(2)];
      const [dx, dy] = [b.x - a.x, b.y - a.y];
      const along = Math.min(Math.max(((x - a.x) * dx + (y - a.y) * dy) / (dx * dx + dy * dy || 1), 0), 1);
      const distance = Math.hypot(x - a.x - along * dx, y - a.y - along * dy);
      if (distance < least && !line.parentNode.matches(".out")) [best, least] = [Number(line.parentNode.dataset.event), distance];
    }
    return best;
  }

  // Two fingers zoom; one scrolls, as everywhere.
  const fingers = new Map();
  function pinch(event) {
    if (!fingers.has(event.pointerId)) return;
    const apart = () => {
      const [a, b] = fingers.values();
      return Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
    };
    const before = fingers.size === 2 ? apart() : 0;
    fingers.set(event.pointerId, event);
    if (before > 0) zoom(apart() / before);
  }
  const lifted = (event) => fingers.delete(event.pointerId);
  const down = (event) => event.pointerType === "touch" && fingers.set(event.pointerId, event);
  const wheel = (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const frame = box.getBoundingClientRect();
    scale(zoomed * Math.exp(-event.deltaY / 300), event.clientX - frame.left, event.clientY - frame.top);
  };
  const heard = { pointerdown: down, pointermove: pinch, pointerup: lifted, pointercancel: lifted, pointerleave: lifted };
  for (const [name, hear] of Object.entries(heard)) box.addEventListener(name, hear);
  box.addEventListener("wheel", wheel, { passive: false });

  const resized = new ResizeObserver(() => isFit && fit()); // a frame may be laid out after this has run
  resized.observe(box);
  return { mark, stepAfter, zoom, fit, eventAt };
}

// Plays steps, by the elements that all pages with a player have. `at` and `end` tell the present step and the last one,
// `go` and `move` change it, `passes` tells how much time the events have between this step and the next, and `pace` is how
// many ms the reader has then for a step, with time between them and without.
function player({ at, end, go, move, passes, pace: [some, none] }) {
  const element = (id) => document.getElementById(id);
  const button = element("play");
  let timer = null;

  function say(text) {
    button.textContent = text;
    button.setAttribute("aria-pressed", String(text === "Pause"));
  }
  function stop() {
    clearTimeout(timer);
    timer = null;
    say("Play");
  }
  function tick() {
    move(1);
    if (at() >= end()) return stop();
    timer = setTimeout(tick, (passes(at()) > 0 ? some : none) / Number(element("speed").value));
  }
  function toggle() {
    if (timer !== null) return stop();
    if (at() >= end()) go(0);
    say("Pause");
    timer = setTimeout(tick, 0);
  }

  const acts = { first: () => go(0), back: () => move(-1), next: () => move(1), last: () => go(end()) };
  for (const [id, act] of Object.entries(acts)) element(id).addEventListener("click", () => { stop(); act(); });
  element("place").addEventListener("input", (event) => { stop(); go(Number(event.target.value)); });
  button.addEventListener("click", toggle);
  return { stop, toggle };
}
