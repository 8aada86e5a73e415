"use strict";

// Asks the node that this page came from, and through it the other members. What it gets is text, never markup.
const EVERY = 1000; // ms between two looks
const PATIENCE = 6000;
const AT_ONCE = 3; // questions to other members
const SHOWN = 20; // leaderships

const EVENTS = [
  "leading", "following", "no_leader", "member_up", "member_down", "problem", "problem_over", "takeover", "removed",
  "stopping",
];

// A proxy may show this page below a path.
const base = location.pathname.endsWith("/") ? location.pathname : `${location.pathname}/`;
const by = (id) => document.getElementById(id);
const answers = new Map(); // by member: its status or an error
const longest = new Map(); // by member: its longest lease so far
let judged = null; // the verdict on the cluster, as the node that serves this page gives it
let own = null; // the name of the node that serves this page
let members = []; // as that node lists them
let history = [];
let heard = Date.now();
const asking = { own: false, others: false, election: false, verdict: false };
const missed = {}; // what has to be asked once more, as something happened meanwhile
let chosen = "last"; // the election that is drawn: that, or an epoch
let isLive = true;
let source = null; // of events

// An element with these attributes and this content; strings become text.
function el(tag, attributes, ...content) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...content.filter((part) => part !== null));
  return element;
}

// Replaces what a place shows, if that has changed, so that a reader's place and choice stay.
function show(id, ...content) {
  const place = by(id);
  const next = el("div", {}, ...content);
  const [old, all] = [place.childNodes, next.childNodes];
  const isSame = old.length === all.length && [...old].every((node, at) => node.isEqualNode(all[at]));
  if (!isSame) place.replaceChildren(...all);
}

function say(id, text) {
  const place = by(id);
  if (place.textContent !== text) place.textContent = text;
  place.hidden = text === "";
}

