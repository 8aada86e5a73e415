// Shows the page of electd to a browser: page.mjs ELECTD CHROMIUM FOLDER [SCREENSHOTS]. It writes a line for each thing that
// works, and ends with 1 if something does not.
import { mkdirSync } from "node:fs";
import { check, launch, looksSound, open as openIn } from "./browser.mjs";
import { Broken, Cluster, eventually, listen, proxy } from "./cluster.mjs";

const [electd, executablePath, folder, shots] = process.argv.slice(2);
// How soon a failover has to be on the page. It takes a fraction of that on a quiet machine.
const SOON = 1000;

let failed = false;
const ok = (what) => console.log(`ok       the page: ${what}`);
const browser = await launch(executablePath);

// That a node has no answer of a dead member is what the page shows, and no fault of it.
const isOfDead = (message) => message.text().includes("status of 502") && message.location().url.includes("/peers/");
const open = (url, look) => openIn(browser, url, isOfDead, look);

async function shoot(page, name, options = {}) {
  if (!shots) return;
  mkdirSync(shots, { recursive: true });
  await page.locator("#drawing").scrollIntoViewIfNeeded(); // a frame that was never in sight is not painted
  await page.screenshot({ path: `${shots}/${name}.png`, ...options });
}

// The frame that is shown, with what it draws.
async function drawing(page) {
  const frames = await page.locator("#drawing iframe").elementHandles();
  check(frames.length === 1, `${frames.length} drawings`);
  const frame = await frames[0].contentFrame();
  check(frame !== null, "the drawing was detached");
  const data = JSON.parse(await frame.locator("#data").textContent({ timeout: 1000 }));
  return { frame, data };
}

const verdict = (page) => page.locator("#verdict").textContent();
const leads = (page, name) => eventually(`${name} leads`, async () => (await verdict(page)).startsWith(`${name} leads`));

// An election by what happened, without the times, which each who merges it estimates anew.
function events({ events }) {
  return events.map(({ member, what, label, to, lost, unseen }) => JSON.stringify([member, what, label, to, lost, unseen])).sort().join("\n");
}

// That the page and its drawing are sound, and that the browser has not complained.
async function isSound({ page, complaints }, what) {
  await looksSound(page, what);
  // While more is told of the election, the drawing is loaded again.
  await eventually(`${what}: a drawing that stays`, async () => {
    try {
      await looksSound((await drawing(page)).frame, what);
      return true;
    } catch (error) {
      if (/detached|drawings|Timeout/.test(error.message)) return false;
      throw new Broken(error.message);
    }
  });
  check(complaints.length === 0, `${what}: ${complaints.join("\n")}`);
}

async function followsAFailover(cluster) {
  const seen = await open(cluster.url("node-1"));
  const { page } = seen;
  await leads(page, "node-5");
  const before = (await eventually("the first election is drawn", () => drawing(page))).value.data;
  await shoot(page, "before", { fullPage: true });
  // The page itself notes when it changes: this process may be late.
  await page.evaluate(() => {
    window.changed = {};
    const note = (id) => new MutationObserver(() => { window.changed[id] = Date.now(); }).observe(document.getElementById(id), { childList: true });
    ["verdict", "drawing"].forEach(note);
  });
  const killed = Date.now();
  cluster.kill("node-5");
  await leads(page, "node-4");
  await eventually("the failover is drawn", async () => {
    const { data } = await drawing(page);
    return data.title !== before.title && data.events.some(({ what, label }) => what === "becomes" && label.startsWith("leads"));
  });
  await shoot(page, "during", { fullPage: true });
  let told = [];
  await eventually("what is drawn is what `electd trace` tells", async () => {
    told = [events(cluster.trace()), events((await drawing(page)).data)];
    return told[0] === told[1];
  }).catch((error) => {
    const [first, second] = told.map((events) => new Set(events.split("\n")));
    const only = (one, other) => [...one].filter((event) => !other.has(event)).join("\n");
    throw new Error(`${error.message}\nonly told:\n${only(first, second)}\nonly drawn:\n${only(second, first)}`);
  });
  const changed = await page.evaluate(() => window.changed);
  check(changed !== undefined, "the page was loaded again");
  const [words, all] = [changed.verdict - killed, changed.drawing - killed];
  const cards = () => page.locator("#members > li").allTextContents();
  await eventually("the card of node-4 says that it leads", async () => (await cards()).some((card) => card.startsWith("node-4leading")));
  // On a busy host a member may have missed the proof of its death, and hears nothing.
  const [dead, lost] = ["", ", #links td.suspected"].map((more) => page.locator(`#links td.dead${more}`));
  await eventually("the table says that node-5 is dead", async () => (await dead.count()) >= 1 && (await lost.count()) >= 3);
  await shoot(page, "after", { fullPage: true });
  const what = `the failover after a kill -9 of 5: in words after ${words} ms, drawn as \`electd trace\` tells it after ${all} ms`;
  check(seen.complaints.length === 0, seen.complaints.join("\n"));
  return { ...seen, what, isSoon: all <= SOON };
}

