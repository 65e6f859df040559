/**
 * Answers the daemon's calls with the plugin's functions. Every call gets exactly one answer, unless it was cancelled.
 */

import { AegisError } from "@aegis/contract/errors.ts";
import { runBatch } from "@aegis/hooks/hook-batch.ts";
import { sizeOf } from "@aegis/lib/cut-text.ts";
import { toJson } from "@aegis/lib/strict-json.ts";
import type { PluginContext } from "@aegis/plugin-api/context.ts";
import type { HookCall } from "@aegis/plugin-api/hook.ts";
import type { Caller, CallOutcome, FromWorker, ToWorker, WorkerCall } from "../protocol.ts";
import { fromWire, toWire } from "../wire-error.ts";
import { callChannel } from "./channel-call.ts";
import type { CollectedParts } from "./collect.ts";
import { issueText } from "./schema.ts";
import { WorkflowContexts } from "./workflow-contexts.ts";

export class Calls {
  readonly #collected: CollectedParts;
  readonly #context: PluginContext;
  readonly #post: (message: FromWorker) => void;
  readonly #running = new Map<number, AbortController>();
  readonly #workflows: WorkflowContexts;

  constructor(collected: CollectedParts, context: PluginContext, post: (message: FromWorker) => void) {
    this.#collected = collected;
    this.#context = context;
    this.#post = post;
    this.#workflows = new WorkflowContexts(post);
  }

  take(message: ToWorker): void {
    switch (message.type) {
      case "ping":
        this.#post({ type: "pong", id: message.id });
        break;
      case "call":
        void this.#answer(message.id, message.call);
        break;
      case "cancel":
        this.#running.get(message.id)?.abort(new Error(message.reason));
        this.#running.delete(message.id);
        this.#workflows.cancel(message.id, new Error(message.reason));
        break;
      case "answer":
        this.#workflows.answered(message.id, message.outcome);
        break;
      case "perform":
        void this.#workflows.perform(message);
        break;
      case "cut":
        this.#workflows.cut(message.id, message.branch, fromWire(message.reason));
        break;
    }
  }

  async #answer(id: number, call: WorkerCall): Promise<void> {
    const abort = new AbortController();
    this.#running.set(id, abort);
    const outcome = await this.#run(id, call, abort.signal)
      .then(
        (value): CallOutcome => ({ ok: true, value: bounded(call, jsonValue(value)) }),
        (error: unknown): CallOutcome => ({ ok: false, error: toWire(error) }),
      )
      .catch((error: unknown): CallOutcome => ({ ok: false, error: toWire(error) }));
    this.#workflows.forget(id);
    if (this.#running.delete(id)) this.#post({ type: "done", id, outcome });
  }

  async #run(id: number, call: WorkerCall, signal: AbortSignal): Promise<unknown> {
    switch (call.kind) {
      case "hooks":
        return runBatch(
          call.batch,
          (name, given, abort) => {
            const hook = at(this.#collected.hooks.get(`${call.batch.event} ${name}`));
            const plugin: HookCall = { ...this.#context, signal: abort };
            return hook.handler(given as never, plugin);
          },
          signal,
        );
      case "tool": {
        const { tool, check } = at(this.#collected.tools[call.index]);
        const input = check === null ? call.input : await checked(check, call.input);
        return tool.handler(input as never, { ...this.#context, ...callerOf(call.caller), key: call.key, signal });
      }
      case "command": {
        const { handler } = at(this.#collected.commands[call.index]);
        return handler(call.args, { ...this.#context, ...call.caller, signal });
      }
      case "reducer":
        return at(this.#collected.reducers[call.index]).handler(call.replies);
      case "channel": {
        const { options } = at(this.#collected.channels[call.index]);
        const ask = (method: string, args: unknown[]) => this.#workflows.ask(id, method, args);
        return callChannel(options, call, { ...this.#context, signal }, ask);
      }
      case "workflow": {
        const workflow = at(this.#collected.workflows[call.index]);
        const check = workflow.input === null ? null : workflow.input["~standard"].validate;
        const args = check === null ? call.args : await checked(check, call.args);
        const result = await workflow.body(this.#workflows.open(id, call.about), args as never);
        // A run's result is stored permanently, so a value that JSON cannot represent is refused.
        toJson(result, `the result of ${workflow.name}`);
        return result;
      }
    }
  }
}

type Check = (value: unknown) => unknown;

async function checked(check: Check, input: unknown): Promise<unknown> {
  const result = (await check(input ?? {})) as { value?: unknown; issues?: readonly { message: string }[] };
  if (result.issues === undefined) return result.value;
  throw new AegisError("invalid", issueText(result.issues));
}

function callerOf({ session, agent }: Caller): { session: { id: string; handle: string }; agent: string } {
  if (session === null || agent === null) throw new Error("a tool is called by a session");
  return { session, agent };
}

/** Threads can transfer more than JSON; everything outside a worker is JSON. */
function jsonValue(value: unknown): unknown {
  if (value === undefined || value === null) return null;
  if (typeof value === "string" || typeof value === "boolean") return value;
  const text = JSON.stringify(value);
  if (text === undefined) throw new TypeError(`expected a result that JSON can hold, found a ${typeof value}`);
  return JSON.parse(text);
}

/** In characters. Tools may return more: the model gets a part, and the full result is stored in a file. */
const mostCharacters = { tool: 64 * 1024 * 1024, other: 32 * 1024 * 1024 };

/** Throws `too_large` for a result that must not be copied into the daemon's memory. Hooks have their own limits. */
function bounded(call: WorkerCall, value: unknown): unknown {
  if (call.kind === "hooks") return value;
  const most = call.kind === "tool" ? mostCharacters.tool : mostCharacters.other;
  const size = sizeOf(value);
  if (size <= most) return value;
  throw new AegisError("too_large", `the result has ${size} characters; at most ${most} are allowed`, {
    hint: "write it to a file and return the file's path",
  });
}

function at<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("the daemon asked for a part that this plugin does not have");
  return value;
}
