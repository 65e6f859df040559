// @module-tag slow
import type { Client } from "@aegis/client/client.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import { describe, expect, it } from "vitest";
import { type Project, testProject } from "../helpers/project.ts";
import { announcements, delegating, idle, subagent, subagents } from "../helpers/projects/subagents.ts";
import { createSession, eventsOf, hasSaid, say } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

type State = {
  name: string;
  prompt: string;
  /** Resolves when the tree is in that state. */
  reached: (client: Client, root: SessionId, project: Project) => Promise<void>;
  /** Who the root hears of after the restart, and how it ended. */
  heard: Record<string, string>;
};

const states: State[] = [
  {
    name: "the root has started one that is at work",
    prompt: "spawn a with hold never",
    reached: async (client) => hasSaid(client, (await subagent(client, "a")).session, "holding never"),
    heard: { a: "error" },
  },
  {
    name: "the root is still in the turn that started it",
    prompt: "spawn a then hold root with hold never",
    reached: async (client, root) => {
      await hasSaid(client, (await subagent(client, "a")).session, "holding never");
      await hasSaid(client, root, "holding root");
    },
    heard: { a: "error" },
  },
  {
    name: "the middle is at work, and so is the leaf",
    prompt: "spawn a with spawn b then hold middle with hold never",
    reached: async (client) => {
      await hasSaid(client, (await subagent(client, "b")).session, "holding never");
      await hasSaid(client, (await subagent(client, "a")).session, "holding middle");
    },
    heard: { a: "error" },
  },
  {
    name: "the middle waits for the leaf",
    prompt: "spawn a with spawn b with hold never",
    reached: async (client) => {
      const a = await subagent(client, "a");
      await hasSaid(client, (await subagent(client, "b")).session, "holding never");
      await idle(client, a.session);
    },
    heard: { a: "error" },
  },
  {
    name: "the middle reads what the leaf said",
    prompt: "spawn a with spawn b with hold slowly",
    reached: async (client, _, project) => {
      const a = await subagent(client, "a");
      await hasSaid(client, (await subagent(client, "b")).session, "holding slowly");
      await project.open("slowly");
      await hasSaid(client, a.session, "reading b");
    },
    // The reader is gone with its turn, so the result goes to the session above it.
    heard: { a: "error", b: "done" },
  },
  {
    name: "the leaf has ended while the middle is at work",
    prompt: "spawn a with spawn b then hold middle with hello",
    reached: async (client) => {
      await hasSaid(client, (await subagent(client, "a")).session, "holding middle");
      await waitUntil("b has ended", async () => (await subagent(client, "b")).status === "done");
    },
    heard: { a: "error", b: "done" },
  },
  {
    name: "all have ended and the root has not read it yet",
    prompt: "spawn a then hold root with spawn b with hello",
    reached: async (client, root) => {
      await hasSaid(client, root, "holding root");
      await waitUntil("a has ended", async () => (await subagent(client, "a")).status === "done");
    },
    heard: { a: "done" },
  },
  {
    name: "the root reads it",
    prompt: "spawn a with hold slowly",
    reached: async (client, root, project) => {
      await hasSaid(client, (await subagent(client, "a")).session, "holding slowly");
      await project.open("slowly");
      await hasSaid(client, root, "reading a");
    },
    heard: { a: "done" },
  },
];

describe("after kill -9 while", () => {
  it.each(states)("$name", async ({ prompt, reached, heard }) => {
    const project = await testProject(delegating);
    const first = await project.start();
    const root = await createSession(first.client);
    await say(first.client, root.id, prompt);
    await reached(first.client, root.id, project);
    await first.kill();
    await project.open("root");
    await project.open("reading");

    const { client } = await project.start();
    await idle(client, root.id);
    const told = (await announcements(client, root.id)).map((body) => /"(\S+)" \((\w+)/.exec(body)?.slice(1) ?? []);
    expect(Object.fromEntries(told)).toEqual(heard);
    expect(told).toHaveLength(Object.keys(heard).length);
    expect((await subagents(client)).filter((one) => one.status === "running")).toEqual([]);
    const runs = (await eventsOf(client, "subagent.ended")).map((event) => event.data.run_id);
    expect(new Set(runs).size).toBe(runs.length);
    const { sessions } = await client.call("listSessions");
    const unfinished = sessions.filter((one) => one.id !== root.id && (one.pending > 0 || one.state === "working"));
    expect(unfinished).toEqual([]);
  });

  it("an agent of the pool is at work: its lease is over, and its caller gets the answer all the same", async () => {
    const project = await testProject(delegating);
    const first = await project.start();
    const root = await createSession(first.client);
    await say(first.client, root.id, "use helper for hold long");
    await waitUntil("the helper is at work", async () => (await first.client.call("listPool")).agents.length === 1);
    const [pooled] = (await first.client.call("listPool")).agents;
    if (pooled === undefined) throw new Error("nobody is pooled");
    await hasSaid(first.client, pooled.session, "holding long");
    await first.kill();
    await project.open("long");

    const { client } = await project.start();
    await waitUntil("the caller has the answer", async () => {
      const turns = await eventsOf(client, "turn.text", root.id);
      return turns.some((event) => event.data.text.includes("released long"));
    });
    await idle(client, root.id);
    expect((await client.call("listPool")).agents).toMatchObject([
      { session: pooled.session, lease: null, state: "idle" },
    ]);
    const tasks = await client.call("listMessages", { path: { session: pooled.session } });
    expect(tasks.messages).toHaveLength(1);
  });
});
