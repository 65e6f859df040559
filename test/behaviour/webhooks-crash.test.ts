// @module-tag slow
/** Kills the daemon at the instants of a delivery of a webhook, incoming and outgoing, one life for each. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { verifyStandard } from "@aegis/channels/webhooks/sign.ts";
import type { Client } from "@aegis/client/client.ts";
import { expect, it } from "vitest";
import { type Daemon, obedient, type Project, testProject } from "../helpers/project.ts";
import { startReceiver } from "../helpers/receiver.ts";
import { hookSecret, signedHook } from "../helpers/signed-hook.ts";
import { scaled } from "../helpers/slowness.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const preload = pathToFileURL(join(import.meta.dirname, "kill-at.ts")).href;
const env = { HOOK_SECRET: hookSecret };
const timeout = { timeout: scaled(240_000) };
/** `npm test` takes one of so many instants after the first ones; AEGIS_EVERY_INSTANT=1 takes all of them. */
const stride = process.env.AEGIS_EVERY_INSTANT === "1" ? 1 : 4;

const withHooks = (hooks: string) =>
  testProject({ ...obedient, ".aegis.yaml": `${obedient[".aegis.yaml"]}webhooks:\n${hooks}` });
const sessionsOf = async (client: Client) => (await client.call("listSessions", { query: { closed: true } })).sessions;

/**
 * Runs `act` in a daemon that is killed at an instant, and starts the next daemon. Null when `isOver` before so many
 * instants had passed. A daemon that died has no answer, so `isOver` may reject.
 */
async function killed(
  project: Project,
  last: number,
  act: (daemon: Daemon) => Promise<void>,
  isOver: (client: Client) => Promise<boolean>,
): Promise<{ next: Daemon; where: string } | null> {
  const file = join(project.dir, "..", "kill-at");
  const first = await project.start({ env: { ...env, NODE_OPTIONS: `--import=${preload}`, KILL_AT: file } });
  let isDead = false;
  void first.exited.then(() => {
    isDead = true;
  });
  await waitUntil("the hook works", async () => (await first.client.call("listChannels")).channels[0]?.state === "ok");
  await writeFile(file, String(last));
  await act(first);
  await waitUntil("it died or finished", async () => isDead || (await isOver(first.client).catch(() => false)));
  const instants = (await readFile(`${file}.instants`, "utf8").catch(() => "")).split("\n").slice(0, -1);
  if (!isDead && instants.length < last) return null;
  await first.exited;
  return { next: await project.start({ env }), where: `killed at instant ${last}: ${instants.join(", ")}` };
}

/** The first instants are those of the webhook itself: all of them are tried. */
async function everyLife(dense: number, life: (last: number) => Promise<boolean>): Promise<number> {
  let tried = 0;
  for (let last = 1; await life(last); last += last < dense ? 1 : stride) tried += 1;
  return tried;
}

it("admits a delivery once, wherever the daemon is killed", timeout, async () => {
  const body = Buffer.from('{"build": 7}');
  const send = async ({ file }: Daemon) => {
    const headers = signedHook("build-7", body);
    const answer = await fetch(`${file.url}/v1/hooks/ci`, { method: "POST", headers, body }).catch(() => null);
    return answer?.status ?? null;
  };
  const webhookMessages = async (client: Client) => {
    const [session] = await sessionsOf(client);
    if (session === undefined) return [];
    const { messages } = await client.call("listMessages", { path: { session: session.id } });
    return messages.filter(({ sender }) => sender.kind === "webhook");
  };
  const isAnswered = async (client: Client) => (await webhookMessages(client))[0]?.status === "done";
  let passed = "";
  const tried = await everyLife(5, async (last) => {
    const project = await withHooks("  in:\n    ci: { secret_env: HOOK_SECRET, agent: dev }\n");
    let status: number | null = null;
    const act = async (daemon: Daemon) => {
      status = await send(daemon);
    };
    const died = await killed(project, last, act, isAnswered);
    if (died === null) return false;
    const { next, where } = died;
    passed = where;
    // A sender without an answer sends again. After the answer 200 the delivery is the daemon's.
    if (status === null) expect(await send(next), where).toBe(200);
    await waitUntil(`it was answered (${where})`, () => isAnswered(next.client));
    expect(await send(next), where).toBe(200);
    expect(await sessionsOf(next.client), where).toHaveLength(1);
    expect(await webhookMessages(next.client), where).toHaveLength(1);
    return true;
  });
  // It was killed between the arrival and the row, and between the row and the reply.
  expect(passed).toMatch(/arrival, commit, (commit, )*before the reply, /);
  expect(tried).toBeGreaterThan(4);
});

it("loses no event and repeats it only with the same id, wherever the daemon is killed", timeout, async () => {
  let passed = "";
  const tried = await everyLife(Number.POSITIVE_INFINITY, async (last) => {
    const receiver = await startReceiver();
    const hook = `ci: { url: "${receiver.url}", secret_env: HOOK_SECRET, allow_private: true, events: [session.created] }`;
    const project = await withHooks(`  out:\n    ${hook}\n`);
    const isSent = async (client: Client) =>
      receiver.requests.length > 0 && (await client.call("listChannels")).channels[0]?.waiting === 0;
    const create = async ({ client }: Daemon) => {
      await client.call("createSession", { body: {} }).catch(() => {});
    };
    const died = await killed(project, last, create, isSent);
    if (died === null) return false;
    const { next, where } = died;
    passed = where;
    if ((await sessionsOf(next.client)).length === 0) await create(next);
    await waitUntil(`it was sent (${where})`, () => isSent(next.client));
    const ids = receiver.requests.map(({ headers, body }) =>
      verifyStandard(hookSecret, headers as Record<string, string>, body, Date.now()),
    );
    expect(ids.length, where).toBeLessThan(3);
    expect([...new Set(ids)], where).toEqual([expect.stringMatching(/^evt_\d+_ci$/)]);
    return true;
  });
  // Both sides of the request were among them.
  expect(passed).toMatch(/request, answer/);
  expect(tried).toBeGreaterThan(3);
});
