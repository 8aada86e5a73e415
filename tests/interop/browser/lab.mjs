// Shows `electd lab` to a browser: lab.mjs ELECTD CHROMIUM. It writes a line for each thing that works, and ends with 1 if
// something does not.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { check, launch, looksSound, open as openIn } from "./browser.mjs";
import { eventually } from "./cluster.mjs";

const [electd, executablePath] = process.argv.slice(2);
const lab = spawn(electd, ["lab", "--port", "0"], { stdio: ["ignore", "pipe", "ignore"] });
process.on("exit", () => lab.kill());
const [line] = await once(lab.stdout, "data");
const url = String(line).split("\n")[0].trim();
const browser = await launch(executablePath);
const ok = (what) => console.log(`ok       the lab: ${what}`);

// That a bad link is answered with 400 is what the lab says of it.
const open = (link, look) => openIn(browser, url + link, (message) => message.text().includes("status of 400"), look);
const text = (page, at) => page.locator(at).allTextContents().then((all) => all.join("\n"));
const says = (page, at, words) => eventually(`${at} says ${words}`, async () => (await text(page, at)).includes(words));

async function visit(link, use, look) {
  const seen = await open(link, look);
  await use(seen.page);
  check(seen.complaints.length === 0, `${link}: ${seen.complaints.join("\n")}`);
  await seen.close();
}

await visit("#algorithm=all&do=kill5@100&until=1000", async (page) => {
  await says(page, "#count", "89 of 89");
  const runs = await page.locator(".run").allTextContents();
  check(runs.length === 3, `${runs.length} runs`);
  [15, 24, 11].forEach((total, at) => check(runs[at].includes(`= ${total}`), `not ${total} messages: ${runs[at]}`));
  ok("shows three algorithms side by side, with the counts of the formulas");
  await page.locator("#first").click();
  await says(page, "#count", "0 of 89");
  await page.locator("#next").click();
  await says(page, "#now", "ms node-");
  ok("steps");
});

await visit("#algorithm=bully&do=kill5@100", async (page) => {
  await page.locator(".run details summary").click();
  await page.locator(".run .list button", { hasText: "sends ELECTION" }).first().click();
  await page.locator("#drop").click();
  await eventually("the link has it", async () => page.url().includes("drop"));
  await page.goBack();
  await eventually("the link has it no more", async () => !page.url().includes("drop"));
  ok("drops a message, and back undoes it");
  await page.locator("#guess").selectOption("node-4");
  await page.locator("#speed").selectOption("8");
  await page.locator("#predict button").click();
  await says(page, "#verdict", "right, node-4 leads");
  ok("says that a prediction was right");
});

for (const [quorum, is] of [["none", true], ["majority", false]]) {
  await visit(`#algorithm=bully&quorum=${quorum}&do=cut1.2-3.4.5@100&until=3000`, async (page) => {
    await says(page, ".outcome", "In the end");
    check((await text(page, ".outcome")).includes("Two led at once") === is, `${quorum}: ${await text(page, ".outcome")}`);
  });
}
ok("makes two leaders of a cut network without a majority, and none with one");

await visit("#algorithm=bully&do=kill9@100", async (page) => {
  await page.locator("#error").waitFor({ state: "visible" });
  ok("says what is wrong with a link");
});

for (const nodes of [3, 25]) {
  for (const [width, colorScheme] of [[360, "light"], [360, "dark"], [1920, "light"], [1920, "dark"]]) {
    await visit(`#algorithm=all&nodes=${nodes}&do=kill${nodes}@100&until=1000`, async (page) => {
      await says(page, ".outcome", "leads");
      for (const is of ["closed", "open"]) {
        await looksSound(page, `${nodes} members, ${width} pixels, ${colorScheme}, lists ${is}`);
        if (is === "closed") for (const list of await page.locator(".run details summary").all()) await list.click();
      }
    }, { width, colorScheme });
  }
}
ok("3 and 25 members, 360 and 1920 pixels, light and dark: nothing is too wide, axe finds nothing, no error");
await browser.close();
process.exit(0);
