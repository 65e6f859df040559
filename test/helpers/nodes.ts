/** Several daemons on one database, each in a project folder of its own. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Client } from "@aegis/client/client.ts";
import { connect } from "@aegis/client/project/connect.ts";
import type { Session } from "@aegis/contract/session.ts";
import { expect } from "vitest";
import { type AegisProject, aegisProject } from "./aegis.ts";
import { type ClusterSection, clusterFile, databaseVariable, newProjectName } from "./cluster.ts";
import type { ProjectFiles } from "./project-folder.ts";
import { scaled } from "./slowness.ts";

export type ClusterNode = AegisProject & { node: string };

/** A busy machine must not lose a lease. */
export function testLease(): { ms: number; text: string } {
  const seconds = Math.max(3, Math.ceil(scaled(2_000) / 1_000));
  return { ms: seconds * 1_000, text: `${seconds}s` };
}

/** Starts one daemon for each name. */
export async function startNodes(
  url: string,
  files: ProjectFiles,
  names: readonly string[],
  more: ClusterSection = {},
): Promise<ClusterNode[]> {
  const project = typeof more.project === "string" ? more.project : newProjectName();
  const lease = testLease().text;
  return Promise.all(
    names.map(async (node) => {
      const made = await aegisProject({ ...files, ...clusterFile(project, { node, lease, ...more }) });
      made.env[databaseVariable] = url;
      const { code, stderr } = await made.aegis("up");
      expect(code, stderr).toBe(0);
      return { ...made, node };
    }),
  );
}

/** Lets agents that wait for this file go on, on whichever node they run. */
export async function openGate(nodes: readonly ClusterNode[], name: string): Promise<void> {
  for (const { root } of nodes) {
    const file = join(root, "gates", name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, "");
  }
}

export async function sessionsAt(node: ClusterNode): Promise<Session[]> {
  return (await node.json<{ sessions: Session[] }>("ps")).sessions;
}

/** A client of the node's API. */
export function clientOf(node: ClusterNode): Promise<Client> {
  return connect(node.root, { env: node.env });
}
