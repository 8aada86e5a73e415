// Nodes of electd on this machine, for a test to watch and to kill.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";

// Something is wrong that does not come right by waiting.
export class Broken extends Error {}

// Tries until this returns something; it may throw meanwhile. Gives that, and how long it took, in ms.
export async function eventually(what, attempt, limit = 20000) {
  const start = performance.now();
  for (;;) {
    let why = "not so";
    try {
      const value = await attempt();
      if (value) return { value, took: Math.round(performance.now() - start) };
    } catch (error) {
      if (error instanceof Broken) throw error;
      why = error;
    }
    if (performance.now() - start > limit) throw new Error(`not within ${limit} ms: ${what}: ${why}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

// No node outlives this process, however it ends.
const running = new Set();
process.on("exit", () => running.forEach((node) => node.kill("SIGKILL")));
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(130));

export class Cluster {
  // So many members, whose ports begin here, and of which so many run; `keys` go into the file.
  constructor(electd, folder, { count, port, running = count, keys = {} }) {
    Object.assign(this, { electd, port, config: `${mkdtempSync(`${folder}/nodes-`)}/cluster.json`, nodes: new Map() });
    this.run("init", "--nodes", count, "--base-port", port, "--out", this.config);
    writeFileSync(this.config, JSON.stringify({ ...JSON.parse(readFileSync(this.config)), ...keys }));
    this.names = Array.from({ length: count }, (_, at) => `node-${at + 1}`);
    this.names.slice(0, running).forEach((name) => this.start(name));
  }

  start(name) {
    const args = ["run", "--config", this.config, "--node", name];
    const node = spawn(this.electd, args, { stdio: "ignore" });
    this.nodes.set(name, node);
    running.add(node.once("exit", () => running.delete(node)));
  }

  // What a command of electd writes.
  run(...args) {
    const { stdout, stderr, status } = spawnSync(this.electd, args.map(String), { encoding: "utf8" });
    if (status !== 0) throw new Error(`electd ${args.join(" ")}: ${stderr}`);
    return stdout;
  }

  // The last election, as `electd trace` tells it.
  trace() {
    return JSON.parse(this.run("trace", "--last", "--output", "json", "--config", this.config));
  }

  admin(name) {
    return { host: "127.0.0.1", port: this.port + 100 + this.names.indexOf(name) };
  }

  url(name) {
    return `http://127.0.0.1:${this.admin(name).port}/`;
  }

  kill(name) {
    this.nodes.get(name).kill("SIGKILL");
    this.nodes.delete(name);
  }

  async stop() {
    const left = [...this.nodes.values()].filter((node) => running.has(node));
    const ended = left.map((node) => new Promise((resolve) => node.once("exit", resolve)));
    left.forEach((node) => node.kill("SIGTERM"));
    await Promise.all(ended);
  }
}

// A proxy that shows a server below a path.
export async function proxy({ host, port }, path) {
  const server = createServer((asked, answer) => {
    if (!asked.url.startsWith(path)) return answer.writeHead(404).end();
    const { method, headers } = asked;
    const onward = request({ host, port, method, headers, path: `/${asked.url.slice(path.length)}` }, (told) => {
      answer.writeHead(told.statusCode, told.headers);
      told.pipe(answer);
    });
    onward.on("error", () => answer.destroy());
    answer.on("close", () => onward.destroy());
    onward.end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}${path}`, close: () => server.closeAllConnections() || server.close() };
}

// Reads the events of a node, and gives the HTTP status with a way to stop.
export function listen({ host, port }) {
  return new Promise((resolve, reject) => {
    const asked = request({ host, port, path: "/events" }, (told) => {
      told.on("error", () => {}).resume();
      resolve({ status: told.statusCode, close: () => asked.destroy() });
    });
    asked.on("error", reject).end();
  });
}