async function showsAnEarlierElection({ page }) {
  const last = (await drawing(page)).data.title;
  await page.locator("#history button").nth(1).click();
  const { value } = await eventually("the earlier election is drawn", async () => {
    const { data } = await drawing(page);
    return data.title !== last && data;
  });
  check(value.title.includes("Election of epoch"), value.title);
  await page.locator("#latest").click();
  await eventually("the last one is drawn again", async () => (await drawing(page)).data.title.slice(0, 20) === last.slice(0, 20));
  ok("draws an earlier election when it is chosen, and the last one again");
}

// A member may have been asked before it took part, or may have been too slow: what is not known at first is drawn later.
async function drawsAgain(cluster) {
  const { page, close } = await open(cluster.url("node-1"));
  const spoil = [
    ["a message of which one end is not known", 2, (told) => { told.events.find(({ what }) => what === "sends").unseen = "departure"; }],
    ["a member that has not answered", 5, (told) => { told.silent.push("node-2"); }],
  ];
  for (const [what, answers, change] of spoil) {
    let spoilt = answers; // still to come
    let drawings = 0;
    const handler = async (route) => {
      if (route.request().resourceType() === "document") {
        drawings += 1;
        return route.continue();
      }
      const response = await route.fetch();
      const told = await response.json();
      if (spoilt > 0) {
        change(told);
        spoilt -= 1;
      }
      return route.fulfill({ response, json: told });
    };
    await page.goto("about:blank"); // the page before asks no more
    await page.route("**/elections/last", handler);
    await page.goto(cluster.url("node-1"));
    // On a busy host the first drawing may be asked for after all spoilt answers: only their number is sure.
    await eventually(`${what}: it is drawn again`, () => spoilt === 0 && drawings > 1);
    await page.unrouteAll({ behavior: "ignoreErrors" }); // one may be under way
  }
  await close();
  ok("draws an election again when more is known of a message, or a member answers that was silent");
}

// A node follows a leader before it notes the leadership in its history.
async function asksAgainForTheHistory(cluster) {
  const { page, close } = await open("about:blank");
  let spoilt = 1; // still to come
  await page.route("**/history", async (route) => {
    const response = await route.fetch();
    const told = await response.json();
    if (spoilt > 0) told.leaderships.pop();
    spoilt -= 1;
    return route.fulfill({ response, json: told });
  });
  await page.goto(cluster.url("node-1"));
  await eventually("the last leadership is listed", async () => {
    const last = await page.locator("#history li").allTextContents();
    return spoilt < 0 && last.some((one) => one.startsWith("node-4 in epoch"));
  });
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await close();
  ok("asks again for the history until it has the leadership that its node noted last");
}

async function stepsByKeys({ page }) {
  const { frame } = await drawing(page);
  await frame.locator("#list").focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowRight");
  check((await frame.locator("#count").textContent()).startsWith("1 of "), "no step by a key");
  ok("steps through the drawing by keys");
}

