/** A project that its user agreed to, and whose files change afterwards. */
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Client, createClient } from "@aegis/client/client.ts";
import { waitForMessage } from "@aegis/client/wait.ts";
import { newId, type SessionId } from "@aegis/contract/ids.ts";
import type { TurnError } from "@aegis/contract/turn.ts";
import { inspectDaemonFile } from "@aegis/lib/daemon-file.ts";
import { expect } from "vitest";
import { type AegisProject, aegisProject } from "../aegis.ts";

export type Answer = { reason: string; text: string; error: { message: string; fix?: string } | null };
export type Turn = { reason: string | null; text: string; error: TurnError | null };
export type Items = { items: { kind: string; name: string; state: string }[] };

export async function agreedProject(files: Record<string, string>): Promise<AegisProject> {
  const project = await aegisProject(files, { trusted: false });
  for (const path of Object.keys(files)) if (path.startsWith("bin/")) await chmod(join(project.root, path), 0o755);
  const agreed = await project.aegis("trust", "--yes");
  expect(agreed.code, agreed.stderr).toBe(0);
  expect((await project.aegis("up")).code).toBe(0);
  return project;
}

export async function put({ root }: AegisProject, path: string, text: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
}

export async function stateOf({ json }: AegisProject, name: string): Promise<string | undefined> {
  return (await json<Items>("trust", "--list")).items.find((item) => item.name === name)?.state;
}

/** A message to a new session, over HTTP alone: no command looks at what is trusted before it. */
export async function ask(project: AegisProject, agent: string): Promise<Turn> {
  const client = await clientOf(project);
  const { session } = await client.call("createSession", { body: { agent } });
  return say(client, session.id);
}

/** Why the daemon refuses: the session if it has loaded the changed file by then, and the turn otherwise. */
export function refusal(project: AegisProject, agent: string): Promise<string | undefined> {
  return ask(project, agent).then(
    ({ error }) => error?.message,
    (error: Error) => error.message,
  );
}

export async function clientOf({ root, env }: AegisProject): Promise<Client> {
  const found = await inspectDaemonFile(root, env.HOME ?? "");
  if (found.state !== "live") throw new Error("no daemon runs");
  return createClient(found.file);
}

export async function say(client: Client, session: SessionId): Promise<Turn> {
  const id = newId("msg", Date.now());
  await client.call("sendMessage", { path: { session }, body: { id, text: "hello" } });
  const outcome = await waitForMessage(client, id, session);
  if (outcome.status !== "answered" || outcome.turn === null) throw new Error(`the message was ${outcome.status}`);
  return outcome.turn;
}

export const playbook = (text: string) => `rules: [{ name: all, when: always, steps: [{ say: "${text}" }] }]\n`;
export const changed = /changed since you trusted it/;
