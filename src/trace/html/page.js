"use strict";

// The drawing and the list are there already. This steps through them, and shows what caused what.
const { events, members } = JSON.parse(document.getElementById("data").textContent);
const by = (id) => document.getElementById(id);
const [drawing, list, now, place, play] = ["drawing", "list", "now", "place", "play"].map(by);
const svg = drawing.querySelector("svg");
const items = [...by("events").children];
const parts = events.map((_, at) => [items[at]]); // all that shows an event
for (const group of svg.querySelectorAll("g[data-event]")) parts[group.dataset.event].push(group);

const effects = events.map(() => []);
events.forEach((event, at) => event.causes.forEach((cause) => effects[cause].push(at)));
const kind = (event) => (event.what === "sends" ? event.label.split(" ")[0] : event.what);

const width = svg.viewBox.baseVal.width;
const height = svg.viewBox.baseVal.height;
const out = { members: new Set(), kinds: new Set() }; // what is filtered away
let step = events.length; // so many events are shown
let chosen = null;
let zoom = 1;
let timer = null;

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

function isOut(event) {
  const ends = [event.member, event.to].filter((name) => name !== undefined);
  return out.kinds.has(kind(event)) || ends.every((name) => out.members.has(name));
}

function words(at) {
  return `${items[at].querySelector("time").textContent} ${items[at].querySelector("span").textContent}`;
}

function tell(causes, caused) {
  if (chosen === null) return step === 0 ? "Before the first event." : words(step - 1);
  const some = (set) => {
    const sentences = [...set].sort((a, b) => a - b).slice(0, 4).map(words);
    return set.size > 4 ? `${sentences.join("; ")}; and ${set.size - 4} more` : sentences.join("; ");
  };
  const because = causes.size === 0 ? "No other event caused it." : `Caused by: ${some(causes)}.`;
  const so = caused.size === 0 ? "It caused no other event." : `Effects: ${some(caused)}.`;
  return `${words(chosen)}\n${because} ${so}`;
}

function render() {
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
      out: isOut(event),
    };
    for (const part of parts[at]) {
      for (const [name, has] of Object.entries(classes)) part.classList.toggle(name, has);
    }
  });
  const current = chosen ?? step - 1;
  items.forEach((item, at) => {
    const button = item.querySelector("button");
    button.tabIndex = at === Math.max(current, 0) ? 0 : -1;
    button.toggleAttribute("aria-current", at === step - 1);
    button.setAttribute("aria-pressed", String(at === chosen));
  });
  place.value = step;
  by("count").textContent = `${step} of ${events.length}`;
  now.textContent = tell(causes, caused);
  if (current >= 0) parts[current].forEach((part) => reveal(part === items[current] ? list : drawing, part));
}

// Scrolls a box, and not the page, until it shows a part of it.
function reveal(box, part) {
  const [frame, target] = [box.getBoundingClientRect(), part.getBoundingClientRect()];
  const move = (from, to, low, high) => (from < low ? from - low : to > high ? Math.min(to - high, from - low) : 0);
  if (target.width === 0) return;
  box.scrollTop += move(target.top - 24, target.bottom + 24, frame.top, frame.bottom);
  box.scrollLeft += move(target.left, target.right, frame.left, frame.right);
}

function go(to) {
  step = Math.min(Math.max(to, 0), events.length);
  chosen = null;
  render();
}

// The next event that is shown, in this direction.
function move(by) {
  let to = step + by;
  while (to > 0 && to < events.length && isOut(events[to - 1])) to += by;
  go(to);
}

function choose(at) {
  stop();
  chosen = chosen === at ? null : at;
  if (chosen !== null) step = Math.max(step, ...closure(at, (of) => effects[of]), at + 1);
  render();
}

function stop() {
  clearTimeout(timer);
  timer = null;
  play.textContent = "Play";
  play.setAttribute("aria-pressed", "false");
}

