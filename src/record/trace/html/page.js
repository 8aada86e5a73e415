// The drawing and the list are there already. This steps through them.
const { events, members } = JSON.parse(document.getElementById("data").textContent);
const by = (id) => document.getElementById(id);
const [drawing, list, now, place] = ["drawing", "list", "now", "place"].map(by);
const items = [...by("events").children];
const parts = events.map((_, at) => [items[at]]); // all that shows an event
const shown = drawn(drawing, drawing.querySelector("svg"), events, parts);

const out = { members: new Set(), kinds: new Set() }; // what is filtered away
// What is no message of the election is folded at first; and so are the messages of a broadcast but the first, in the list.
const beside = items.map((item) => "beside" in item.dataset);
const fans = items.map((item) => ("fan" in item.dataset ? Number(item.dataset.fan) : null));
const opened = new Set(); // the broadcasts whose messages are listed one by one
let isFolded = beside.some(Boolean);
let step = events.length; // so many events are shown
let chosen = null;

function isOut(event, at) {
  if (isFolded && beside[at]) return true;
  const ends = [event.member, event.to].filter((name) => name !== undefined);
  return out.kinds.has(kind(event)) || ends.every((name) => out.members.has(name));
}

function words(at) {
  return `${items[at].querySelector("time").textContent} ${items[at].querySelector("span").textContent}`;
}

function tell(marked) {
  if (chosen === null) return step === 0 ? "Before the first event." : words(step - 1);
  return `${words(chosen)}\n${because(marked, words)}`;
}

function render() {
  const marked = shown.mark(step, chosen, isOut);
  const current = chosen ?? step - 1;
  if (current >= 0 && fans[current] !== null && fans[current] !== current) opened.add(fans[current]);
  items.forEach((item, at) => {
    item.hidden = fans[at] !== null && fans[at] !== at && !opened.has(fans[at]);
    item.querySelector(".opens")?.setAttribute("aria-expanded", String(opened.has(at)));
    const button = item.querySelector("button");
    button.tabIndex = at === Math.max(current, 0) ? 0 : -1;
    button.toggleAttribute("aria-current", at === step - 1);
    button.setAttribute("aria-pressed", String(at === chosen));
  });
  place.value = step;
  by("count").textContent = `${step} of ${events.length}`;
  now.textContent = tell(marked);
  if (current >= 0) parts[current].forEach((part) => reveal(part === items[current] ? list : drawing, part));
}

function go(to) {
  step = Math.min(Math.max(to, 0), events.length);
  chosen = null;
  render();
}

// The next event that is shown, in this direction.
function move(by) {
  let to = step + by;
  while (to > 0 && to < events.length && isOut(events[to - 1], to - 1)) to += by;
  go(to);
}

function choose(at) {
  stop();
  chosen = chosen === at ? null : at;
  if (chosen !== null) step = shown.stepAfter(step, at);
  render();
}

const { stop, toggle } = player({
  at: () => step,
  end: () => events.length,
  go,
  move,
  passes: (at) => events[at].at_ms - events[Math.max(at - 1, 0)].at_ms,
  pace: [700, 150],
});

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

// A button that lists the messages of a broadcast, and one that shows what is folded.
function fold() {
  fans.forEach((fan, at) => {
    if (fan !== at) return;
    const button = document.createElement("button");
    const count = fans.filter((other) => other === at).length;
    Object.assign(button, { type: "button", className: "opens", textContent: `to ${count}` });
    button.setAttribute("aria-label", `to ${count}: each message of this broadcast`);
    button.addEventListener("click", () => {
      opened.has(at) ? opened.delete(at) : opened.add(at);
      if (chosen === null && fans[step - 1] === at) step = at + 1;
      render();
    });
    items[at].append(button);
  });
  const button = by("fold");
  const names = [...new Set(events.filter((_, at) => beside[at]).map(kind))].join(", ");
  const label = () => {
    button.textContent = `${isFolded ? "Show" : "Hide"} what is no part of the election: ${names}`;
    button.setAttribute("aria-pressed", String(isFolded));
  };
  button.hidden = !isFolded;
  button.addEventListener("click", () => {
    isFolded = !isFolded;
    label();
    render();
  });
  label();
}

const keys = {
  ArrowRight: () => move(1),
  ArrowLeft: () => move(-1),
  Home: () => go(0),
  End: () => go(events.length),
  "+": () => shown.zoom(1.25),
  "-": () => shown.zoom(1 / 1.25),
  0: shown.fit,
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

drawing.addEventListener("click", (event) => {
  const at = shown.eventAt(event.target, event.clientX, event.clientY);
  if (at !== null) choose(at);
});
items.forEach((item, at) => item.querySelector("button").addEventListener("click", () => choose(at)));
for (const box of [drawing, list]) box.addEventListener("keydown", press);
by("in").addEventListener("click", () => shown.zoom(1.25));
by("out").addEventListener("click", () => shown.zoom(1 / 1.25));
by("fit").addEventListener("click", shown.fit);

filter(by("members"), members, out.members);
filter(by("kinds"), new Set(events.map(kind)), out.kinds);
fold();
place.max = events.length;
by("player").hidden = false;
shown.fit();
render();
drawing.scrollTop = list.scrollTop = 0;
