// The laboratory. All that it shows follows from the fragment of its address; the runs are asked for by GET run?...

const by = (id) => document.getElementById(id);
const [now, place, runsBox] = ["now", "place", "runs"].map(by);
const ALGORITHMS = ["bully", "halting", "ring"];
const DEFAULTS = { algorithm: "bully", nodes: "5", quorum: "none", delays: "lockstep", seed: "1", until: "2000", do: "" };
const FIELDS = ["algorithm", "nodes", "quorum", "delays", "seed", "until"];
const SIDED = new Set(["cut", "heal"]);

let asked = { ...DEFAULTS }; // what the address says
let runs = []; // what is shown, one for each algorithm
let order = []; // the events of all runs, in the order of time
let step = 0; // so many of these are shown
let chosen = null; // a run and an event of it
let guess = null;
let latest = 0; // the number of the last question, so that a late answer to an earlier one is dropped

const make = (name, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};
const ms = (time) => `${Math.round(time * 10) / 10} ms`;
const deeds = () => asked.do.split(",").filter((deed) => deed !== "");

// ---- the address

function read() {
  const given = { ...DEFAULTS };
  for (const pair of location.hash.slice(1).split("&").filter((pair) => pair !== "")) {
    const [key, ...value] = pair.split("=");
    given[key] = value.join("=");
  }
  return given;
}

const query = (all) => Object.entries(all).filter(([key, value]) => value !== DEFAULTS[key] || key === "algorithm")
  .map(([key, value]) => `${key}=${/^[\w.,@-]*$/.test(value) ? value : encodeURIComponent(value)}`).join("&");

const change = (changes) => { location.hash = query({ ...asked, ...changes }); };

// ---- a run

const SVG = "http://www.w3.org/2000/svg";
const ELEMENTS = new Set(["svg", "g", "line", "path", "rect", "text"]);
const ATTRIBUTES = new Set(["class", "d", "data-event", "height", "rx", "transform", "viewBox", "width", "x", "x1", "x2", "y", "y1", "y2"]);

// Rebuilds a drawing from its shapes and words alone: whatever else is in it is left out.
function rebuilt(node) {
  const made = document.createElementNS(SVG, node.localName);
  for (const { name, value } of node.attributes) if (ATTRIBUTES.has(name)) made.setAttribute(name, value);
  for (const child of node.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) made.append(child.data);
    else if (ELEMENTS.has(child.localName)) made.append(rebuilt(child));
  }
  return made;
}

function counted(run) {
  const body = make("tbody");
  for (const { at_ms, leader, epoch, messages, formula } of run.elections) {
    const kinds = Object.entries(messages).filter(([kind, count]) => kind !== "total" && count > 0);
    const sum = `${kinds.map(([kind, count]) => `${count} ${kind.toUpperCase().replaceAll("_", "-")}`).join(" + ") || "none"} = ${messages.total}`;
    const exact = formula === null || formula.exact === null ? "" : `${formula.exact} = ${formula.words}`;
    const range = formula === null ? "" : `${formula.least} to ${formula.most}`;
    const outcome = leader === null ? "no leader of all" : formula === null ? `${leader} stays` : `${leader}, epoch ${epoch}, at ${ms(at_ms)}`;
    body.append(make("tr", {}, ...[outcome, sum, exact, range].map((text) => make("td", {}, text))));
  }
  if (run.elections.length === 0) body.append(make("tr", {}, make("td", { colSpan: 4 }, "No election.")));
  const head = ["Election", "Messages", "By the formula", "At least, at most"].map((text) => make("th", { scope: "col" }, text));
  const table = make("table", {}, make("caption", {}, "Messages, counted and by the formula"), make("thead", {}, make("tr", {}, ...head)), body);
  const box = make("div", { className: "table outcome", tabIndex: 0 }, table);
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", `Messages of ${run.algorithm}`);
  return box;
}

function outcome(run) {
  const leads = run.leader === null ? "In the end the members do not agree on a leader." : `In the end ${run.leader} leads.`;
  const nobody = run.leaderless_ms > 0 ? ` No client knew a leader for ${ms(run.leaderless_ms)}.` : "";
  const line = make("p", { className: "outcome" }, leads + nobody);
  if (run.rivalled_ms > 0) line.append(" ", make("span", { className: "two" }, `Two led at once, for ${ms(run.rivalled_ms)}.`));
  return line;
}

function listed(run) {
  const items = run.events.map((event, at) => {
    const button = make("button", { type: "button" }, make("time", {}, ms(event.at_ms)), ` ${event.member} ${event.sentence}`);
    button.addEventListener("click", () => choose(run, at));
    return make("li", {}, button);
  });
  const list = make("div", { className: "list" }, make("ol", {}, ...items));
  return [items, make("details", {}, make("summary", {}, `Events as a list (${run.events.length})`), list)];
}