function tick() {
  move(1);
  if (step >= events.length) return stop();
  const passes = events[step].at_ms - events[Math.max(step - 1, 0)].at_ms;
  timer = setTimeout(tick, (passes > 0 ? 700 : 150) / Number(by("speed").value));
}

function toggle() {
  if (timer !== null) return stop();
  if (step >= events.length) go(0);
  play.textContent = "Pause";
  play.setAttribute("aria-pressed", "true");
  timer = setTimeout(tick, 0);
}

// Keeps what is at this place of the box where it is.
function scale(to, x = drawing.clientWidth / 2, y = drawing.clientHeight / 2) {
  const before = zoom;
  zoom = Math.min(Math.max(to, 0.1), 5);
  svg.setAttribute("width", width * zoom);
  svg.setAttribute("height", height * zoom);
  drawing.scrollLeft = ((drawing.scrollLeft + x) * zoom) / before - x;
  drawing.scrollTop = ((drawing.scrollTop + y) * zoom) / before - y;
}

const fit = () => scale(Math.min(1, drawing.clientWidth / width));

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

function filter(field, names, set) {
  for (const name of names) {
    const [label, box] = [document.createElement("label"), document.createElement("input")];
    Object.assign(box, { type: "checkbox", checked: true });
    box.addEventListener("change", () => {
      box.checked ? set.delete(name) : set.add(name);
      render();
    });
    label.append(box, name);
    field.append(label);
  }
}

const keys = {
  ArrowRight: () => move(1),
  ArrowLeft: () => move(-1),
  Home: () => go(0),
  End: () => go(events.length),
  "+": () => scale(zoom * 1.25),
  "-": () => scale(zoom / 1.25),
  0: fit,
  Escape: () => go(step),
};

function press(event) {
  const inList = event.currentTarget === list;
  const isSpace = event.key === " " && !inList; // there it presses the button
  if (event.ctrlKey || event.altKey || event.metaKey || !(isSpace || Object.hasOwn(keys, event.key))) return;
  event.preventDefault();
  if (isSpace) return toggle();
  stop();
  keys[event.key]();
  if (inList && list.contains(document.activeElement)) list.querySelector('button[tabindex="0"]')?.focus({ preventScroll: true });
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
  if (before > 0) scale((zoom * apart()) / before);
}

drawing.addEventListener("pointerdown", (event) => event.pointerType === "touch" && fingers.set(event.pointerId, event));
drawing.addEventListener("pointermove", pinch);
for (const end of ["pointerup", "pointercancel"]) window.addEventListener(end, (event) => fingers.delete(event.pointerId));
drawing.addEventListener("wheel", (event) => {
  if (!event.ctrlKey) return;
  event.preventDefault();
  const frame = drawing.getBoundingClientRect();
  scale(zoom * Math.exp(-event.deltaY / 300), event.clientX - frame.left, event.clientY - frame.top);
}, { passive: false });
drawing.addEventListener("click", (event) => {
  const at = eventAt(event.target, event.clientX, event.clientY);
  if (at !== null) choose(at);
});
items.forEach((item, at) => item.querySelector("button").addEventListener("click", () => choose(at)));
for (const box of [drawing, list]) box.addEventListener("keydown", press);
place.addEventListener("input", () => { stop(); go(Number(place.value)); });
play.addEventListener("click", toggle);
const buttons = {
  first: () => go(0), back: () => move(-1), next: () => move(1), last: () => go(events.length),
};
for (const [id, act] of Object.entries(buttons)) by(id).addEventListener("click", () => { stop(); act(); });
by("in").addEventListener("click", () => scale(zoom * 1.25));
by("out").addEventListener("click", () => scale(zoom / 1.25));
by("fit").addEventListener("click", fit);

filter(by("members"), members, out.members);
filter(by("kinds"), new Set(events.map(kind)), out.kinds);
place.max = events.length;
by("player").hidden = false;
fit();
render();
drawing.scrollTop = list.scrollTop = 0;