async function zooms({ page }) {
  const { frame } = await drawing(page);
  const svg = frame.locator("#drawing svg");
  const natural = await svg.evaluate((drawn) => drawn.viewBox.baseVal.width);
  const width = () => svg.evaluate((drawn) => Number(drawn.getAttribute("width")));
  const press = async (name, times) => {
    for (let time = 0; time < times; time += 1) await frame.locator(name).click();
    return Number(((await width()) / natural).toFixed(6));
  };
  const fit = await press("#fit", 1);
  check(fit > 0.1 && fit <= 1, `it fits at ${fit}`);
  const [larger, smaller] = [await press("#in", 1), await press("#out", 1)];
  check(larger > fit && smaller < larger, `${fit}, larger ${larger}, smaller ${smaller}`);
  const [most, least] = [await press("#in", 20), await press("#out", 40)];
  check(most === 5 && least === 0.1, `the largest is ${most}, the smallest ${least}`);
  check((await press("#fit", 1)) === fit, "it does not fit again");
  ok("zooms within limits");
}

async function worksBelowAPath(cluster) {
  const way = await proxy(cluster.admin("node-2"), "/electd/");
  const seen = await open(way.url);
  await leads(seen.page, "node-4");
  await isSound(seen, "below a path");
  check((await seen.page.locator("#source").textContent()).includes("as they happen"), "no events below a path");
  await seen.close();
  way.close();
  ok("works below a path of a proxy");
}

async function saysThatTooManyListen(cluster) {
  const streams = await Promise.all(Array.from({ length: 32 }, () => listen(cluster.admin("node-3"))));
  const { page, close } = await open(cluster.url("node-3"));
  await eventually("it is said", async () => (await page.locator("#source").textContent()).includes("too many pages listen"));
  await leads(page, "node-4");
  await eventually("there is a drawing all the same", () => drawing(page));
  streams.forEach((stream) => stream.close());
  await close();
  ok("says so if 32 others listen, and shows all the same");
}

async function saysThatItsNodeIsGone(cluster, { page }) {
  cluster.kill("node-1");
  await eventually("it is said", async () => (await page.locator("#silent").textContent()).includes("node-1 has not answered"));
  const links = await page.locator("#silent a").evaluateAll((all) => all.map(({ href }) => href));
  check(links.includes(cluster.url("node-4")), `${links}`);
  await shoot(page, "gone");
  ok("says that its node is gone, and where other pages are");
}

// As if the cluster had 2,000 locks: the rows in sight alone are in the document, and unless the table changes nobody asks again.
async function showsTheLocks(cluster) {
  const free = 7;
  const locks = Array.from({ length: 2000 }, (_, at) => ({
    name: `job-${String(at).padStart(4, "0")}`, candidates: ["node-1", "node-2"],
    ...(at === free ? { holder: null, token: null, since_ms: null, reason: "so it is" } : { holder: `node-${1 + (at % 3)}`, token: at + 1, since_ms: Date.now(), reason: null }),
  }));
  const seen = await open("about:blank");
  const { page } = seen;
  const asked = { status: 0, locks: 0 };
  await page.route((url) => url.pathname === "/status", async (route) => {
    const response = await route.fetch();
    asked.status += 1;
    const more = { locks_version: { epoch: 1, counter: 2000 }, locks_held: { "node-1": 667, "node-2": 666, "node-3": 666 }, locks_unheld: 1 };
    return route.fulfill({ response, json: { ...(await response.json()), ...more } });
  });
  await page.route((url) => url.pathname === "/locks", (route) => {
    const after = new URL(route.request().url()).searchParams.get("after");
    const from = after === null ? 0 : locks.findIndex(({ name }) => name === after) + 1;
    const part = locks.slice(from, from + 500);
    asked.locks += 1;
    return route.fulfill({ json: { coordinator: "node-3", version: null, unavailable: null, locks: part, next: from + 500 < locks.length ? part.at(-1).name : null } });
  });
  await page.goto(cluster.url("node-1"));
  const rows = page.locator("#locks-rows tr");
  const names = () => page.locator("#locks-rows th").allTextContents();
  await eventually("the locks are there", async () => (await page.locator("#locks-told").textContent()).startsWith("2000 locks; nobody holds 1 of them"));
  check((await rows.count()) < 60, `${await rows.count()} rows`);
  const before = asked.status;
  await eventually("the node is asked further", () => asked.status > before + 2);
  check(asked.locks <= 8, `the locks were asked for ${asked.locks} times`); // a second time after 10 s
  await page.locator("#locks-scroll").evaluate((place) => { place.scrollTop = place.scrollHeight; });
  await eventually("the last lock is in sight", async () => (await names()).at(-1) === "job-1999");
  check((await rows.count()) < 60, `${await rows.count()} rows at the end`);
  const took = await page.evaluate(() => {
    const place = document.getElementById("locks-scroll");
    const start = performance.now();
    for (let at = 0; at < 100; at += 1) {
      place.scrollTop = at * 500;
      render_locks();
    }
    return (performance.now() - start) / 100;
  });
  await page.locator("#locks-filter").fill("nobody");
  await eventually("the filter finds the lock that nobody holds", async () => (await names()).join() === "job-0007");
  check((await rows.first().textContent()).includes("so it is"), "no reason");
  await page.locator("#locks-filter").fill("NODE-2");
  await eventually("the filter finds a holder", async () => (await page.locator("#locks-told").textContent()).startsWith("666 of 2000"));
  await isSound(seen, "with 2,000 locks");
  await shoot(page, "locks", { fullPage: true });
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await seen.close();
  ok(`shows 2,000 locks with a filter, of which the rows in sight alone are drawn, in ${took.toFixed(1)} ms`);
}

