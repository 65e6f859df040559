/** Workflow steps that run commands. The output is streamed to the run's log. */
import { rm } from "node:fs/promises";
import { constants } from "node:os";
import { join, resolve } from "node:path";
import { commandRefusal } from "@aegis/agents/rights/commands.ts";
import { starterOfRun } from "@aegis/agents/rights/starter.ts";
import type { RunContext } from "@aegis/engine/engine.ts";
import { childEnv } from "@aegis/lib/child-env.ts";
import { makePrivateDir } from "@aegis/lib/files.ts";
import { errorText } from "@aegis/lib/log.ts";
import type { Child, Exit } from "@aegis/lib/process.ts";
import { onAbort } from "@aegis/lib/until-aborted.ts";
import { PredicateFailed, WorkflowError } from "@aegis/plugin-api/errors.ts";
import type { BashOptions, BashResult, WorkflowContext } from "@aegis/plugin-api/workflow-context.ts";
import { derivedId } from "@aegis/sessions/inbox/derived-id.ts";
import type { StepDeps } from "./deps.ts";
import { OutputLog } from "./output-log.ts";
import { ShortenedOutput, shortenedFile } from "./shortened.ts";

export type ShellSteps = Pick<WorkflowContext, "bash" | "bashPredicate">;

/**
 * `$1` reaches the shell unchanged. Stdin is redirected because bash treats a socket as a remote login and then reads
 * the user's start-up file. Stderr goes to a file, to keep it separate from stdout.
 */
const wrapper =
  'if command -v bash >/dev/null 2>&1; then exec bash -c "$1" </dev/null 2>"$2"; else exec sh -c "$1" </dev/null 2>"$2"; fi';

const defaultRetries = 3;

export function shellSteps(
  context: RunContext,
  deps: StepDeps,
  send: WorkflowContext["send"],
  host: string | null,
): ShellSteps {
  const bash = async (command: string, options: BashOptions = {}): Promise<BashResult> => {
    const { onUncertain, ...given } = options;
    return context.step<BashResult>(
      { method: "bash", args: { command, ...given }, label: `bash ${command.trim().split("\n", 1)[0] ?? ""}` },
      {
        begin: async () => ({ value: null }),
        async perform({ key, again, signal }) {
          await checkMayRun(context, deps, command, signal);
          if (again && onUncertain === "fail") {
            throw new WorkflowError(
              `the command was running when Aegis stopped, so it may have taken effect: ${command}`,
            );
          }
          return runCommand(context, deps, { command, options, key, signal });
        },
      },
    );
  };

  return {
    bash,
    async bashPredicate(command, { retryWith, maxRetries = defaultRetries, to, ...options }) {
      const listener = to ?? host;
      for (let attempt = 0; ; attempt++) {
        const result = await bash(command, options);
        if (result.exit === 0) return result;
        if (attempt >= maxRetries) {
          throw new PredicateFailed(`still failing after ${attempt + 1} tries (exit ${result.exit}): ${command}`, {
            details: { command, attempts: attempt + 1, ...result },
          });
        }
        const feedback = typeof retryWith === "function" ? await retryWith(result) : fill(retryWith, result);
        if (listener !== null) await send(listener, feedback);
      }
    },
  };
}

/**
 * Judged from the stored rights, so that a run that is forked, resumed or started by another run gains none. An agent
 * chooses the arguments of its runs, and arguments may become commands, so approval is required wherever the agent
 * needs it for its own commands.
 */
export async function checkMayRun(
  { run }: RunContext,
  deps: Pick<StepDeps, "store" | "agents" | "commands">,
  command: string,
  signal: AbortSignal,
): Promise<void> {
  const starter = await starterOfRun(deps.store.read, run, deps.agents);
  if (starter === null) return;
  const { agent, session, by_agent: byAgent = false } = starter;
  const title = `the workflow "${run.workflow}", which ${agent.slug} started, runs: ${command}`;
  const refusal = byAgent
    ? await deps.commands.refusal({ session, agent, command, title }, signal)
    : commandRefusal(agent);
  if (refusal !== null) throw new WorkflowError(refusal);
}

type Command = { command: string; options: BashOptions; key: string; signal: AbortSignal };

async function runCommand(context: RunContext, deps: StepDeps, run: Command): Promise<BashResult> {
  const { consent, env, root, scratchDir, clock } = deps;
  const { command, options, key, signal } = run;
  signal.throwIfAborted();
  await makePrivateDir(scratchDir);
  const errors = join(scratchDir, `${derivedId("run", key)}.stderr`);
  const output = new OutputLog(context, deps, command);
  const cwd = resolve(root, options.cwd ?? ".");
  const starter = await starterOfRun(deps.store.read, context.run, deps.agents);
  const processes = await deps.confine({ within: starter?.agent ?? null, folder: cwd, own: [scratchDir] });
  const child = await processes
    .start(
      {
        argv: ["sh", "-c", wrapper, "sh", command, errors],
        // Identifies runs started by this command, so that endless nesting is detected.
        env: childEnv(env, [], { ...options.env, AEGIS_RUN: context.run.id }),
        cwd,
      },
      await consent(),
    )
    .catch((error: unknown) => {
      throw new WorkflowError(`cannot run a command in ${cwd}: ${errorText(error)}`);
    });
  const timeoutMs = options.timeout === undefined ? null : options.timeout * 1000;
  try {
    const { exit, stdout, timedOut } = await supervise(child, { signal, timeoutMs, clock, output });
    const stderr = await shortenedFile(errors);
    output.push("stderr", stderr);
    if (timedOut)
      throw new WorkflowError(`bash timed out after ${options.timeout} s: ${command}`, { details: { stdout, stderr } });
    return { exit: exitCode(exit), stdout, stderr };
  } finally {
    await output.flush();
    await rm(errors, { force: true });
  }
}

async function supervise(
  child: Child,
  options: { signal: AbortSignal; timeoutMs: number | null; clock: StepDeps["clock"]; output: OutputLog },
): Promise<{ exit: Exit; stdout: string; timedOut: boolean }> {
  const { signal, timeoutMs, clock, output } = options;
  const over = new AbortController();
  let timedOut = false;
  if (timeoutMs !== null) {
    clock.sleep(timeoutMs, over.signal).then(
      () => {
        timedOut = true;
        return child.stop();
      },
      () => {},
    );
  }
  const release = onAbort(signal, () => void child.stop());
  try {
    child.stdin.end();
    const stdout = new ShortenedOutput();
    for await (const chunk of child.stdout) {
      stdout.push(chunk);
      output.push("stdout", Buffer.from(chunk).toString("utf8"));
    }
    const exit = await child.exited;
    signal.throwIfAborted();
    return { exit, stdout: stdout.toString(), timedOut };
  } finally {
    over.abort();
    release();
    await child.stop();
  }
}

/** Follows the shell convention: 128 plus the number of the signal. */
function exitCode({ code, signal }: Exit): number {
  return code ?? 128 + (signal === null ? 0 : (constants.signals[signal] ?? 0));
}

function fill(template: string, result: BashResult): string {
  return template.replace(/\{(exit|stdout|stderr)\}/g, (_, field: keyof BashResult) => String(result[field]));
}
