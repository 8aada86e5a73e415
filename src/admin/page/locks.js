// The locks: who holds each, since when, and what was before. Only the rows in sight are in the document, however many there
// are, and all are asked for only when the table has changed.
const ROW = 28; // px, as the style has it
const AROUND = 8; // rows above and below those in sight
const CANDIDATES = 10000; // ms: who else wants a lock changes without the table

let locks = [];
let unavailable = null; // why no lock can be had
let lookedAt = { stands: "", ms: 0 };

async function ask_locks(told) {
  const stands = JSON.stringify([told.locks_version, told.locks_held, told.locks_unheld]);
  if (stands === lookedAt.stands && (locks.length === 0 || Date.now() - lookedAt.ms < CANDIDATES)) return;
  const all = [];
  let page = null;
  do {
    page = await get(page === null ? "locks" : `locks?after=${page.next}`);
    all.push(...page.locks);
  } while (page.next !== null);
  [locks, unavailable] = [all, page.unavailable];
  lookedAt = { stands, ms: Date.now() };
  render_locks();
}

function found() {
  const wanted = by("locks-filter").value.trim().toLowerCase();
  const has = (lock) => lock.name.includes(wanted) || (lock.holder ?? "nobody").toLowerCase().includes(wanted);
  return wanted === "" ? locks : locks.filter(has);
}

function lock_row(lock, at) {
  const others = lock.candidates.filter((name) => name !== lock.holder).join(", ");
  const since = lock.since_ms === null ? "" : new Date(lock.since_ms).toLocaleString();
  const why = lock.reason ?? lock.before?.reason ?? "";
  const cells = [lock.holder ?? "nobody", since, String(lock.token ?? ""), others, why];
  const name = el("th", { scope: "row", title: lock.name }, lock.name);
  const bad = lock.holder === null || lock.reason !== null;
  return el("tr", { "aria-rowindex": String(at + 2), class: bad ? "free" : "" }, name, ...cells.map((text) => el("td", { title: text }, text)));
}

function render_locks() {
  by("locks").hidden = locks.length === 0;
  if (locks.length === 0) return;
  const [all, place] = [found(), by("locks-scroll")];
  const first = Math.max(0, Math.min(Math.floor(place.scrollTop / ROW), all.length - 1) - AROUND);
  const rows = all.slice(first, first + Math.ceil(place.clientHeight / ROW) + 2 * AROUND);
  by("locks-table").setAttribute("aria-rowcount", String(all.length + 1));
  by("locks-before").style.height = `${first * ROW}px`;
  by("locks-after").style.height = `${(all.length - first - rows.length) * ROW}px`;
  show("locks-rows", ...rows.map((lock, at) => lock_row(lock, first + at)));
  const free = locks.filter((lock) => lock.holder === null).length;
  const shown = all.length === locks.length ? "" : `${all.length} of `;
  const nobody = free === 0 ? "" : `; nobody holds ${free} of them, which are wanted`;
  const others = status(own)?.state === "leading" ? "" : " Who else wants a lock the leader alone knows.";
  say("locks-told", `${shown}${locks.length} locks${nobody}.${others}${unavailable ? " No lock can be had now: see the notes." : ""}`);
}

by("locks-filter").addEventListener("input", () => {
  by("locks-scroll").scrollTop = 0;
  render_locks();
});
by("locks-scroll").addEventListener("scroll", () => requestAnimationFrame(render_locks));
