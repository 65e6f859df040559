/** The same CLIs as sessions of the built daemon. */
import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { type Client, createClient } from "@aegis/client/client.ts";
import { followEvents } from "@aegis/client/events.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import { type DaemonFile, inspectDaemonFile, isSameProcess } from "@aegis/lib/daemon-file.ts";
import { agreeAlways } from "@aegis/project/trust/agree.ts";
import type { LiveHarness, LiveModel } from "../../test/live/support/harness.ts";
import type { Exchange } from "./bare.ts";

export type LiveDaemon = { client: Client; pid: number };

const stopDeadlineMs = 10_000;

/** A daemon with one agent of the harness. Ends with the scope, and its CLIs with it. */
export async function startDaemon(
  dist: string,
  folder: string,
  { harness }: LiveHarness,
  { agent: { model, ...agent } }: LiveModel,
  scope: AsyncDisposableStack,
): Promise<LiveDaemon> {
  const root = join(folder, "project");
  await mkdir(root);
  const profile = { harness, ...agent, ...(model === null ? {} : { model }) };
  await writeFile(join(root, ".aegis.yaml"), JSON.stringify({ agents: { live: profile } }));
  const env = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, HOME: folder, AEGIS_LOG: "warn" };
  await agreeAlways({ root, env });
  await promisify(execFile)(process.execPath, [join(dist, "cli.js"), "up"], { cwd: root, env });
  const found = await inspectDaemonFile(root, env.HOME);
  if (found.state !== "live") throw new Error(`aegis up left no live daemon in ${root}`);
  const { file } = found;
  scope.defer(() => stop(file));
  return { client: createClient(file), pid: file.pid };
}

export async function newSession(client: Client): Promise<SessionId> {
  return (await client.call("createSession", { body: { agent: "live" } })).session.id;
}

/** Timed from the request to the first word and to the end of the turn, as a client sees them. */
export function exchangeWith(client: Client, session: SessionId, signal: AbortSignal): Exchange {
  const items = followEvents(client, { session, live: true, signal, after: 0 });
  const next = async () => {
    const { value } = await items.next();
    if (value === undefined) throw new Error("the event stream ended");
    return value;
  };
  return async (text) => {
    const begin = performance.now();
    await client.call("sendMessage", { path: { session }, body: { text }, signal });
    const timing = { firstMs: 0, endMs: 0 };
    for (let isReady = false; !isReady; ) {
      const item = await next();
      if (item.kind === "delta") timing.firstMs ||= performance.now() - begin;
      else if (item.event.type === "turn.ended") timing.endMs = performance.now() - begin;
      else isReady = item.event.type === "session.state" && item.event.data.state === "ready" && timing.endMs > 0;
    }
    return timing;
  };
}

async function stop(file: DaemonFile): Promise<void> {
  await createClient(file)
    .call("shutdown", { body: { force: true } })
    .catch(() => {});
  const deadline = performance.now() + stopDeadlineMs;
  while (isSameProcess(file)) {
    if (performance.now() > deadline) process.kill(file.pid, "SIGKILL");
    await delay(10);
  }
}
