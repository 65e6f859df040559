// @module-tag slow
/**
 * Every route of the API, called on one node for what is on another. The list is complete: a new route must say in
 * `packages/daemon/http/src/where.ts` which node answers it, and needs a case here unless each node answers it about itself.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Client } from "@aegis/client/client.ts";
import { followEvents } from "@aegis/client/events.ts";
import { waitForTask } from "@aegis/client/wait-work.ts";
import { type AegisError, isAegisError } from "@aegis/contract/errors.ts";
import type { AskId, BroadcastId, MessageId, RunId, SessionId, TaskId, TurnId } from "@aegis/contract/ids.ts";
import { type RouteName, routes } from "@aegis/contract/routes.ts";
import { routePlaces } from "@aegis/http/where.ts";
import { describe, expect, it } from "vitest";
import { noPostgres } from "../helpers/cluster.ts";
import { filePostgres } from "../helpers/file-postgres.ts";
import { initGit } from "../helpers/git-project.ts";
import { type ClusterNode, clientOf, openGate, startNodes } from "../helpers/nodes.ts";
import { long } from "../helpers/projects/flows.ts";
import { startReceiver } from "../helpers/receiver.ts";
import { scaled } from "../helpers/slowness.ts";
import { answerTo, createSession, say, talk } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const playbook = `
rules:
  - name: claim, then hold
    when: '/^claim (\\S+) then hold (\\S+)/'
    steps: [{ tool: aegis_claim, input: { paths: ["{1}"], wait_seconds: 0 } }, { say: "holding {2}" }, { wait: { gate: "gates/{2}" } }]
  - name: write
    when: '/^write (\\S+) (.+)/'
    steps: [{ tool: write_report, input: { path: "{1}", text: "{2}\\n" } }, { say: "wrote {1}" }]
  - name: delegate
    when: '/^spawn (\\S+) with (.+)/'
    steps: [{ tool: sessions_spawn, input: { task: "{2}", label: "{1}" }, save: run }, { say: "{run}" }]
  - name: stream
    when: '/^stream then hold (\\S+)/'
    steps: [{ stream: "a long text comes slowly.", chunk: 4, delay: 10 }, { wait: { gate: "gates/{1}" } }]
  - name: hold
    when: '/hold (\\S+)/'
    steps: [{ say: "holding {1}" }, { wait: { gate: "gates/{1}" } }, { say: "released {1}" }]
  - name: ask
    when: '/^may (\\S+)/'
    steps: [{ ask: "May I {1}?", tool: "{1}", save: verdict }, { say: "it was {verdict}" }]
  - name: anything else
    when: always
    steps: [{ say: "you said: {text}" }]
`;

const files = (hook: string) => ({
  ".aegis.yaml": `
default_agent: dev
agents:
  dev: { harness: scripted, permission: write, playbook: playbook.yaml }
queues:
  work: { agent: dev, max_parallel: 1 }
schedules:
  yearly: { agent: dev, prompt: "happy new year", cron: "0 0 1 1 *" }
webhooks:
  out:
    hook: { url: "${hook}", format: ntfy, events: [task.ended], allow_private: true }
`,
  ".gitignore": "gates/\n.aegis/\n.aegis.local.yaml\n",
  "playbook.yaml": playbook,
  ".aegis/plugins/flows.ts": long,
});

/** What happens on node one, and the clients of both nodes. */
type Stage = { one: Client; two: Client; nodes: [ClusterNode, ClusterNode]; far: SessionId; copy: SessionId };
type Case = (stage: Stage) => Promise<void>;

const called = new Set<RouteName>();

/** The client of a node, which notes what is called. */
function noted(client: Client): Client {
  const call = ((name: RouteName, ...rest: unknown[]) => {
    called.add(name);
    return (client.call as (name: RouteName, ...rest: unknown[]) => unknown)(name, ...rest);
  }) as Client["call"];
  return { ...client, call };
}

/** Both nodes answer the same. */
async function same(stage: Stage, ask: (client: Client) => Promise<unknown>): Promise<void> {
  const [here, there] = [await ask(stage.two), await ask(stage.one)];
  expect(here).toEqual(there);
}

async function failureOf(call: Promise<unknown>): Promise<AegisError> {
  const error = await call.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!isAegisError(error)) throw new Error(`expected a refusal, not ${String(error)}`);
  return error;
}

