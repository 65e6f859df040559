/**
 * Runs tools that are programs: the input as JSON on stdin, one JSON document on stdout. The deadline covers everything
 * the program started, even if a leftover process keeps the pipe open.
 */

import { join } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { ExecutableTool } from "@aegis/contract/plugin.ts";
import { childEnv, type Environment } from "@aegis/lib/child-env.ts";
import type { Consent } from "@aegis/lib/consent.ts";
import { isRecord } from "@aegis/lib/is-record.ts";
import { errorText } from "@aegis/lib/log.ts";
import type { Child, Processes } from "@aegis/lib/process.ts";
import { onAbort } from "@aegis/lib/until-aborted.ts";
import { removeBytecode } from "../caches.ts";

export type ExecutableOptions = {
  plugin: string;
  /** The plugin's folder, in which the program runs. */
  root: string;
  config: Readonly<Record<string, unknown>>;
  /** The writable folder: the plugin's own folder is what the user trusted. */
  dataDir: string;
  cacheDir: string;
  env: Environment;
  /** What starts the program. Throws if it must be confined and cannot be. */
  confine: () => Promise<Processes>;
  /** Called at each start, because the program on disk is what runs. */
  consent: () => Promise<Consent>;
};

/** What starts a program that a session's agent calls; it may change the folders. */
export type ConfineTool = (session: SessionId, own: readonly string[]) => Promise<Processes>;

const graceMs = 500;
const maxOutputBytes = 1024 * 1024;
const shownBytes = 2_000;

/** Returns the program's answer. Throws `AegisError` with the program's own error if it reported one. */
export async function runExecutable(
  tool: ExecutableTool,
  input: unknown,
  options: ExecutableOptions,
  signal: AbortSignal,
): Promise<unknown> {
  const what = `the tool "${tool.name}" of the plugin "${options.plugin}"`;
  await removeBytecode(options.root);
  const command = {
    argv: [tool.command.startsWith("./") ? `${options.root}/${tool.command.slice(2)}` : tool.command, ...tool.args],
    cwd: options.root,
    env: childEnv(options.env, [], { ...configVariables(options.config), ...placeVariables(options) }),
  } satisfies { argv: [string, ...string[]]; cwd: string; env: Record<string, string> };
  const processes = await options.confine();
  const child = await processes.start(command, await options.consent()).catch((error: unknown) => {
    throw new AegisError("unavailable", `${what} cannot be started: ${errorText(error)}`);
  });
  const over = Promise.withResolvers<never>();
  const giveUp = (reason: unknown) => {
    over.reject(reason);
    void child.stop({ graceMs }).catch(() => {});
  };
  const late = new AegisError("timeout", `${what} gave no answer within ${tool.timeout_ms / 1000} s`);
  const timer = setTimeout(giveUp, tool.timeout_ms, late);
  const release = onAbort(signal, () => giveUp(signal.reason));
  try {
    child.stdin.end(JSON.stringify(input ?? {}));
    return await Promise.race([answerOf(child, what), over.promise]);
  } finally {
    clearTimeout(timer);
    release();
    void child.stop({ graceMs }).catch(() => {});
  }
}

async function answerOf(child: Child, what: string): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of child.stdout) {
    size += chunk.length;
    if (size > maxOutputBytes)
      throw new AegisError("too_large", `${what} wrote more than ${maxOutputBytes} bytes to stdout`);
    chunks.push(chunk);
  }
  const { code, signal } = await child.exited;
  const text = Buffer.concat(chunks).toString("utf8");
  const document = lastDocument(text);
  if (isRecord(document) && (document.success === false || hasError(document)))
    throw new AegisError("invalid", errorOf(document));
  if (code !== 0) {
    const how = signal === null ? `exited with code ${code}` : `was killed by ${signal}`;
    throw new AegisError("internal", `${what} ${how}${tail(child.stderrTail() || text)}`);
  }
  if (document === undefined)
    throw new AegisError(
      "internal",
      text.trim() === ""
        ? `${what} wrote nothing to stdout${tail(child.stderrTail())}`
        : `${what} wrote no JSON to stdout: ${text.trim().slice(0, shownBytes)}`,
    );
  return document;
}

/** Programs may print lines before their answer; the answer is the JSON document at the end of the output. */
function lastDocument(text: string): unknown {
  const whole = parse(text);
  if (whole !== undefined) return whole;
  const lines = text.trimEnd().split("\n");
  let at = text.trimEnd().length;
  for (let index = lines.length - 1; index >= 0; index--) {
    at -= (lines[index] ?? "").length;
    if (/^\s*[{["\-\dtfn]/.test(lines[index] ?? "")) {
      const found = parse(text.slice(at));
      if (found !== undefined) return found;
    }
    at -= 1;
  }
  return undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function hasError(document: Record<string, unknown>): boolean {
  return document.success !== true && typeof document.error === "string" && document.error !== "";
}

function errorOf({ error, message, error_type: type, suggestion }: Record<string, unknown>): string {
  const said = [error, message].find((text) => typeof text === "string" && text !== "") ?? "it failed";
  const kind = typeof type === "string" ? ` (${type})` : "";
  return `${said}${kind}${typeof suggestion === "string" ? `; ${suggestion}` : ""}`;
}

/** The writable folders of a plugin's programs. Python keeps its bytecode there and reads it from nowhere else. */
export function placeVariables({ dataDir, cacheDir }: { dataDir: string; cacheDir: string }): Record<string, string> {
  return { PLUGIN_DATA_DIR: dataDir, PYTHONPYCACHEPREFIX: join(cacheDir, "python") };
}

/** `PLUGIN_CONFIG_<KEY>` for each setting; values other than text are JSON. */
function configVariables(config: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(config).map(([key, value]) => [
      `PLUGIN_CONFIG_${key.toUpperCase().replace(/[^A-Z0-9_]/g, "_")}`,
      typeof value === "string" ? value : JSON.stringify(value),
    ]),
  );
}

function tail(text: string): string {
  const shown = text.trim().slice(-shownBytes);
  return shown === "" ? "" : `: ${shown}`;
}
