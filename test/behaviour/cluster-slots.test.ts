// @module-tag slow
/** Three nodes fire each slot of a schedule once; a node with other settings fires none. */

import type { SessionId } from "@aegis/contract/ids.ts";
import { describe, expect, it } from "vitest";
import { newProjectName, noPostgres } from "../helpers/cluster.ts";
import { filePostgres } from "../helpers/file-postgres.ts";
import { type ClusterNode, clientOf, startNodes } from "../helpers/nodes.ts";
import { scaled } from "../helpers/slowness.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const config = (more = "") => ({
  ".aegis.yaml": `
default_agent: dev
agents:
  dev: { harness: scripted }
${more}schedules:
  minute: { agent: dev, prompt: tick, cron: "* * * * *" }
`,
});

const minuteMs = 60_000;

describe.skipIf(noPostgres !== null)("a schedule of three nodes", { timeout: scaled(240_000) }, () => {
  const postgres = filePostgres();

  it("fires each slot once, and never on the node that is drifted", async () => {
    const project = newProjectName();
    const [one, two] = await startNodes(postgres.url, config(), ["one", "two"], { project });
    const [three] = await startNodes(postgres.url, config("  other: { harness: scripted }\n"), ["three"], { project });
    const nodes = [one, two, three] as ClusterNode[];
    const [agreed, client] = [nodes.slice(0, 2), await clientOf(three as ClusterNode)];
    expect((await client.call("listNodes")).nodes.filter((node) => node.drifted).map(({ name }) => name)).toEqual([
      "three",
    ]);
    const firings = async () => (await client.call("listFirings", { query: { schedule: "minute" } })).firings;
    const pids = await Promise.all(agreed.map((node) => node.daemonPid()));

    // Only the drifted node is awake when the slot is due.
    const slot = Math.ceil((Date.now() + 3_000) / minuteMs) * minuteMs;
    await waitUntil("the slot is near", () => Date.now() > slot - 1_000, 2 * minuteMs);
    for (const pid of pids) process.kill(pid ?? 0, "SIGSTOP");
    let early = 0;
    try {
      await waitUntil("the slot has passed", () => Date.now() > slot + 500, 2 * minuteMs);
      early = (await firings()).filter((firing) => firing.slot === slot).length;
    } finally {
      for (const pid of pids) process.kill(pid ?? 0, "SIGCONT");
    }
    expect(early).toBe(0);
    await waitUntil(
      "it has fired",
      async () => (await firings()).some((one) => one.slot === slot && one.effect),
      60_000,
    );
    await waitUntil(
      "the next slot has fired",
      async () => (await firings()).some((one) => one.slot > slot),
      2 * minuteMs,
    );
    const slots = (await firings()).map((firing) => firing.slot);
    expect(new Set(slots).size).toBe(slots.length);
    const started = (await firings()).flatMap(({ effect }) => effect ?? []);
    for (const session of started) {
      const { node } = (await client.call("getSession", { path: { session: session as SessionId } })).session;
      expect(["one", "two"]).toContain(node);
    }
  });
});
