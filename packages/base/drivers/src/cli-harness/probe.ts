/** Looks for a command-line harness on this machine and asks for its version. */
import { findProgram } from "@aegis/lib/find-program.ts";
import { lines } from "@aegis/lib/jsonl.ts";
import { errorText } from "@aegis/lib/log.ts";
import { ownConsent } from "@aegis/lib/own-consent.ts";
import type { DriverDeps, Probe } from "../driver.ts";
import { oneLine } from "./fields.ts";

export type Program = {
  /** The name that users know. */
  name: string;
  command: string;
  /** How to install it. */
  install: string;
  /** Recognises the output of `--version`. */
  version: RegExp;
};

const deadlineMs = 15_000;

export async function probeProgram(
  program: Program,
  deps: DriverDeps,
  env: Record<string, string>,
  signal: AbortSignal,
): Promise<Probe> {
  const fix = `Install it with: ${program.install}`;
  const path = await findProgram(program.command, env.PATH ?? "");
  if (path === null) {
    const detail = `${program.name} is not installed: no "${program.command}" on PATH`;
    return { status: "missing", version: null, path: null, detail, fix };
  }
  const answer = await askVersion(path, deps, env, signal);
  const version = answer.ok ? (program.version.exec(answer.text)?.[1] ?? null) : null;
  if (version !== null) return { status: "ready", version, path, detail: `${program.name} ${version}`, fix: null };
  const said = answer.text === "" ? "nothing" : `"${oneLine(answer.text)}"`;
  const detail = `"${path} --version" should print a version of ${program.name}, but gave ${said}`;
  return { status: "broken", version: null, path, detail, fix: `Run "${path} --version" to see why. ${fix}` };
}

type Answer = { ok: boolean; text: string };

async function askVersion(
  path: string,
  deps: DriverDeps,
  env: Record<string, string>,
  signal: AbortSignal,
): Promise<Answer> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]);
  try {
    const child = await deps.processes.start({ argv: [path, "--version"], env, cwd: "/" }, ownConsent("probe"));
    const stop = () => void child.stop({ graceMs: 500 });
    deadline.addEventListener("abort", stop, { once: true });
    if (deadline.aborted) stop();
    child.stdin.end();
    let text = "";
    for await (const line of lines(child.stdout, { maxBytes: 64 * 1024 })) text += `${line}\n`;
    const exit = await child.exited;
    deadline.removeEventListener("abort", stop);
    if (deadline.aborted) return { ok: false, text: `no answer within ${deadlineMs / 1000} s` };
    return { ok: exit.code === 0, text: (exit.code === 0 ? text : child.stderrTail() || text).trim() };
  } catch (error) {
    return { ok: false, text: errorText(error) };
  }
}
