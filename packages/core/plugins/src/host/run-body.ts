/** Runs a workflow's body in its plugin's worker and performs its context requests here, in the same branch. */
import { AsyncLocalStorage } from "node:async_hooks";
import { RunCancelled } from "@aegis/engine/engine.ts";
import { onAbort } from "@aegis/lib/until-aborted.ts";
import type { PredicateOptions, WorkflowContext } from "@aegis/plugin-api/workflow-context.ts";
import type { CallOutcome } from "../protocol.ts";
import { fromWire, toWire } from "../wire-error.ts";
import { plainMethods } from "../worker/workflow-contexts.ts";
import { PluginGone } from "./errors.ts";
import type { WorkerRequest } from "./open-calls.ts";
import type { PluginWorker } from "./worker.ts";

export type Body = {
  result: Promise<unknown>;
  /** Whether the body waits for the context; otherwise it executes its own code. */
  isWaiting(): boolean;
};

type Within = <T>(run: () => T) => T;
type Branches = { resolve: (value: unknown) => void; reject: (error: unknown) => void }[];

const methods: ReadonlySet<string> = new Set(plainMethods);

export function runBody(worker: PluginWorker, index: number, context: WorkflowContext, args: unknown): Body {
  /** Branch → its place in the run's record, which only code running there can claim. */
  const places = new Map<string, Within>();
  const parallels = new Map<number, Branches>();
  let open = 0;

  const enter = (branch: string) => {
    places.set(branch, AsyncLocalStorage.snapshot());
    const { signal } = context;
    const cut = () => worker.post({ type: "cut", id: call.id, branch, reason: toWire(signal.reason) });
    onAbort(signal, cut);
  };
  const onRequest = (request: WorkerRequest) => {
    const within = places.get(request.branch);
    // The branch was never opened: the worker misbehaves, and the request is ignored.
    if (within === undefined) return;
    within(() => {
      if (request.method === "log") return context.log(request.args[0]);
      open += 1;
      const settle = (outcome: CallOutcome) => {
        open -= 1;
        worker.calls.answer(request.id, outcome);
      };
      perform(request).then(
        (value) => settle({ ok: true, value }),
        (error: unknown) => settle({ ok: false, error: toWire(error) }),
      );
    });
  };
  const perform = async ({ id, method, args: given }: WorkerRequest): Promise<unknown> => {
    if (method === "parallel") return parallel(id, Number(given[0]));
    if (method === "step") {
      const [name, options] = given as [string, Parameters<WorkflowContext["step"]>[2]];
      return context.step(name, () => performed(id, null), options);
    }
    if (method === "bashPredicate") {
      const [command, options] = given as [string, PredicateOptions];
      const retryWith = options.retryWith ?? ((result: unknown) => performed(id, result) as Promise<string>);
      return context.bashPredicate(command, { ...options, retryWith });
    }
    if (!methods.has(method)) throw new TypeError(`the context has no method "${method}"`);
    return (context[method as (typeof plainMethods)[number]] as (...args: unknown[]) => Promise<unknown>)(...given);
  };
  /**
   * A step whose worker died has not ended; releasing the run ends the wait. A step of a cancelled run is not waited
   * for, but a step of a replayed run is, so that it is not performed twice at once.
   */
  const performed = (id: number, value: unknown): Promise<unknown> => {
    const { signal } = context;
    const work = worker.calls.perform(id, value).catch((error: unknown) => {
      if (error instanceof PluginGone) return untilAborted(signal, () => true);
      throw error;
    });
    return Promise.race([work, untilAborted(signal, (reason) => reason instanceof RunCancelled)]);
  };
  const parallel = async (id: number, count: number): Promise<null> => {
    const branches = Array.from({ length: count }, () => Promise.withResolvers<unknown>());
    parallels.set(id, branches);
    try {
      await context.parallel(
        branches.map((branch, at) => () => {
          enter(`${id}.${at}`);
          return branch.promise;
        }),
      );
      return null;
    } finally {
      parallels.delete(id);
    }
  };
  const onBranch = (request: number, at: number, outcome: CallOutcome) => {
    const branch = parallels.get(request)?.[at];
    if (outcome.ok) branch?.resolve(null);
    else branch?.reject(fromWire(outcome.error));
  };

  const { name, workflowId, host, callerHandle, projectRoot, config } = context;
  const call = worker.calls.begin(
    { kind: "workflow", index, args, about: { name, workflowId, host, callerHandle, projectRoot, config } },
    { timeoutMs: null, signal: context.signal, what: `the workflow "${name}"`, onRequest, onBranch },
  );
  enter("");
  return { result: call.result, isWaiting: () => open > 0 };
}

/** Rejects with the abort reason if `counts` accepts it. */
function untilAborted(signal: AbortSignal, counts: (reason: unknown) => boolean): Promise<never> {
  return new Promise((_, reject) => {
    onAbort(signal, () => {
      if (counts(signal.reason)) reject(signal.reason);
    });
  });
}
