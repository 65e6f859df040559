/** Workflows: registered under a name, run with arguments of their own, taken up again after any stop. */
import { createHash } from "node:crypto";
import { AegisError } from "../../contract/errors.ts";
import type { MessageId, RunId, SessionId } from "../../contract/ids.ts";
import type { Run, WorkflowView } from "../../contract/run.ts";
import type { Engine, RunContext } from "../../engine/engine.ts";
import { didYouMean } from "../../lib/nearest.ts";
import type { Workflow } from "../../plugin-api/workflow.ts";
import { derivedId } from "../inbox/derived-id.ts";
import { Arguments, type TextArguments } from "./arguments.ts";
import { authorEngine } from "./author-engine.ts";
import type { WorkflowDeps } from "./deps.ts";
import type { RunEnds } from "./run-ends.ts";
import { RunViews } from "./run-views.ts";
import { settingsOf } from "./settings.ts";

export type WorkflowsOptions = WorkflowDeps & {
  engine: Engine;
  ends: RunEnds;
  maxHops: () => number;
  /** What the project sets for workflows, by name. */
  configured: () => Readonly<Record<string, Readonly<Record<string, unknown>>>>;
};

export type RunRequest = {
  workflow: string;
  args?: Readonly<Record<string, unknown>>;
  /** As typed on a command line. */
  textArgs?: TextArguments;
  id?: RunId | undefined;
  host?: SessionId | null;
  callback?: boolean;
  /** The message whose turn asks for the run. */
  cause?: { chain: MessageId; hops: number } | undefined;
  /** The run one of whose commands asks for this one. One that is not known here counts for nothing. */
  within?: RunId | undefined;
};

/** A workflow whose body is not here: its text says nothing about it, and what it asks for comes later. */
export type RegisteredWorkflow = Omit<Workflow, "configure" | "order" | "made"> & {
  remote?: { code: string; graceMs: number };
  /** The JSON Schema of its arguments, where that says more than `input`. */
  schema?: Record<string, unknown>;
};

type Registered = { workflow: RegisteredWorkflow; args: Arguments; source: string };

export class Workflows {
  readonly runs: RunViews;
  readonly #options: WorkflowsOptions;
  readonly #registered = new Map<string, Registered>();

  constructor(options: WorkflowsOptions) {
    this.#options = options;
    this.runs = new RunViews(options.store, options.engine);
  }

  /** Returns its undo. A name that exists is refused, never overwritten. */
  add(workflow: RegisteredWorkflow, source: string): () => void {
    const { name } = workflow;
    const before = this.#registered.get(name);
    if (before) {
      throw new AegisError("conflict", `a workflow "${name}" exists already, from ${before.source}`);
    }
    const known: Registered = { workflow, args: new Arguments(workflow), source };
    const undo = this.#options.engine.define({
      name,
      code: workflow.remote?.code ?? codeHash(workflow),
      ...(workflow.remote === undefined ? {} : { graceMs: workflow.remote.graceMs }),
      body: async (context, args) => {
        const host = context.run.host === null ? null : await this.#hostHandle(context, context.run.host);
        const config = settingsOf(workflow, this.#options.configured()[name] ?? {});
        return workflow.body(authorEngine(context, this.#options, { host, config }), args as never);
      },
    });
    this.#registered.set(name, known);
    return () => {
      undo();
      if (this.#registered.get(name) === known) this.#registered.delete(name);
    };
  }

  list(): WorkflowView[] {
    return [...this.#registered.values()].map(({ args, source }) => args.view(source));
  }

  get(name: string): WorkflowView {
    const { args, source } = this.#find(name);
    return args.view(source);
  }

  /** Throws what a run with these arguments would be refused for. */
  check(name: string, args: Readonly<Record<string, unknown>>): void {
    this.#find(name).args.check(args);
  }

  /** Answers at once; the run goes on by itself. */
  async start(request: RunRequest): Promise<Run> {
    const { engine, maxHops } = this.#options;
    const { workflow, args: taken } = this.#find(request.workflow);
    const args = taken.check(request.args ?? {}, request.textArgs);
    settingsOf(workflow, this.#options.configured()[workflow.name] ?? {});
    const cause = request.cause ?? (await this.#causeWithin(request.within));
    const hops = cause === undefined ? 0 : cause.hops + 1;
    // Whatever the run sends is one message more.
    if (hops + 1 > maxHops()) {
      throw new AegisError("too_many", "refused: this run belongs to a chain of agents that is too long already", {
        hint: `raise messages.max_hops (now ${maxHops()}) if the chain is meant to be that long`,
      });
    }
    const chain = cause?.chain ?? null;
    const { id, host = null, callback = false } = request;
    return engine.start({ id, workflow: workflow.name, args, host, callback, chain, hops });
  }

  async resume(reference: string, options: { force: boolean }): Promise<Run> {
    return this.#options.engine.resume((await this.runs.find(reference)).id, options);
  }

  /** Takes a run up from its record with the body that is registered then. */
  restart(id: RunId, reason: string): Promise<void> {
    return this.#options.engine.restart(id, reason);
  }

  async cancel(reference: string, reason: string): Promise<Run> {
    return this.#options.engine.cancel((await this.runs.find(reference)).id, reason);
  }

  async fork(reference: string, options: { id?: RunId | undefined; checkpoints?: number | undefined }): Promise<Run> {
    return this.#options.engine.fork((await this.runs.find(reference)).id, options);
  }

  /** Runs that will still tell this session of their end, in words. */
  async stillRunning(session: SessionId): Promise<string[]> {
    const open = await this.#options.store.read.runs.unfinished();
    const mine = open.filter((run) => run.host === session && run.callback && run.status === "running");
    return mine.map((run) => `run ${run.id} of workflow ${run.workflow}`);
  }

  /** Takes up what an earlier daemon left. Gives the runs that go on. */
  async launch(): Promise<Run[]> {
    const resumed = await this.#options.engine.launch();
    await this.#options.ends.recover();
    return resumed;
  }

  /** Lets go of all runs; the next launch takes them up. */
  stop(): Promise<void> {
    return this.#options.engine.stop();
  }

  #find(name: string): Registered {
    const found = this.#registered.get(name);
    if (found) return found;
    const names = [...this.#registered.keys()];
    throw new AegisError("not_found", `no workflow "${name}"${didYouMean(name, names)}`, {
      hint: names.length === 0 ? "none is registered" : `workflows here: ${names.join(", ")}`,
    });
  }

  async #causeWithin(within: RunId | undefined): Promise<RunRequest["cause"]> {
    const run = within === undefined ? null : await this.#options.engine.get(within);
    return run === null ? undefined : { chain: run.chain ?? derivedId("msg", run.id), hops: run.hops };
  }

  /** On record, so that a rename does not change what the body says. */
  #hostHandle(context: RunContext, session: SessionId): Promise<string> {
    return context.step(
      { method: "host", args: null, label: "host" },
      { perform: async () => (await this.#options.store.read.sessions.get(session))?.handle ?? session },
    );
  }
}

/** The body's own text: helpers it calls are not part of it. */
function codeHash({ name, body }: RegisteredWorkflow): string {
  return createHash("sha256").update(`${name}\n${body.toString()}`).digest("hex").slice(0, 16);
}
