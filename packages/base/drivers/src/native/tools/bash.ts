/** Runs a shell command in the project folder. */

import type { Child } from "@aegis/lib/process.ts";
import { z } from "zod";
import { HeadAndTail } from "./cap.ts";
import { defineTool, done, failed, type Tool, type ToolContext, type ToolResult } from "./tool.ts";

const defaultSeconds = 120;
const mostSeconds = 600;

/** A cancelled turn ends immediately; a process that ignores SIGTERM for this long is killed. */
const cancelGraceMs = 20;

/**
 * `$1` reaches the shell unchanged; both outputs are merged in the order of writing. Input is closed because bash takes
 * a socket there for a remote login and would then read the user's start-up file.
 */
const wrapper =
  'if command -v bash >/dev/null 2>&1; then exec bash -c "$1" </dev/null 2>&1; else exec sh -c "$1" </dev/null 2>&1; fi';

export function bashTool(): Tool {
  return defineTool({
    name: "bash",
    description:
      "Run a shell command in the project folder, without input. " +
      "Everything it started is killed when it returns. Use read, grep and glob to look at files.",
    kind: "execute",
    effect: "execute",
    input: z.object({
      command: z.string().min(1),
      timeout_seconds: z.number().positive().max(mostSeconds).optional().describe(`${defaultSeconds} by default`),
    }),
    title: ({ command }) => command,
    async run({ command, timeout_seconds }, context) {
      context.signal.throwIfAborted();
      const child = await context.processes.start(
        { argv: ["sh", "-c", wrapper, "sh", command], env: context.shellEnv, cwd: context.cwd },
        await context.consent(),
      );
      return await supervise(child, timeout_seconds ?? defaultSeconds, context);
    },
  });
}

async function supervise(child: Child, seconds: number, context: ToolContext): Promise<ToolResult> {
  const over = new AbortController();
  let timedOut = false;
  const deadline = context.clock.sleep(seconds * 1000, over.signal).then(
    () => {
      timedOut = true;
      return child.stop();
    },
    () => undefined,
  );
  let stopped: Promise<void> | null = null;
  const onAbort = () => {
    stopped = child.stop({ graceMs: cancelGraceMs });
  };
  context.signal.addEventListener("abort", onAbort, { once: true });
  if (context.signal.aborted) onAbort();
  const output = new HeadAndTail();
  try {
    child.stdin.end();
    for await (const chunk of child.stdout) output.push(chunk);
    const exit = await child.exited;
    await stopped;
    context.signal.throwIfAborted();
    const text = output.toString().trimEnd();
    if (timedOut) return failed(joined(text, `[timed out after ${seconds} s and was killed]`));
    if (exit.code === 0) return done(text === "" ? "(no output)" : text);
    return failed(joined(text, exit.code === null ? `[ended by ${exit.signal}]` : `[exit code ${exit.code}]`));
  } finally {
    context.signal.removeEventListener("abort", onAbort);
    over.abort();
    await deadline;
    await child.stop({ graceMs: cancelGraceMs });
  }
}

function joined(text: string, note: string): string {
  return text === "" ? note : `${text}\n${note}`;
}