// Shows a run below the others.
function show(run) {
  const box = make("div", { className: "drawing", tabIndex: 0 });
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", `The drawing of ${run.algorithm}; the list below it says the same`);
  const text = run.svg.replace(/<style>[^]*?<\/style>/, ""); // this page has it, and may not take another
  const svg = rebuilt(new DOMParser().parseFromString(text, "image/svg+xml").documentElement);
  svg.setAttribute("aria-hidden", "true");
  box.append(svg);
  const [items, list] = listed(run);
  run.states_box = make("ul", { className: "states" });
  run.states_box.setAttribute("aria-label", `The members of ${run.algorithm} now`);
  run.warning = make("p", { className: "two" });
  run.box = box;
  const parts = [make("h2", {}, run.algorithm), outcome(run), counted(run), run.states_box, run.warning, box, list];
  runsBox.append(make("section", { className: "run" }, ...parts));
  run.drawn = drawn(box, svg, run.events, items.map((item) => [item]));
  run.items = items;
  run.step = 0;
  box.addEventListener("click", (event) => {
    const at = run.drawn.eventAt(event.target, event.clientX, event.clientY);
    if (at !== null) choose(run, at);
  });
  box.addEventListener("keydown", press);
}

// What the members of a run do after its first events.
function states(run) {
  const first = run.events.length > 0 ? run.events[0].member : "";
  const all = new Map(run.members.map((name) => [name, { words: `follows ${first}`, is: "" }]));
  for (const event of run.events.slice(0, run.step)) {
    const state = all.get(event.member);
    if (event.what === "becomes") Object.assign(state, { words: event.label, is: event.phase === "leading" ? "leads" : "" });
    if (event.what === "dies") Object.assign(state, { words: "is dead", is: "gone" });
    if (event.what === "starts") Object.assign(state, { words: "starts", is: "" });
    if (event.label.startsWith("is paused")) state.frozen = true;
    if (event.label === "goes on" || event.what === "dies") state.frozen = false;
  }
  return all;
}

function showStates(run) {
  const all = states(run);
  const items = [...all].map(([name, { words, is, frozen }]) => make("li", { className: is }, `${name} ${words}${frozen ? ", frozen" : ""}`));
  run.states_box.replaceChildren(...items);
  const leaders = [...all].filter(([, { is }]) => is === "leads").map(([name]) => name);
  run.warning.textContent = leaders.length > 1 ? `${leaders.join(" and ")} say that they lead.` : "";
}

// ---- steps

const sentence = (run, at) => {
  const { at_ms, member, sentence } = run.events[at];
  return `${ms(at_ms)} ${member} ${sentence}`;
};

function tell(marked) {
  if (chosen !== null) return `${sentence(chosen.run, chosen.at)}\n${because(marked, (at) => sentence(chosen.run, at))}`;
  if (step === 0) return "Before the first event.";
  const { run, at } = order[step - 1];
  return `${runs.length > 1 ? `${run.algorithm}: ` : ""}${sentence(run, at)}`;
}

function render() {
  let marked = null;
  for (const run of runs) {
    run.step = order.slice(0, step).filter((one) => one.run === run).length;
    const own = chosen !== null && chosen.run === run ? chosen.at : null;
    const result = run.drawn.mark(Math.max(run.step, own === null ? 0 : own + 1), own);
    if (own !== null) marked = result;
    showStates(run);
    run.items.forEach((item, at) => item.firstChild.setAttribute("aria-pressed", String(at === own)));
    const current = own ?? run.step - 1;
    const group = current >= 0 ? run.box.querySelector(`g[data-event="${current}"]`) : null;
    if (group) reveal(run.box, group);
  }
  place.max = order.length;
  place.value = step;
  by("count").textContent = `${step} of ${order.length}`;
  now.textContent = order.length === 0 ? "" : tell(marked);
  by("drop").hidden = chosen === null || chosen.run.events[chosen.at].place === undefined;
  judge();
}

function go(to) {
  step = Math.min(Math.max(to, 0), order.length);
  chosen = null;
  render();
}

function choose(run, at) {
  stop();
  const isSame = chosen !== null && chosen.run === run && chosen.at === at;
  chosen = isSame ? null : { run, at };
  render();
}

const { stop, toggle } = player({
  at: () => step,
  end: () => order.length,
  go,
  move: (by) => go(step + by),
  passes: (at) => order[at].at_ms - order[Math.max(at - 1, 0)].at_ms,
  pace: [600, 120],
});

// ---- the prediction

function judge() {
  if (guess === null || step < order.length || order.length === 0) return;
  const said = guess === "" ? "nobody" : guess;
  const verdicts = runs.map((run) => {
    const leader = run.leader ?? "";
    const really = leader === "" ? "nobody is leader of all" : `${leader} leads`;
    return `${runs.length > 1 ? `${run.algorithm}: ` : ""}${leader === guess ? "right" : "wrong"}, ${really}`;
  });
  by("verdict").textContent = `You said ${said}: ${verdicts.join("; ")}.`;
  guess = null;
  document.body.classList.remove("guessing");
}

function predict(event) {
  event.preventDefault();
  stop();
  guess = by("guess").value;
  by("verdict").textContent = "";
  document.body.classList.add("guessing");
  go(0);
  toggle();
}