const path = (session: string) => ({ path: { session } });
const stateOf = async (client: Client, session: string) => (await client.call("getSession", path(session))).session;

async function untilSaid(client: Client, session: string, text: string): Promise<void> {
  await waitUntil(`${session} says ${text}`, async () =>
    JSON.stringify(await client.call("history", { ...path(session), query: { limit: 500 } })).includes(text),
  );
}

const sessionCases: Record<string, Case> = {
  "reads a session": async (stage) => {
    const { far, two } = stage;
    await same(stage, (client) => client.call("listSessions", { query: {} }));
    await same(stage, (client) => client.call("getSession", { ...path(far), query: {} }));
    await same(stage, (client) => client.call("history", { ...path("far"), query: {} }));
    await same(stage, (client) => client.call("listMessages", { ...path(far), query: {} }));
    await same(stage, (client) => client.call("listTurns", { ...path(far), query: {} }));
    const { turns } = await two.call("listTurns", { ...path(far), query: {} });
    await same(stage, (client) => client.call("getTurn", { path: { turn: turns[0]?.id as TurnId } }));
    const { messages } = await two.call("listMessages", { ...path(far), query: {} });
    const message = messages[0]?.id as MessageId;
    await same(stage, (client) => client.call("getMessage", { path: { message } }));
    await same(stage, (client) => client.call("why", { path: { message } }));
    await same(stage, (client) => client.call("listEvents", { query: { session: far, limit: 100 } }));
    await same(stage, (client) => client.call("getUsage", { query: {} }));
    await same(stage, (client) => client.call("listTrees", { query: {} }));
    await same(stage, (client) => client.call("listPool"));
    const unknown = { path: { message, sha256: "0".repeat(64) } };
    expect((await failureOf(two.call("getAttachment", unknown))).code).toBe("not_found");
  },
  "changes a session": async ({ two, one, far }) => {
    await two.call("updateSession", { ...path("far"), body: { handle: "farther", title: "far away" } });
    expect(await stateOf(one, far)).toMatchObject({ handle: "farther", title: "far away", node: "one" });
    await two.call("updateSession", { ...path(far), body: { handle: "far", model: "other" } });
    const { last_seq } = await one.call("listEvents", { query: { limit: 1 } });
    expect((await two.call("markSeen", { ...path(far), body: { client: "default", seq: last_seq } })).unseen).toBe(0);
  },
  "sends, takes back, steers and interrupts": async ({ two, one, nodes }) => {
    const held = await say(two, "far", "hold a");
    await untilSaid(two, "far", "holding a");
    const waiting = await say(two, "far", "never mind");
    expect((await two.call("cancelMessage", { path: { message: waiting.message } })).message.status).toBe("cancelled");
    const steered = await say(two, "far", "and this", { mode: "steer" });
    expect(steered.text).toContain("it joins the running turn");
    expect((await two.call("interruptSession", path("far"))).interrupted).toBe(true);
    expect((await one.call("getMessage", { path: { message: held.message } })).message.status).not.toBe("dispatched");
    expect(await answerTo(two, steered)).toContain("you said: and this");
    expect((await two.call("interruptSession", path("far"))).interrupted).toBe(false);
    await openGate(nodes, "a");
  },
  "streams live text": async ({ two, nodes, far }) => {
    called.add("streamEvents");
    const { last_seq: after } = await two.call("listEvents", { query: { limit: 1 } });
    const stop = new AbortController();
    let text = "";
    const follow = async () => {
      for await (const item of followEvents(two, { after, session: far, live: true, signal: stop.signal }))
        if (item.kind === "delta" && item.delta.offset === text.length) text += item.delta.text;
    };
    const following = follow();
    // The text is sent once the other node knows that somebody watches.
    let [round, shown] = [0, ""];
    await waitUntil("live text arrives", async () => {
      text = "";
      const receipt = await say(two, "far", `stream then hold s${round}`);
      await untilSaid(two, "far", "a long text comes slowly.");
      await openGate(nodes, `s${round}`);
      await answerTo(two, receipt);
      [round, shown] = [round + 1, text];
      return shown === "a long text comes slowly.";
    });
    stop.abort();
    await following;
  },
  "answers an ask": async (stage) => {
    const { two } = stage;
    const asking = await say(two, "far", "may dance");
    let ask = "" as AskId;
    await waitUntil("far asks", async () => {
      ask = (await two.call("listAsks", { query: {} })).asks[0]?.id ?? ask;
      return ask !== "";
    });
    await same(stage, (client) => client.call("getAsk", { path: { ask } }));
    await two.call("answerAsk", { path: { ask }, body: { choice: "allow" } });
    expect(await answerTo(two, asking)).toContain("it was allowed");
  },
  "forks where the memory is": async ({ two }) => {
    const refused = await failureOf(two.call("forkSession", { ...path("far"), body: {} }));
    expect(refused.message).toContain("cannot fork a conversation");
  },
  "closes a session": async ({ two, one }) => {
    await createSession(one, { handle: "leaving", prompt: "hold l" });
    await untilSaid(two, "leaving", "holding l");
    expect((await two.call("closeSession", path("leaving"))).session.state).toBe("closed");
    await waitUntil("its turn has ended", async () => {
      const { turns } = await two.call("listTurns", { ...path("leaving"), query: {} });
      return turns.every(({ ended_at }) => ended_at !== null);
    });
  },
};

