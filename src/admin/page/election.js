// The drawing of an election. It is a document of its own from the same node, in a frame that may run its own script and
// do nothing else; it is loaded again when what the members tell of the election has changed.
const SOON = 200; // ms until the next look at an election of which more may be told
const OLD = 500; // ms: an answer may be for somebody who asked before
let stood = { how: "", since: 0 }; // how things stand, since when
let settled = ""; // how things stood when nothing more was told
let drawn = ""; // what is drawn

// How things stand: while this stays, no member has more to tell.
function standing() {
  if (chosen !== "last") return String(chosen);
  return JSON.stringify(members.map(({ name }) => [name, status(name)?.state, status(name)?.epoch, status(name)?.incarnation]));
}

function load(title) {
  const path = `${base}elections/${chosen}`;
  by("alone").href = path;
  const frame = el("iframe", { src: path, title });
  // The old drawing stays until the new one is there.
  frame.addEventListener("load", () => {
    while (frame.previousSibling) frame.previousSibling.remove();
  });
  by("drawing").append(frame);
}

function words({ epoch, leader, leaders, messages, left_out }) {
  const names = leaders?.length > 1 ? `${leaders.join(" and ")} were` : `${leader ?? "A member that nobody names"} was`;
  const what = epoch === null ? "Nobody is elected yet" : `${names} elected, in epoch ${epoch}`;
  const earlier = left_out === 0 ? "" : ` ${left_out} earlier events are left out.`;
  return `${what}. The members sent each other ${messages.total} messages for it, as they recorded.${earlier}`;
}

// What happened, but for the times and the order, which are estimated anew whenever the members are asked. An election that is
// under way grows for as long as it lasts: it is drawn again when the members stand in another way, or when it is over.
function content({ epoch, leader, silent, events }) {
  if (epoch === null) return JSON.stringify([chosen, silent, standing()]);
  const all = events.map(({ member, what, label, to, lost, unseen }) => JSON.stringify([member, what, label, to, lost, unseen]));
  return JSON.stringify([chosen, epoch, leader, silent, all.sort()]);
}

// Whether all members that answer have told what they recorded.
function isWhole({ epoch, silent }) {
  return epoch !== null && !silent.some(status);
}

async function draw() {
  const [stands, asked, at] = [standing(), chosen, performance.now()];
  if (stands === settled) return;
  if (stands !== stood.how) stood = { how: stands, since: at };
  let told;
  try {
    told = await get(`elections/${asked}`);
  } catch (error) {
    if (asked === chosen) say("told", `No drawing: ${error.message}.`);
    return; // until the next look
  }
  if (asked !== chosen) return;
  const found = content(told);
  if (found !== drawn) {
    drawn = found;
    say("told", words(told));
    load(told.title);
  } else if (at - stood.since > OLD) {
    if (isWhole(told)) settled = stands;
    return;
  }
  setTimeout(() => look(), SOON);
}

function choose(which) {
  chosen = which;
  settled = drawn = "";
  by("latest").hidden = which === "last";
  say("election-title", which === "last" ? "The last election" : `The election of epoch ${which}`);
  render();
  once("election", true, draw);
}

by("history").addEventListener("click", ({ target }) => {
  const button = target.closest("button[data-epoch]");
  if (button === null) return;
  choose(Number(button.dataset.epoch));
  by("election-title").scrollIntoView();
});
by("latest").addEventListener("click", () => choose("last"));

look();
listen();
setInterval(() => document.hidden || look(), EVERY);
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    source?.close();
    source = null;
  } else {
    listen();
    look();
  }
});
