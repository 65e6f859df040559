/** Starts one Claude Code process that is ready for a prompt, or reports why it cannot. */
import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import type { TurnError } from "@aegis/contract/turn.ts";
import { endText, type ProcessEnd } from "../cli-harness/json-process.ts";
import type { CliOptions } from "../cli-harness/options.ts";
import { readiness, spawnFailure } from "../cli-harness/start.ts";
import { type ConversationSpec, type DriverDeps, DriverError } from "../driver.ts";
import { buildCommand, type ClaudeLaunch, optionalFlags } from "./command.ts";
import { program } from "./facts.ts";
import { hookRegistration } from "./hooks.ts";
import { ClaudeLink, type LinkHandlers } from "./link.ts";

/** `id` is the CLI's id of the conversation. */
export type StartedProcess = { link: ClaudeLink; id: string; resumed: boolean };

const readyDeadlineMs = 60_000;

/** `onLink` receives every process immediately, so that closing the conversation meanwhile can end it. */
export async function startClaude(
  spec: ConversationSpec,
  options: CliOptions,
  deps: DriverDeps,
  handlers: LinkHandlers,
  onLink: (link: ClaudeLink) => void,
): Promise<StartedProcess> {
  const without = new Set<string>();
  let { resume, fork } = spec;
  let fresh: string | null = null;
  while (true) {
    if (resume === null && fresh === null) {
      fresh = randomUUID();
      await spec.host.remember(fresh);
    }
    const from = resume ?? fork;
    const conversation = { id: resume ?? fresh ?? "", from };
    const attempt = await launchOnce(spec, { base: options.command, conversation, without }, deps, handlers, onLink);
    if (attempt.link !== null) return { link: attempt.link, id: conversation.id, resumed: from !== null };

    const { stderr } = attempt.error;
    const flag = /unknown option '(--[\w-]+)'/.exec(stderr ?? "")?.[1];
    if (flag !== undefined && optionalFlags.has(flag) && !without.has(flag)) {
      without.add(flag);
    } else if (from !== null && /No conversation found/i.test(`${stderr} ${attempt.error.message}`)) {
      if (resume === null) fork = null;
      else await spec.host.remember(null);
      const then = resume !== null && fork !== null ? "from its fork point" : "without its earlier history";
      const text = `Claude Code no longer has a record of this conversation (${from}): it continues ${then}.`;
      spec.host.notice({ level: "warning", text });
      resume = null;
    } else {
      // An id that no process used must not be resumed later.
      if (fresh !== null) await spec.host.remember(null);
      throw new DriverError(attempt.error);
    }
  }
}

type Attempt = { link: ClaudeLink; error: null } | { link: null; error: TurnError };

async function launchOnce(
  spec: ConversationSpec,
  launch: ClaudeLaunch,
  deps: DriverDeps,
  handlers: LinkHandlers,
  onLink: (link: ClaudeLink) => void,
): Promise<Attempt> {
  const { command, secretFile } = await buildCommand(spec, launch, deps.env);
  try {
    const prepared = await spec.host.prepareSpawn(command);
    const consent = await spec.host.consent();
    const child = await spec.host.processes.start(prepared, consent).catch((error: unknown) => {
      throw spawnFailure(program, prepared.argv[0], prepared.cwd, error);
    });
    const link = new ClaudeLink(child, handlers);
    onLink(link);
    const error = await becomeReady(link, deps);
    return error === null ? { link, error: null } : { link: null, error };
  } catch (error) {
    if (error instanceof DriverError) return { link: null, error: error.turnError };
    throw error;
  } finally {
    if (secretFile !== null) await rm(secretFile, { force: true });
  }
}

/**
 * The CLI writes nothing until it receives input; its answer to `initialize` proves that both sides speak the protocol.
 */
async function becomeReady(link: ClaudeLink, deps: DriverDeps): Promise<TurnError | null> {
  const answer = link.control({ subtype: "initialize", hooks: hookRegistration() });
  const outcome = await readiness(answer, readyDeadlineMs, deps.clock);
  if (outcome === "ready") return null;
  const { process } = link;
  if (outcome === "late" || process.alive) await process.child.stop();
  const end = await process.ended;
  if (outcome === "late") {
    const message = `Claude Code did not become ready within ${readyDeadlineMs / 1000} s.`;
    return { code: process.firstNoise === null ? "start" : "protocol", message, ...stderrOf(end) };
  }
  return startError(end, process.firstNoise);
}

function startError(end: ProcessEnd, noise: string | null): TurnError {
  const message = `Claude Code ${endText(end, noise)} before it was ready.`;
  const fix = fixFor(end.stderr, noise);
  const code = noise !== null || end.unreadable !== null ? "protocol" : "start";
  return { code, message, ...(fix === null ? {} : { fix }), ...stderrOf(end) };
}

function fixFor(stderr: string, noise: string | null): string | null {
  if (/root\/sudo privileges/.test(stderr)) {
    return 'Claude Code grants `permission: full` to root only in a sandbox: run as another user, choose `permission: write`, or set IS_SANDBOX: "1" in the agent\'s env if this machine is a sandbox.';
  }
  if (/unknown option/.test(stderr)) return `Update it: ${program.install}@latest`;
  if (noise !== null) return "Check that the agent's command is the Claude Code CLI.";
  return null;
}

export function stderrOf(end: ProcessEnd): { stderr?: string } {
  return end.stderr === "" ? {} : { stderr: end.stderr };
}