function forget() {
  guess = null;
  by("verdict").textContent = "";
  document.body.classList.remove("guessing");
}

// ---- what is done

function add(event) {
  event.preventDefault();
  const deed = by("deed").value;
  const target = SIDED.has(deed) ? by("sides").value.replaceAll(" ", "") : by("who").value;
  change({ do: [...deeds(), `${deed}${target}@${by("when").value}`].join(",") });
}

function drop() {
  const { member, to, place: number } = chosen.run.events[chosen.at];
  const at = (name) => chosen.run.members.indexOf(name) + 1;
  change({ do: [...deeds(), `drop${at(member)}-${at(to)}.${number}`].join(",") });
}

function showDeeds() {
  by("deeds").replaceChildren(...deeds().map((deed, at) => {
    const button = make("button", { type: "button" }, "Undo");
    button.setAttribute("aria-label", `Undo ${deed}`);
    button.addEventListener("click", () => change({ do: deeds().filter((_, other) => other !== at).join(",") }));
    return make("li", {}, deed, button);
  }));
}

function showChoices() {
  const names = Array.from({ length: Math.min(Number(asked.nodes) || 0, 25) }, (_, at) => at + 1);
  const kept = [by("who").value, by("guess").value];
  by("who").replaceChildren(...names.map((n) => make("option", { value: String(n) }, `node-${n}`)));
  const nobody = make("option", { value: "" }, "nobody, or not one of all");
  by("guess").replaceChildren(...names.map((n) => make("option", { value: `node-${n}` }, `node-${n}`)), nobody);
  by("who").value = names.includes(Number(kept[0])) ? kept[0] : String(names.length);
  by("guess").value = [...by("guess").options].some(({ value }) => value !== "" && value === kept[1]) ? kept[1] : "node-1";
}

function showTarget() {
  const sided = SIDED.has(by("deed").value);
  by("who-label").hidden = sided;
  by("sides-label").hidden = by("sides-help").hidden = !sided;
}

// ---- questions and answers

function fail(sentence) {
  by("error").textContent = sentence;
  by("error").hidden = sentence === "";
}

async function ask(algorithm) {
  const answer = await fetch(`run?${query({ ...asked, algorithm })}`);
  const told = await answer.json();
  if (!answer.ok) throw new Error(told.error);
  return told;
}

async function load() {
  const number = ++latest;
  const before = step < order.length && step > 0 ? order[step - 1].at_ms : null; // where the reader is
  stop();
  forget();
  asked = read();
  for (const field of FIELDS) by(field).value = asked[field];
  showDeeds();
  showChoices();
  let told = [];
  let sentence = "";
  try {
    told = await Promise.all((asked.algorithm === "all" ? ALGORITHMS : [asked.algorithm]).map(ask));
  } catch (error) {
    sentence = error instanceof TypeError ? "The lab does not answer: is electd lab still running?" : error.message;
  }
  if (number !== latest) return;
  fail(sentence);
  if (sentence !== "") return;
  runs = told;
  runsBox.replaceChildren();
  runsBox.classList.toggle("many", runs.length > 1);
  runs.forEach(show);
  order = runs.flatMap((run) => run.events.map((event, at) => ({ run, at, at_ms: event.at_ms })));
  order.sort((a, b) => a.at_ms - b.at_ms); // stable
  runs.forEach((run) => run.drawn.fit());
  const later = order.findIndex(({ at_ms }) => before !== null && at_ms > before);
  go(before === null || later < 0 ? order.length : later);
  if (step === order.length) runs.forEach(({ box }) => { box.scrollTop = 0; });
}

const zoom = (factor) => runs.forEach((run) => run.drawn.zoom(factor));
const fit = () => runs.forEach((run) => run.drawn.fit());
const keys = {
  ArrowRight: () => go(step + 1),
  ArrowLeft: () => go(step - 1),
  Home: () => go(0),
  End: () => go(order.length),
  "+": () => zoom(1.25),
  "-": () => zoom(1 / 1.25),
  0: fit,
  Escape: () => go(step),
};

function press(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || !(event.key === " " || Object.hasOwn(keys, event.key))) return;
  event.preventDefault();
  if (event.key === " ") return toggle();
  stop();
  keys[event.key]();
}

for (const field of FIELDS) by(field).addEventListener("change", () => change({ [field]: by(field).value }));
by("in").addEventListener("click", () => zoom(1.25));
by("out").addEventListener("click", () => zoom(1 / 1.25));
by("fit").addEventListener("click", fit);
by("drop").addEventListener("click", drop);
by("deed").addEventListener("change", showTarget);
by("act").addEventListener("submit", add);
by("predict").addEventListener("submit", predict);
by("cluster").addEventListener("submit", (event) => event.preventDefault());
window.addEventListener("hashchange", load);
let width = window.innerWidth;
window.addEventListener("resize", () => {
  if (window.innerWidth === width) return; // the bars of a telephone come and go
  width = window.innerWidth;
  fit();
});
by("when").value = "100";
showTarget();
load();
