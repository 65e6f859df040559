/** Commands over sessions that ask the daemon once and show its answer. */
import type { ApiOutput } from "../../contract/api.ts";
import { isId, type MessageId, newId } from "../../contract/ids.ts";
import { ensureDaemon } from "../connection.ts";
import { exitCodes } from "../context.ts";
import { usageError } from "../failure.ts";
import { sessionTable } from "../format/session-table.ts";
import { plural } from "../format/text.ts";
import { sessionLabel } from "../session-names.ts";
import type { Terminal } from "../terminal.ts";

export async function ps(cx: Terminal, args: { all: boolean }): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const { sessions } = await client.call("listSessions", { query: { closed: String(args.all) } });
  if (cx.json) {
    cx.printJson({ sessions });
    return exitCodes.ok;
  }
  if (sessions.length === 0) {
    cx.print(args.all ? "No sessions yet." : "No open sessions.");
    cx.print("Start one with: aegis spawn, or talk at once: aegis chat");
    return exitCodes.ok;
  }
  for (const line of sessionTable(sessions, { color: cx.color, width: cx.columns, now: Date.now() })) cx.print(line);
  return exitCodes.ok;
}

export type SpawnArgs = {
  agent: string | undefined;
  handle: string | undefined;
  title: string | undefined;
  prompt: string | undefined;
};

export type ForkArgs = Omit<SpawnArgs, "agent"> & { session: string };

export async function spawn(cx: Terminal, args: SpawnArgs): Promise<number> {
  const { client } = await ensureDaemon(cx);
  return reportStart(cx, await client.call("createSession", { body: given(args) }));
}

export async function fork(cx: Terminal, { session, ...args }: ForkArgs): Promise<number> {
  const { client } = await ensureDaemon(cx);
  return reportStart(cx, await client.call("forkSession", { path: { session }, body: given(args) }));
}

function given<T extends object>(args: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(args).filter(([, value]) => value !== undefined)) as ReturnType<
    typeof given<T>
  >;
}

function reportStart(cx: Terminal, answer: ApiOutput<"createSession">): number {
  if (cx.json) {
    cx.printJson(answer);
    return exitCodes.ok;
  }
  cx.print(sessionLabel(answer.session));
  cx.warn(answer.receipt?.text ?? `talk to it with: aegis chat ${answer.session.handle}`);
  return exitCodes.ok;
}

export async function close(cx: Terminal, args: { sessions: readonly string[] }): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const closed = [];
  for (const session of args.sessions) {
    const answer = await client.call("closeSession", { path: { session } });
    closed.push(answer);
    if (cx.json) continue;
    const refused = answer.refused.length;
    cx.print(
      `closed ${answer.session.handle}${refused === 0 ? "" : `, ${plural(refused, "waiting message")} refused`}`,
    );
  }
  if (cx.json) cx.printJson({ closed });
  return exitCodes.ok;
}

/** Exit code 1 when there was no turn to cut. */
export async function interrupt(cx: Terminal, args: { session: string }): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const answer = await client.call("interruptSession", { path: { session: args.session } });
  if (cx.json) cx.printJson(answer);
  else cx.print(answer.interrupted ? `interrupted ${args.session}` : `${args.session} has no turn under way`);
  return answer.interrupted ? exitCodes.ok : exitCodes.failed;
}

export async function rename(cx: Terminal, args: { session: string; handle: string }): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const answer = await client.call("updateSession", { path: { session: args.session }, body: { handle: args.handle } });
  if (cx.json) cx.printJson(answer);
  else cx.print(`${args.session} is now ${answer.session.handle}`);
  return exitCodes.ok;
}

export async function title(cx: Terminal, args: { session: string; title: string }): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const answer = await client.call("updateSession", { path: { session: args.session }, body: { title: args.title } });
  if (cx.json) cx.printJson(answer);
  else
    cx.print(
      answer.session.title === ""
        ? `${answer.session.handle} has no title`
        : `${answer.session.handle}: ${answer.session.title}`,
    );
  return exitCodes.ok;
}

export async function cancel(cx: Terminal, args: { message: string }): Promise<number> {
  const message = messageId(args.message);
  const { client } = await ensureDaemon(cx);
  const answer = await client.call("cancelMessage", { path: { message } });
  if (cx.json) cx.printJson(answer);
  else cx.print(`took back ${answer.message.id}`);
  return exitCodes.ok;
}

export function messageId(text: string): MessageId {
  if (isId("msg", text)) return text;
  throw usageError(
    `"${text}" is not a message's id: expected msg_ and 26 letters and digits, as in ${newId("msg", Date.now())}`,
  );
}
