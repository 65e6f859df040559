// @module-tag slow
/** A node whose settings differ from those of the cluster does not change the rows of schedules. */

import type { NodeView } from "@aegis/contract/node.ts";
import type { ScheduleView } from "@aegis/contract/schedule.ts";
import { describe, expect, it } from "vitest";
import { newProjectName, noPostgres } from "../helpers/cluster.ts";
import { filePostgres } from "../helpers/file-postgres.ts";
import { type ClusterNode, startNodes } from "../helpers/nodes.ts";
import { scaled } from "../helpers/slowness.ts";

const files = {
  ".aegis.yaml": `
default_agent: dev
agents:
  dev: { harness: scripted }
`,
};

const drifted = async (node: ClusterNode) =>
  (await node.json<{ nodes: NodeView[] }>("nodes")).nodes.filter((one) => one.drifted).map(({ name }) => name);

const view = async (node: ClusterNode) =>
  (await node.json<{ schedule: ScheduleView }>("schedule", "show", "odd")).schedule;

const add = (node: ClusterNode) =>
  node.aegis("schedule", "add", "odd", "--agent", "dev", "--prompt", "hello", "--cron", "0 0 1 1 *");

describe.skipIf(noPostgres !== null)("a node with other settings", { timeout: scaled(60_000) }, () => {
  const postgres = filePostgres();

  it("neither stores nor removes a schedule until the nodes agree", async () => {
    const project = newProjectName();
    // One after the other: with two nodes, the settings of the one that joined first are the agreed ones.
    const [one] = (await startNodes(postgres.url, files, ["one"], { project })) as [ClusterNode];
    const [two] = (await startNodes(postgres.url, files, ["two"], { project })) as [ClusterNode];
    expect(await drifted(one)).toEqual([]);

    // The command returns after the node has applied its new file.
    expect((await add(two)).code).toBe(0);
    expect([await drifted(one), await drifted(two)]).toEqual([["two"], ["two"]]);
    expect((await two.aegis("nodes")).stdout).toMatch(/two \* .*drifted/);
    // Without a row the schedule has no next slot.
    expect(await view(two)).toMatchObject({ next_at: null, fires: 0 });

    // The other node gets the same file: both agree, and one of them stores the schedule.
    expect((await add(one)).code).toBe(0);
    expect(await drifted(two)).toEqual([]);
    expect((await view(two)).next_at).not.toBeNull();

    // A node that has removed the schedule does not remove it for the others.
    expect((await two.aegis("schedule", "remove", "odd")).code).toBe(0);
    expect(await drifted(one)).toEqual(["two"]);
    expect((await view(one)).next_at).not.toBeNull();
  });
});