const copyCases: Record<string, Case> = {
  "shows changes and files of the other machine": async (stage) => {
    const { copy, nodes } = stage;
    await writeFile(join(nodes[0].root, "only-here.txt"), "x\n");
    await same(stage, (client) => client.call("getChanges", { ...path(copy), query: { patch: true } }));
    const { changes } = await stage.two.call("getChanges", { ...path(copy), query: {} });
    expect(JSON.stringify(changes)).toContain("made.txt");
    await same(stage, (client) => client.call("findFiles", { ...path(copy), query: { q: "made" } }));
    expect((await stage.two.call("findFiles", { ...path(copy), query: { q: "made" } })).files).toEqual(["made.txt"]);
    await same(stage, (client) => client.call("listWorktrees"));
    expect((await stage.two.call("listWorktrees")).worktrees[0]).toMatchObject({ missing: false, node: "one" });
  },
  "lands the work and shows its receipt": async (stage) => {
    const { two } = stage;
    const { landing } = await two.call("landSession", { ...path("copy"), body: { check: "grep -q fine made.txt" } });
    expect(landing).toMatchObject({ state: "landed", receipt: { state: "passed" } });
    await same(stage, (client) => client.call("listLandings"));
    await same(stage, (client) => client.call("getQueue", { path: { queue: "merge-queue" } }));
    const late = two.call("cancelLanding", { path: { landing: landing.id } });
    await expect(late).rejects.toThrow("has ended: landed");
    await same(stage, (client) => client.call("listReceipts", { query: { of: "copy" } }));
    expect((await two.call("listReceipts", { query: {} })).receipts).toHaveLength(1);
  },
  "shows claims": async ({ two, nodes }) => {
    const receipt = await say(two, "far", "claim notes.txt then hold c");
    await untilSaid(two, "far", "holding c");
    expect((await two.call("listClaims")).claims).toMatchObject([{ path: "notes.txt", handle: "far", kind: "claim" }]);
    await openGate(nodes, "c");
    await answerTo(two, receipt);
  },
  "removes a worktree, and finds and restores its rescue": async ({ two, one, nodes }) => {
    await talk(two, "copy", "write more.txt unlanded");
    await two.call("closeSession", path("copy"));
    const { worktree } = await two.call("removeWorktree", path("copy"));
    expect(worktree.state).toBe("removed");
    const { rescues } = await two.call("listRescues");
    expect(rescues).toMatchObject([{ handle: "copy" }]);
    expect((await two.call("getRescue", { path: { rescue: "copy" } })).rescue.changed.join()).toContain("more.txt");
    const dir = join(nodes[0].root, "..", `restored-${Date.now()}`);
    const restored = await two.call("restoreRescue", { path: { rescue: "copy" }, body: { dir } });
    expect(restored.dir).toBe(dir);
    const missing = await failureOf(two.call("getRescue", { path: { rescue: "nothing" } }));
    expect(missing.message).toContain('no rescue "nothing"');
    expect((await two.call("pruneRescues", { body: { older_than_ms: 0 } })).dropped).toHaveLength(1);
    expect((await one.call("listRescues")).rescues).toEqual([]);
  },
};

