/** Opens a conversation with an ACP agent: starts its process, does the handshake, and starts or resumes a session. */

import { symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { childEnv } from "@aegis/lib/child-env.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { containedPath, isErrno, makePrivateDir, writeAtomic } from "@aegis/lib/files.ts";
import type { Child } from "@aegis/lib/process.ts";
import { isObject, objectAt, oneLine, textAt } from "../cli-harness/fields.ts";
import { endText, type JsonProcess } from "../cli-harness/json-process.ts";
import { chosenServers } from "../cli-harness/mcp-servers.ts";
import { spawnFailure } from "../cli-harness/start.ts";
import { type Conversation, type ConversationSpec, type DriverDeps, DriverError } from "../driver.ts";
import { begunAnew, restoredWith } from "../record.ts";
import { mustAsk } from "../tool-approval.ts";
import { connect, openWire, type SessionUpdate, type Wire } from "./connection.ts";
import { AcpConversation } from "./conversation.ts";
import { turnErrorOf } from "./errors.ts";
import { hasHistory } from "./introduction.ts";
import { type AcpOptions, parseOptions } from "./options.ts";
import type { AcpLaunch, AcpRecipe, LaunchContext } from "./recipe.ts";
import { type AcpSession, openSession } from "./session.ts";

/** A replay has ended when no update came for this long. */
const quietMs = 300;
const longestReplayMs = 10_000;

export async function openConversation(
  deps: DriverDeps,
  recipe: AcpRecipe,
  spec: ConversationSpec,
  scope: AsyncDisposableStack,
): Promise<Conversation> {
  const options = parseOptions(spec.agent);
  const servers = await chosenServers(spec, deps.env);
  const context: LaunchContext = {
    servers,
    agent: spec.agent,
    gated: mustAsk(spec.host),
    cwd: spec.cwd,
    stateDir: spec.stateDir,
    systemPrompt: spec.systemPrompt,
    env: { ...deps.env, ...spec.agent.env },
  };
  const child = await launch(deps, recipe, options, spec, context);
  scope.defer(() => child.stop());

  let conversation: AcpConversation | null = null;
  const replay = new Replay(spec);
  // Until the conversation is open, updates are replayed history.
  const handlers = {
    update: (update: SessionUpdate) => (conversation ?? replay).update(update),
    room: () => conversation?.room() ?? null,
  };
  const wire = openWire(child, handlers, deps.log);
  const connection = connect(
    wire.stream,
    (request, signal) => conversation?.permission(request, signal) ?? Promise.resolve({ outcome: "cancelled" }),
    deps,
  );
  const input = { connection, recipe, options, spec, servers, hasHistory: hasHistory(spec) };
  const session = await orStartFailure(openSession(input), recipe, wire);
  if (session.resumed && recipe.quirks.replayAfterLoad) await quiet(() => child.lastActivity(), deps.clock);

  const inactivityMs = options.inactivity_minutes * 60_000;
  conversation = new AcpConversation({
    deps,
    recipe,
    spec,
    inactivityMs,
    process: wire.process,
    connection,
    session,
    restored: session.resumed ? restoredWith(async () => replay.userTexts) : begunAnew,
  });
  return conversation;
}

async function orStartFailure(opening: Promise<AcpSession>, recipe: AcpRecipe, wire: Wire): Promise<AcpSession> {
  try {
    return await opening;
  } catch (cause) {
    if (cause instanceof DriverError) throw cause;
    const { process } = wire;
    const noise = wire.noise();
    if (process.alive) {
      const error = turnErrorOf(cause, recipe.login);
      const said = noise === null ? "" : `; it printed "${oneLine(noise)}"`;
      throw new DriverError({ ...error, message: `${error.message}${said}`, ...stderrOf(process) }, { cause });
    }
    const end = await process.ended;
    const message = `${recipe.program.name} ${endText(end, noise)} before it was ready.`;
    const fix =
      noise === null ? {} : { fix: "Check that the agent's command speaks the Agent Client Protocol on stdio." };
    throw new DriverError({ code: "start", message, ...fix, ...stderrOf(process) }, { cause });
  }
}

function stderrOf(process: JsonProcess): { stderr?: string } {
  const stderr = process.child.stderrTail();
  return stderr === "" ? {} : { stderr };
}

async function quiet(lastActivity: () => number, clock: Clock): Promise<void> {
  const end = clock.now() + longestReplayMs;
  for (let since = clock.now(); clock.now() < end; since = lastActivity()) {
    const rest = since + quietMs - clock.now();
    if (rest <= 0) return;
    await clock.sleep(rest);
  }
}

/** Collects what an agent replays when it loads a conversation. The protocol offers no other way to see its record. */
class Replay {
  readonly #session: string | null;
  readonly #texts: string[] = [];

  constructor({ resume, wantsRecord }: Pick<ConversationSpec, "resume" | "wantsRecord">) {
    this.#session = wantsRecord === true ? resume : null;
  }

  update({ sessionId, update }: SessionUpdate): void {
    if (this.#session === null || sessionId !== this.#session || !isObject(update)) return;
    if (update.sessionUpdate !== "user_message_chunk") return;
    const text = textAt(objectAt(update, "content"), "text");
    if (text !== null) this.#texts.push(text);
  }

  /** The texts of the user's messages, in order; null if the agent replayed none: it may not support replay. */
  get userTexts(): readonly string[] | null {
    return this.#texts.length === 0 ? null : this.#texts;
  }
}

/** Starts the agent's process with its private settings and only the environment variables that it needs. */
async function launch(
  deps: DriverDeps,
  recipe: AcpRecipe,
  options: AcpOptions,
  spec: ConversationSpec,
  context: LaunchContext,
): Promise<Child> {
  const [program, ...before] = options.command ?? [];
  if (program === undefined && recipe.commandRequired)
    throw new DriverError({
      code: "start",
      message: `agent "${spec.agent.slug}" has the harness "${recipe.harness}" but names no program`,
      fix: "Set its command (and args) to a program that speaks the Agent Client Protocol on stdio.",
    });
  const plan = await recipe.launch(context);
  await prepareState(spec.stateDir, plan);
  for (const text of plan.warnings) spec.host.notice({ level: "warning", text });
  if (spec.resume !== null) await recipe.quirks.beforeResume?.(spec.resume, context);
  const command = await spec.host.prepareSpawn({
    argv: [program ?? recipe.program.command, ...before, ...(options.args ?? plan.args), ...plan.onlyPlane],
    env: childEnv(deps.env, recipe.passEnv, { ...spec.agent.env, ...plan.env }),
    cwd: spec.cwd,
  });
  const consent = await spec.host.consent();
  try {
    return await spec.host.processes.start(command, consent);
  } catch (error) {
    throw spawnFailure(recipe.program, command.argv[0], command.cwd, error);
  }
}

/** The agent's program may change folders of its state: a link there must not lead what Aegis writes elsewhere. */
async function ownPath(stateDir: string, name: string): Promise<string> {
  if ((await containedPath(stateDir, dirname(name))) !== null) return join(stateDir, name);
  const message = `${join(stateDir, dirname(name))} leads out of the session's folder`;
  throw new DriverError({ code: "start", message, fix: "Close the session and start another one." });
}

async function prepareState(stateDir: string, plan: AcpLaunch): Promise<void> {
  for (const file of plan.files) {
    const path = await ownPath(stateDir, file.name);
    await makePrivateDir(dirname(path));
    await writeAtomic(path, file.content, { mode: 0o600 });
  }
  for (const link of plan.links) {
    const path = await ownPath(stateDir, link.name);
    await makePrivateDir(dirname(path));
    await symlink(link.target, path).catch((error: unknown) => {
      // A link from an earlier start, or a file with which the agent has replaced it.
      if (!isErrno(error, "EEXIST")) throw error;
    });
  }
}
