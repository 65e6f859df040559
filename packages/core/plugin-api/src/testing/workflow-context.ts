/** A context for workflow tests. It answers by script, records every call and starts nothing. */
import type { GroupResult } from "@aegis/contract/group.ts";
import { checkJson } from "@aegis/lib/strict-json.ts";
import { readBrief } from "../brief.ts";
import { PredicateFailed, WorkflowError } from "../errors.ts";
import type { BashResult, WorkflowContext } from "../workflow-context.ts";

export type WorkflowContextCall = { method: string; args: readonly unknown[] };

type Script<Args extends readonly unknown[], Answer> = ((...args: Args) => Answer | Promise<Answer>) | undefined;

/** A method without a script throws `WorkflowError`, so that a test states everything it relies on. */
export type FakeWorkflowContextOptions<Config> = {
  config?: Config;
  host?: string | null;
  delegate?: Script<[queue: string, payload: string], string>;
  send?: Script<[handle: string, text: string], string>;
  askHuman?: Script<[question: string, options: readonly string[]], string>;
  bash?: Script<[command: string], Partial<BashResult> | string>;
  waitAll?: Script<[group: string], GroupResult>;
  waitAny?: Script<[group: string], GroupResult>;
  /** The result of `resumeState`. */
  resume?: unknown;
  projectRoot?: string;
};

export type FakeWorkflowContext<Config = Record<string, unknown>> = WorkflowContext<Config> & {
  /** Every call of the body, in order. */
  readonly calls: readonly WorkflowContextCall[];
  readonly lines: readonly unknown[];
  readonly checkpoints: readonly { name: string; payload: unknown }[];
  /** Simulates the cancellation of the run. */
  cancel(): void;
};

const defaultRetries = 3;

/**
 * Creates a context for tests of workflows. It answers by script, records every call in `calls` and starts nothing. A
 * method without a script throws `WorkflowError`, so that a test states everything it relies on.
 *
 * @example
 * ```ts
 * import { fakeWorkflowContext } from "aegis/testing";
 *
 * const context = fakeWorkflowContext({ send: (_, text) => `you said ${text}` });
 * await context.send(await context.spawn("dev"), "hello"); // "you said hello"
 * context.calls.map(({ method }) => method); // ["spawn", "send"]
 * ```
 */
export function fakeWorkflowContext<Config = Record<string, unknown>>(
  options: FakeWorkflowContextOptions<Config> = {},
): FakeWorkflowContext<Config> {
  const calls: WorkflowContextCall[] = [];
  const lines: unknown[] = [];
  const checkpoints: { name: string; payload: unknown }[] = [];
  const abort = new AbortController();
  const note = (method: string, ...args: unknown[]) => calls.push({ method, args });
  const scripted = async <Args extends readonly unknown[], Answer>(
    method: string,
    script: Script<Args, Answer>,
    ...args: Args
  ): Promise<Answer> => {
    note(method, ...args);
    if (script === undefined) throw new WorkflowError(`the test has no script for context.${method}`);
    return script(...args);
  };
  const bash = async (command: string): Promise<BashResult> => {
    const result = await scripted("bash", options.bash, command);
    const given = typeof result === "string" ? { stdout: result } : result;
    return { exit: 0, stdout: "", stderr: "", ...given };
  };
  const send = (handle: string, text: string) => scripted("send", options.send, handle, text);
  let sessions = 0;
  const spawn = async (agent: string, more: { alias?: string; handle?: string } = {}) => {
    note("spawn", agent, more);
    sessions += 1;
    return more.handle ?? `${agent}-${sessions}`;
  };
  return {
    calls,
    lines,
    checkpoints,
    cancel: () => abort.abort(new Error("the run was cancelled")),
    name: "test",
    workflowId: "run_test",
    host: options.host ?? null,
    callerHandle: options.host ?? null,
    config: (options.config ?? {}) as Config,
    projectRoot: options.projectRoot ?? "/project",
    signal: abort.signal,
    spawn,
    send,
    drain: async (handle) => void note("drain", handle),
    close: async (handle) => void note("close", handle),
    delegate: (queue, payload) => scripted("delegate", options.delegate, queue, payload),
    async enqueue(queue, payload) {
      note("enqueue", queue, payload);
      return `tsk_${calls.length}`;
    },
    askHuman: (question, more = {}) => scripted("askHuman", options.askHuman, question, more.options ?? []),
    bash,
    async bashPredicate(command, { retryWith, maxRetries = defaultRetries, to }) {
      for (let attempt = 0; ; attempt++) {
        const result = await bash(command);
        if (result.exit === 0) return result;
        if (attempt >= maxRetries) throw new PredicateFailed(`still failing: ${command}`, { details: result });
        const listener = to ?? options.host ?? null;
        const feedback = typeof retryWith === "function" ? await retryWith(result) : retryWith;
        if (listener !== null) await send(listener, feedback);
      }
    },
    parallel: (branches) =>
      Promise.all(branches.map(async (branch) => (typeof branch === "function" ? branch() : branch))),
    async checkpoint(name, payload) {
      note("checkpoint", name, payload);
      if (payload !== undefined) checkJson(payload, `the payload of checkpoint "${name}"`);
      checkpoints.push({ name, payload: JSON.parse(JSON.stringify(payload ?? null)) });
    },
    resumeState: async <T>() => (options.resume ?? null) as T | null,
    sleep: async (seconds) => void note("sleep", seconds),
    log: (record) => void lines.push(record),
    async spawnGroup(name, agents) {
      note("spawnGroup", name, agents);
      return Array.isArray(agents) ? Promise.all(agents.map((agent: string) => spawn(agent))) : [];
    },
    async broadcast(group, brief) {
      note("broadcast", group, brief);
      readBrief(brief);
      return `brd_${calls.length}`;
    },
    waitAll: (group) => scripted("waitAll", options.waitAll, group),
    waitAny: (group) => scripted("waitAny", options.waitAny, group),
    async step(name, work) {
      note("step", name);
      return work();
    },
  };
}

/** @deprecated Use `WorkflowContextCall`. */
export type EngineCall = WorkflowContextCall;
/** @deprecated Use `FakeWorkflowContextOptions`. */
export type FakeEngineOptions<Config> = FakeWorkflowContextOptions<Config>;
/** @deprecated Use `FakeWorkflowContext`. */
export type FakeEngine<Config = Record<string, unknown>> = FakeWorkflowContext<Config>;

/**
 * The earlier name of `fakeWorkflowContext`.
 *
 * @deprecated Use `fakeWorkflowContext`.
 * @example
 * ```ts
 * import { fakeEngine } from "aegis/testing";
 *
 * const context = fakeEngine({ bash: () => "v1.2.3" });
 * ```
 */
export const fakeEngine = fakeWorkflowContext;