const workCases: Record<string, Case> = {
  "queues and tasks": async (stage) => {
    const { one, two, nodes } = stage;
    await same(stage, (client) => client.call("listQueues"));
    await two.call("addQueue", { body: { name: "extra", agent: "dev" } });
    await same(stage, (client) => client.call("getQueue", { path: { queue: "extra" } }));
    await two.call("pauseQueue", { path: { queue: "work" } });
    const { task } = await one.call("enqueueTask", { path: { queue: "work" }, body: { payload: "hold t" } });
    expect(task.status).toBe("pending");
    await one.call("resumeQueue", { path: { queue: "work" } });
    await waitUntil("it runs", async () => (await taskAt(two, task.id)).status === "dispatched");
    await untilSaid(two, (await taskAt(two, task.id)).worker as string, "holding t");
    await same(stage, (client) => client.call("getTask", { path: { task: task.id } }));
    await same(stage, (client) => client.call("listTasks", { query: {} }));
    const worker = (await taskAt(two, task.id)).node;
    expect(["one", "two"]).toContain(worker);
    const far = worker === "one" ? two : one;
    expect(await far.call("cancelTask", { path: { task: task.id } })).toMatchObject({ ok: true, was: "in_flight" });
    expect((await far.call("retryTask", { path: { task: task.id } })).task.status).not.toBe("cancelled");
    await openGate(nodes, "t");
    expect((await waitForTask(far, task.id)).status).toBe("completed");
    expect((await two.call("drainQueue", { path: { queue: "work" }, body: {} })).drained).toBe(true);
    await one.call("removeQueue", { path: { queue: "extra" }, query: {} });
  },
  "groups and broadcasts": async (stage) => {
    const { one, two } = stage;
    await one.call("spawnGroup", { path: { group: "crew" }, body: { agents: ["dev"] } });
    await two.call("spawnGroup", { path: { group: "crew" }, body: { agents: ["dev"] } });
    const { broadcast } = await two.call("broadcastGroup", { path: { group: "crew" }, body: { objective: "report" } });
    const result = await one.call("waitGroup", { path: { group: "crew" }, body: { timeout: 30 } });
    expect(JSON.stringify(result)).toContain("report");
    await same(stage, (client) => client.call("listGroups"));
    await same(stage, (client) => client.call("getGroup", { path: { group: "crew" } }));
    await same(stage, (client) => client.call("getBroadcast", { path: { broadcast: broadcast.id as BroadcastId } }));
    expect((await one.call("dissolveGroup", { path: { group: "crew" } })).closed).toHaveLength(2);
  },
  "runs of workflows": async (stage) => {
    const { one, two } = stage;
    const { run } = await one.call("startRun", { path: { workflow: "long" }, body: {} });
    const asked = async (id: RunId) => {
      await waitUntil("it asks", async () => (await two.call("getRun", { path: { run: id } })).run.asks.length === 1);
    };
    await asked(run.id);
    expect((await two.call("getRun", { path: { run: run.id } })).run.node).toBe("one");
    await same(stage, (client) => client.call("getRun", { path: { run: run.id } }));
    await same(stage, (client) => client.call("listRuns", { query: {} }));
    await same(stage, (client) => client.call("listSteps", { path: { run: run.id }, query: {} }));
    await same(stage, (client) => client.call("runEvents", { path: { run: run.id }, query: {} }));
    expect((await two.call("cancelRun", { path: { run: run.id }, body: {} })).run.status).toBe("cancelled");
    const { run: again } = await two.call("resumeRun", { path: { run: run.id }, body: {} });
    expect(again.node).toBe("two");
    await asked(run.id);
    const { run: forked } = await one.call("forkRun", { path: { run: run.id }, body: {} });
    await asked(forked.id);
    for (const id of [run.id, forked.id]) {
      const { asks } = (await two.call("getRun", { path: { run: id } })).run;
      await two.call("answerAsk", { path: { ask: asks[0] as AskId }, body: { text: "yes" } });
      await waitUntil("it ends", async () => (await one.call("getRun", { path: { run: id } })).run.status === "ok");
    }
  },
  subagents: async (stage) => {
    const { two, nodes } = stage;
    await talk(two, "far", "spawn helper with hold h");
    const { subagents } = await two.call("listSubagents", { query: {} });
    const run_id = subagents[0]?.run_id ?? "";
    await untilSaid(two, subagents[0]?.handle ?? "", "holding h");
    await same(stage, (client) => client.call("getSubagent", { path: { run_id } }));
    expect((await two.call("killSubagent", { path: { run_id } })).killed).toBe(1);
    await openGate(nodes, "h");
  },
  schedules: async (stage) => {
    const { one, two } = stage;
    await same(stage, (client) => client.call("listSchedules"));
    await same(stage, (client) => client.call("getSchedule", { path: { schedule: "yearly" } }));
    await same(stage, (client) => client.call("nextFirings", { path: { schedule: "yearly" }, query: {} }));
    const { firing } = await one.call("runSchedule", { path: { schedule: "yearly" }, body: {} });
    const fired = async (client: Client) => (await client.call("getFiring", { path: { firing: firing.id } })).firing;
    await waitUntil("it has fired", async () => (await fired(two)).ended_at !== null);
    await same(stage, (client) => client.call("listFirings", { query: {} }));
  },
};