async function looksWell(cluster, name, looks) {
  for (const [width, colorScheme] of looks) {
    const seen = await open(cluster.url("node-1"), { width, height: width === 360 ? 740 : 1080, colorScheme });
    await leads(seen.page, name);
    await eventually("all members are asked", async () => !(await seen.page.locator("#members").textContent()).includes("not asked yet"));
    const what = `${cluster.names.length}-${width}-${colorScheme}`;
    await isSound(seen, what);
    await shoot(seen.page, what, { fullPage: true });
    await seen.close();
  }
  const all = looks.map((look) => look.join(" pixels ")).join(", ");
  ok(`${cluster.names.length} members, ${all}: nothing is too wide, axe finds nothing, no error`);
}

async function withCluster(plan, use) {
  const cluster = new Cluster(electd, folder, plan);
  try {
    // Before that there is no drawing to ask for, and the browser would complain that it is not there.
    await eventually("an election is recorded", () => cluster.trace());
    await use(cluster);
  } catch (error) {
    failed = true;
    console.log(`FAILED   the page, ${plan.count} members: ${error.stack ?? error}`);
  } finally {
    await cluster.stop();
  }
}

// What certifies the death of a node answers at its port for a while, so each cluster has ports of its own.
let port = 17101;
const ports = () => (port += 200);

// On a host that is busy with something else the page may be late: this is tried twice more, and said.
async function failover(keys, use) {
  for (let attempt = 1, isDone = false; attempt <= 3 && !isDone && !failed; attempt += 1) {
    await withCluster({ count: 5, port: ports(), keys }, async (cluster) => {
      const seen = await followsAFailover(cluster);
      if (!seen.isSoon) console.log(`late     the page: ${seen.what}`);
      isDone = seen.isSoon || attempt === 3;
      if (!isDone) return;
      ok(`${keys.algorithm}, quorum ${keys.quorum}: follows ${seen.what}`);
      await use(cluster, seen);
    });
  }
}
await failover({ algorithm: "bully", quorum: "none" }, async (cluster, seen) => {
  await showsAnEarlierElection(seen);
  await drawsAgain(cluster);
  await asksAgainForTheHistory(cluster);
  await stepsByKeys(seen);
  await zooms(seen);
  await worksBelowAPath(cluster);
  await saysThatTooManyListen(cluster);
  await saysThatItsNodeIsGone(cluster, seen);
});
for (const algorithm of ["bully", "halting", "ring"]) {
  for (const quorum of ["none", "majority"]) {
    if (algorithm !== "bully" || quorum !== "none") await failover({ algorithm, quorum }, async () => {});
  }
}
await withCluster({ count: 3, port: ports() }, async (cluster) => {
  await showsTheLocks(cluster);
  await looksWell(cluster, "node-3", [[360, "light"], [360, "dark"], [1920, "light"], [1920, "dark"]]);
});
// All of 25 would keep two processors busy with themselves.
await withCluster({ count: 25, port: ports(), running: 6 }, (cluster) => looksWell(cluster, "node-6", [[360, "light"], [1920, "dark"]]));
await browser.close();
process.exit(failed ? 1 : 0);
