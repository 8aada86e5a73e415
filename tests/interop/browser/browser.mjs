// A browser that tests look into.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export function check(is, what) {
  if (!is) throw new Error(what);
}

// Starts the browser at this path.
export function launch(executablePath) {
  return chromium.launch({
    executablePath,
    args: [
      "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync",
    ],
  });
}

// Opens a page; all that the browser finds wrong with it is in `complaints`, but for what `isKnown`.
export async function open(browser, url, isKnown, { width = 1280, height = 900, colorScheme = "light" } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme });
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()) && !isKnown(message)) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.goto(url);
  return { page, complaints, close: () => context.close() };
}

// That nothing is wider than the window, and that axe finds nothing.
export async function looksSound(part, what) {
  const [wide, window] = await part.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  check(wide <= window, `${what}: ${wide} pixels in a window of ${window}`);
  await part.evaluate(axe);
  const { violations } = await part.evaluate(() => globalThis.axe.run({ iframes: false }));
  const words = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join("; ")}`);
  check(words.length === 0, `${what}: axe: ${words.join("\n")}`);
}
