/** Whom an agent starts as a peer, alone or in a group, gets no more than the agent itself has. */

import type { SessionId } from "@aegis/contract/ids.ts";
import { workflow } from "@aegis/plugin-api/workflow.ts";
import type { Engine } from "@aegis/plugin-api/workflow-context.ts";
import { offlineAgent } from "@aegis/project/harnesses/detect.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";
import { type Forest, forest } from "../../../core/delegation/test/subagents/forest.ts";

const careful = { ...offlineAgent, slug: "careful", permission: "read" as const, deny_tools: ["aegis_close"] };
const strong = { ...offlineAgent, slug: "strong", permission: "full" as const };

async function withCareful(): Promise<Forest> {
  const f = await forest({ config: "subagents: { max_spawn_depth: 1 }\n" });
  f.runtime.agents.replace([offlineAgent, careful, strong], { slug: "careful", why: "a test" });
  return f;
}

async function started(f: Forest, handle: string) {
  const { id } = await f.runtime.sessions.resolve(handle);
  const { agent, host } = (await f.turnOf(id)).spec;
  return { agent, tools: (await host.tools.list()).map((tool) => tool.name) };
}

it.each([
  ["aegis_spawn", { agent: "strong", handle: "strong-peer", prompt: "hi" }],
  ["aegis_group_spawn", { group: "crew", profiles: ["strong"], handle: "strong-peer" }],
])("%s passes on the caller's rights and what is denied to it", async (tool, input) => {
  const f = await withCareful();
  expect(await f.call(await f.root(), tool, input)).toMatchObject({ is_error: false });
  const { id } = await f.runtime.sessions.resolve("strong-peer");
  await f.runtime.inbox.admit({ session: id, sender: { kind: "human" }, body: "go" });
  const peer = await started(f, "strong-peer");
  expect(peer.agent).toMatchObject({ slug: "strong", permission: "read" });
  expect(peer.tools).not.toContain("aegis_close");
});

it("a subagent at the last depth does not begin a new tree with a peer", async () => {
  const f = await withCareful();
  const child = await f.spawn(await f.root());
  const refused = await f.call(child.session, "aegis_spawn", { agent: "strong", prompt: "hi" });
  expect(refused).toMatchObject({ is_error: true, output: expect.stringContaining("permission_error") });
});

it("a peer stands one deeper than the session that started it, and starts no others at the last depth", async () => {
  const f = await withCareful();
  await f.call(await f.root(), "aegis_spawn", { agent: "strong", handle: "strong-peer", prompt: "hi" });
  const peer = await started(f, "strong-peer");
  for (const tool of ["sessions_spawn", "agent", "aegis_spawn", "aegis_group_spawn"])
    expect(peer.tools).not.toContain(tool);
  const id: SessionId = (await f.runtime.sessions.resolve("strong-peer")).id;
  expect((await f.runtime.store.read.sessions.get(id))?.depth).toBe(1);
  expect((await f.call(id, "sessions_spawn", { task: "x" })).output).toContain("permission_error");
});

it("a workflow passes on the rights of the session it works for", async () => {
  const f = await withCareful();
  await f.runtime.workflows.launch();
  const start = workflow("start", {}, async (engine) => (engine as Engine).spawn("strong"));
  f.runtime.workflows.add(start, "a test");
  const { id } = await f.runtime.workflows.start({ workflow: "start", host: await f.root(), callback: false });
  await waitUntil("it is over", async () => (await f.runtime.workflows.runs.find(id)).status !== "running");
  expect(await f.runtime.workflows.runs.find(id)).toMatchObject({ status: "ok" });
  const rows = await f.runtime.store.read.sessions.list();
  expect(rows.find((row) => row.agent === "strong")?.limits).toMatchObject({
    permission: "read",
    deny_tools: expect.arrayContaining(["aegis_close"]),
  });
});

it("a person's session has all its agent has", async () => {
  const f = await withCareful();
  const { session } = await f.runtime.sessions.create({ agent: "strong", prompt: "hi" });
  expect((await started(f, session.handle)).agent.permission).toBe("full");
});