async function get(path) {
  const answer = await fetch(base + path, { cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error ?? `HTTP status ${answer.status}`);
  return body;
}

const status = (name) => answers.get(name)?.status;
const leads = (one) => one.state === "leading" && !one.stalled;

// The leader that the verdict names.
const leader = () => judged?.leader ?? null;

function length(ms) {
  const [seconds, minutes, hours] = [1000, 60000, 3600000].map((unit) => Math.floor(ms / unit));
  if (ms < 1000) return `${Math.round(ms * 10) / 10} ms`;
  if (seconds < 60) return `${Math.round(ms / 100) / 10} s`;
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`;
}

function fact(facts, name, value) {
  if (value !== null && value !== undefined && value !== "") facts.push(el("dt", {}, name), el("dd", {}, value));
}

// The best view of a member besides its own: the leader's, or that of this node.
function seen(name) {
  const observer = status(leader()?.name) ?? status(own);
  const member = observer?.members.find((one) => one.name === name);
  return member ? { by: observer.node.name, ...member } : null;
}

function health(one) {
  if (!one.health) return null;
  const why = one.health.failure ?? one.health.output;
  return `${one.health.healthy ? "healthy" : "unhealthy"}${why ? `: ${why}` : ""}`;
}

function card(member) {
  const [one, view, first] = [status(member.name), seen(member.name), leader()?.name === member.name];
  const isSelf = view?.by === member.name;
  const state = one ? (one.stalled ? "stalled" : one.state) : (view?.status ?? "unknown");
  const facts = [];
  fact(facts, "role", member.role === "member" ? null : member.role);
  if (one) {
    fact(facts, "epoch", String(one.epoch));
    fact(facts, "follows", first ? null : (one.leader?.name ?? "nobody"));
    fact(facts, "because", one.leaderless?.reason);
    fact(facts, "health", health(one));
    fact(facts, "drained", one.drain && `since ${one.drain.since} ${one.drain.reason}`);
    fact(facts, "resigned", one.resigned ? "leads only if no other can" : null);
    fact(facts, "takes over", one.takeover && `from ${one.takeover.from}: ${one.takeover.why}`);
    fact(facts, "version", one.version);
    fact(facts, "up", length(one.uptime_ms - (one.uptime_ms % 1000)));
  } else {
    fact(facts, "no answer", answers.get(member.name)?.error ?? "not asked yet");
  }
  if (view && !isSelf) {
    fact(facts, "seen", `${view.status}, by ${view.by}`);
    fact(facts, "passed over", view.passed_over);
    fact(facts, "last dial", view.failed_dial);
    fact(facts, "round trip", view.rtt_ms === null ? null : length(view.rtt_ms));
  }
  const count = (status(leader()?.name) ?? status(own))?.locks_held?.[member.name];
  fact(facts, "locks", count === undefined ? null : `holds ${count}`);
  fact(facts, "rank", view && view.rank.by !== "id" ? `${view.rank.by} ${view.rank.value ?? "none"}` : null);
  if (one && Number.isFinite(one.lease_remaining_ms)) {
    const left = one.lease_remaining_ms;
    longest.set(member.name, Math.max(left, longest.get(member.name) ?? 1));
    const bar = { "aria-label": `lease of ${member.name}`, max: longest.get(member.name), value: left };
    fact(facts, "lease", el("span", {}, `${length(left)} left `, el("progress", bar)));
  }
  const kind = first && one && leads(one) ? "leads" : one && !one.stalled && state !== "dead" ? "" : "gone";
  const badges = (judged?.badges[member.name] ?? []).map(({ text, colour }) => el("span", { class: `badge ${colour}` }, text));
  const title = el("h3", {}, member.name, el("span", { class: "state" }, state), ...badges);
  return el("li", { class: kind }, title, el("dl", {}, ...facts));
}

function links() {
  const head = el("tr", {}, el("td", {}), ...members.map(({ name }) => el("th", { scope: "col" }, name)));
  const rows = members.map(({ name }) => {
    const view = status(name);
    const cells = members.map((other) => {
      const word = other.name === name ? "itself" : view?.members.find((one) => one.name === other.name)?.status ?? "unknown";
      const sign = { itself: "·", alive: "●", suspected: "◐", dead: "○" }[word] ?? "?";
      return el("td", { class: word }, el("span", { "aria-hidden": "true" }, sign), el("span", { class: "unseen" }, word));
    });
    return el("tr", {}, el("th", { scope: "row" }, name), ...cells);
  });
  const caption = el("caption", {}, "Rows hear columns: ● alive, ◐ suspected, ○ dead, ? no answer");
  return [caption, el("thead", {}, head), el("tbody", {}, ...rows)];
}

// For how long nobody led before: of the present leadership as all members together know it. A node that missed the end of
// the leadership before has 0 ms, which says nothing.
function gap(one) {
  const known = judged?.leadership;
  const all = known && known.epoch === one.epoch && known.leader === one.leader ? known : one;
  return all.leaderless_ms ? length(all.leaderless_ms) : null;
}

function leaderships() {
  const time = (ms) => new Date(ms).toLocaleString();
  return history.slice(-SHOWN).reverse().map((one) => {
    const end = one.lasts ? "" : one.until_ms === null ? " (its end was not seen)" : ` for ${length(one.until_ms - one.since_ms)}`;
    const [led, nobody] = [one.before ? `, after ${one.before}: ${one.reason}` : "", gap(one)];
    const before = led && nobody ? `${led}; nobody led for ${nobody}` : led;
    const what = `${one.leader} in epoch ${one.epoch}${one.lasts ? ", until now" : end}`;
    const button = { type: "button", "data-epoch": one.epoch, "aria-pressed": one.epoch === chosen, "aria-label": `Show the election of epoch ${one.epoch}` };
    const show = el("button", button, "Show");
    return el("li", {}, el("strong", {}, what), " ", show, el("br", {}), el("small", {}, `since ${time(one.since_ms)}${before}`));
  });
}

// The last change of leader, in sentences.
function happened() {
  const last = history.at(-1);
  if (!last?.before) return "";
  const who = last.leader === last.before ? `${last.leader} was elected again` : `${last.leader} took over from ${last.before}`;
  const [what, nobody] = [`${who} at ${new Date(last.since_ms).toLocaleTimeString()} (${last.reason}).`, gap(last)];
  return nobody ? `${what} Nobody led for ${nobody} before.` : what;
}

function strip() {
  const shown = history.slice(-SHOWN);
  const [from, until] = [shown[0]?.since_ms ?? 0, Date.now()];
  by("strip").hidden = shown.length === 0;
  by("strip").replaceChildren(...shown.map((one) => {
    const place = members.findIndex(({ name }) => name === one.leader);
    const part = el("span", { class: `c${(place + 6) % 6}` });
    const at = (ms) => ((ms - from) / (until - from || 1)) * 100;
    part.style.left = `${at(one.since_ms)}%`;
    part.style.width = `${at(one.lasts ? until : (one.until_ms ?? one.since_ms)) - at(one.since_ms)}%`;
    return part;
  }));
}

// A problem, who reports it, and what to do.
function box({ nodes, kind, text, since, remedy }) {
  const title = el("strong", {}, nodes.length === 1 ? `${nodes[0]}: ${text}` : text);
  const by_whom = nodes.length > 1 ? `, as ${nodes.join(", ")} say` : "";
  const more = [kind, since && `since ${since}`].filter(Boolean).join(", ");
  const facts = [more, remedy].filter(Boolean).join(": ");
  return el("li", {}, title, by_whom, ...(facts ? [el("br", {}), el("span", { class: "remedy" }, facts)] : []));
}

function render() {
  const view = status(own);
  if (!view) return;
  const [first, found] = [leader(), judged?.boxes ?? []];
  if (judged) {
    by("verdict").className = judged.colour;
    say("verdict", judged.banner);
  }
  say("happened", first ? happened() : "");
  document.title = `${first ? first.name : "nobody"} leads ${view.cluster}`;
  say("cluster", `${view.cluster}: ${members.length} members, algorithm ${view.algorithm}, quorum ${view.quorum}; shown by ${own}`);
  say("orders", (judged?.orders ?? []).join("\n"));
  const none = el("li", { class: "none" }, "None that a node that answers knows of.");
  show("problems", ...(found.length === 0 ? [none] : found.map(box)));
  show("members", ...members.map(card));
  show("links", ...links());
  show("history", ...leaderships());
  strip();
  say("guarantee", view.guarantee);
  const live = isLive ? "Changes are shown as they happen" : "Changes are shown within seconds, as too many pages listen already";
  say("source", `As ${own} sees it, and the others through it. ${live}.`);
}

async function ask_verdict() {
  judged = await get("verdict");
  render();
}

async function ask(name, path) {
  try {
    const told = await get(path);
    answers.set(name, { status: told });
  } catch (error) {
    answers.set(name, { error: String(error.message ?? error) });
  }
}

async function ask_own() {
  const told = await get("status");
  [own, members, heard] = [told.node.name, told.members, Date.now()];
  answers.set(own, { status: told });
  for (const name of [...answers.keys()]) if (!members.some((member) => member.name === name)) answers.delete(name);
  ask_locks(told).catch(() => {}); // the next look asks again
  // A node notes a leadership in its history some time after it follows the leader.
  const [noted, known] = [told.last_leadership, history.at(-1) ?? null].map((one) => JSON.stringify(one));
  if (noted !== known) history = (await get("history")).leaderships;
}

async function ask_others() {
  const names = members.map((member) => member.name).filter((name) => name !== own);
  const work = async () => {
    for (let name = names.shift(); name !== undefined; name = names.shift()) {
      await ask(name, `peers/${encodeURIComponent(name)}/status`);
      render();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

function mourn() {
  const others = members.filter((member) => member.name !== own && member.admin);
  const { scheme } = document.documentElement.dataset; // of the nodes, whatever a proxy before this page speaks
  const links = others.flatMap((member) => [" ", el("a", { href: `${scheme}://${member.admin}/` }, member.name)]);
  const since = new Date(heard).toLocaleTimeString();
  const silence = `${own ?? "The node"} has not answered since ${since}; what is shown is old.`;
  show("silent", silence, ...(links.length > 0 ? [" The page of another member:", ...links] : []));
  by("silent").hidden = false;
  by("verdict").className = "bad";
}

// Does this, unless it is being done: then once more after that, if something happened.
async function once(what, happened, work) {
  if (asking[what]) {
    missed[what] ||= happened;
    return;
  }
  asking[what] = true;
  try {
    do {
      missed[what] = false;
      await work();
    } while (missed[what]);
  } finally {
    asking[what] = false;
  }
}

async function look(happened = false) {
  await once("own", happened, () => ask_own().then(() => { say("silent", ""); render(); }, mourn));
  if (own !== null) {
    once("election", happened, draw);
    once("verdict", happened, ask_verdict).catch(() => {}); // the next look asks again
    await once("others", happened, ask_others);
  }
}

// A browser has few connections to one node, so that a page that nobody sees gives its own up.
function listen() {
  if (document.hidden || source !== null) return;
  source = new EventSource(`${base}events`);
  source.onopen = () => { isLive = true; };
  source.onerror = () => {
    isLive = source?.readyState !== EventSource.CLOSED;
    if (!isLive) {
      source = null;
      setTimeout(listen, 10000);
    }
  };
  for (const kind of EVENTS) source.addEventListener(kind, () => look(true));
}