const clusterCases: Record<string, Case> = {
  "clients: a credential of one node opens the other until it is revoked": async ({ one, two, nodes }) => {
    const { token } = await one.call("addClient", { body: { name: "tool" } });
    const url = (await nodes[1].json<{ url: string }>("status")).url;
    const status = async () =>
      (await fetch(`${url}/v1/sessions`, { headers: { authorization: `Bearer ${token}` } })).status;
    await waitUntil("the other node knows it", async () => (await status()) === 200);
    expect((await two.call("listClients")).clients).toMatchObject([{ name: "tool" }]);
    await one.call("removeClient", { path: { client: "tool" } });
    await waitUntil("the other node refuses it", async () => (await status()) === 401);
  },
  "channels run on one node, and every node manages them": async (stage) => {
    await same(stage, async (client) =>
      (await client.call("listChannels")).channels.map(({ name, kind }) => [name, kind]),
    );
    expect((await stage.two.call("listChannels")).channels).toHaveLength(1);
    const channel = { path: { channel: "out:hook" } };
    for (const client of [stage.one, stage.two]) {
      expect(await client.call("testChannel", channel)).toMatchObject({ ok: true });
      expect((await failureOf(client.call("pairChannel", channel))).code).toBe("invalid");
      expect(await client.call("unpairChannel", { ...channel, body: { peer: "1" } })).toMatchObject({ removed: false });
    }
  },
  nodes: async ({ two }) => {
    expect((await two.call("listNodes")).nodes.map(({ name }) => name)).toEqual(["one", "two"]);
    expect((await two.call("drainNode", { path: { node: "one" } })).node.state).toBe("draining");
    expect((await two.call("resumeNode", { path: { node: "one" } })).node.state).toBe("up");
    expect((await failureOf(two.call("forgetNode", { path: { node: "one" } }))).message).toContain("only a lost node");
  },
};

const taskAt = async (client: Client, task: TaskId) => (await client.call("getTask", { path: { task } })).task;

describe.skipIf(noPostgres !== null)("a node, for what is on another one", { timeout: scaled(180_000) }, () => {
  const postgres = filePostgres();

  it("answers every route", async () => {
    const receiver = await startReceiver();
    const nodes = (await startNodes(postgres.url, files(receiver.url), ["one", "two"])) as [ClusterNode, ClusterNode];
    for (const { root } of nodes) {
      await initGit(root);
      await mkdir(join(root, "gates"), { recursive: true });
    }
    const [one, two] = [noted(await clientOf(nodes[0])), noted(await clientOf(nodes[1]))];
    const { id: far } = await createSession(one, { handle: "far", prompt: "hello" });
    const { id: copy } = await createSession(one, { handle: "copy", isolation: "worktree" });
    await talk(two, "copy", "write made.txt fine");
    await untilSaid(two, "far", "you said: hello");
    const stage: Stage = { one, two, nodes, far, copy };
    for (const cases of [sessionCases, copyCases, workCases, clusterCases])
      for (const [name, run] of Object.entries(cases))
        await run(stage).catch((error: unknown) => {
          throw new Error(`${name}: ${error instanceof Error ? error.stack : String(error)}`);
        });
    const remote = (Object.keys(routes) as RouteName[]).filter((name) => routePlaces[name] !== "own");
    expect(remote.filter((name) => !called.has(name))).toEqual([]);
  });
});
