/** Registers workflows under names, starts their runs and resumes them after a stop. */
import { createHash } from "node:crypto";
import { starterOf } from "@aegis/agents/rights/starter.ts";
import { unknownName } from "@aegis/agents/unknown-name.ts";
import { AegisError, isAegisError } from "@aegis/contract/errors.ts";
import { type MessageId, newId, type RunId, type SessionId } from "@aegis/contract/ids.ts";
import type { Run, WorkflowView } from "@aegis/contract/run.ts";
import type { Starter } from "@aegis/contract/starter.ts";
import type { Engine, RunContext } from "@aegis/engine/engine.ts";
import type { Consent } from "@aegis/lib/consent.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import { WorkflowError } from "@aegis/plugin-api/errors.ts";
import type { Workflow } from "@aegis/plugin-api/workflow.ts";
import { derivedId } from "@aegis/sessions/inbox/derived-id.ts";
import { Arguments, type TextArguments } from "./arguments.ts";
import type { WorkflowDeps } from "./deps.ts";
import { placeOfRun, type RunEnds } from "./run-ends.ts";
import { RunViews } from "./run-views.ts";
import { workflowContext } from "./workflow-context.ts";

export type WorkflowsOptions = WorkflowDeps & {
  engine: Engine;
  ends: RunEnds;
  maxHops: () => number;
  /** The project's settings for workflows, by name. */
  configured: () => Readonly<Record<string, Readonly<Record<string, unknown>>>>;
};

export type RunRequest = {
  workflow: string;
  args?: Readonly<Record<string, unknown>>;
  /** Arguments as typed on a command line. */
  textArgs?: TextArguments;
  id?: RunId | undefined;
  /** The session for which the run works. Everything the run starts has at most the rights of that session. */
  host?: SessionId | null;
  /** Set if the session's agent starts the run with its tool. A person who names a host has approved its commands. */
  byAgent?: boolean;
  /** Set if a program with a credential of its own starts the run. */
  byClient?: boolean;
  callback?: boolean;
  /** The message whose turn starts the run. */
  cause?: { chain: MessageId; hops: number } | undefined;
  /** The run whose command starts this one. An unknown id is ignored. */
  within?: RunId | undefined;
};

/** A workflow whose body runs in a plugin worker: its source text and its requests are not known here. */
export type RegisteredWorkflow = Omit<Workflow, "configure" | "order" | "made"> & {
  remote?: { code: string; graceMs: number };
  /** The plugin that provides it; absent for a bundled workflow. */
  plugin?: string;
  /** The JSON Schema of its arguments, if it says more than `input`. */
  schema?: Record<string, unknown>;
};

type Registered = { workflow: RegisteredWorkflow; args: Arguments; source: string };

export class Workflows {
  readonly runs: RunViews;
  readonly #options: WorkflowsOptions;
  readonly #registered = new Map<string, Registered>();
  readonly #launched = Promise.withResolvers<void>();

  constructor(options: WorkflowsOptions) {
    this.#options = options;
    this.runs = new RunViews(options.store, options.engine, options.receipts);
  }

  /** Returns a function that removes the workflow. Throws if the name exists. */
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
        // Trust may have changed since the run was started, or while no daemon ran.
        const origin = { name, plugin: workflow.plugin ?? null };
        await this.#consent(origin);
        const host = context.run.host === null ? null : await this.#hostHandle(context, context.run.host);
        const config = settingsOf(workflow, this.#options.configured()[name] ?? {});
        const deps = { ...this.#options, plugin: origin.plugin, consent: () => this.#consent(origin) };
        return workflow.body(workflowContext(context, deps, { host, config }), args as never);
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

  /** Throws the reason for which a run with these arguments would be refused. */
  check(name: string, args: Readonly<Record<string, unknown>>): void {
    this.#find(name).args.check(args);
  }

  /** Returns immediately; the run continues in the background. */
  async start(request: RunRequest): Promise<Run> {
    const { engine, maxHops } = this.#options;
    const { workflow, args: taken } = this.#find(request.workflow);
    const args = taken.check(request.args ?? {}, request.textArgs);
    settingsOf(workflow, this.#options.configured()[workflow.name] ?? {});
    await this.#options.consent({ name: workflow.name, plugin: workflow.plugin ?? null });
    const within = request.within === undefined ? null : await engine.get(request.within);
    const cause = request.cause ?? (within === null ? undefined : causeWithin(within));
    const hops = cause === undefined ? 0 : cause.hops + 1;
    // A message that the run sends adds one hop.
    if (hops + 1 > maxHops()) {
      throw new AegisError("too_many", "refused: this run belongs to a chain of agents that is too long already", {
        hint: `raise messages.max_hops (now ${maxHops()}) if the chain is meant to be that long`,
      });
    }
    const chain = cause?.chain ?? null;
    const { host = null, callback = false } = request;
    const id = request.id ?? newId("run", this.#options.clock.now());
    const starter = await this.#starter({ ...request, id }, within);
    return engine.start({ id, workflow: workflow.name, args, host, starter, callback, chain, hops });
  }

  /** Agents and programs choose the arguments of their runs, so the commands of these runs need an approval. */
  async #starter(request: RunRequest & { id: RunId }, within: Run | null): Promise<Starter | null> {
    const { host = null, byAgent = false, byClient = false } = request;
    const { store, agents, sessions } = this.#options;
    const found = host === null ? (within?.starter ?? null) : await starterOf(store.read, host, agents);
    if (found !== null) return byAgent || byClient ? { ...found, by_agent: true } : found;
    if (!byClient) return null;
    const place = { id: placeOfRun(request.id), title: `workflow ${request.workflow}` };
    const { row } = await store.transact((tx) => sessions.createIn(tx, place));
    return { ...(await starterOf(store.read, row.id, agents)), by_agent: true };
  }

  async resume(reference: string, options: { force: boolean }): Promise<Run> {
    return this.#options.engine.resume((await this.runs.find(reference)).id, options);
  }

  /** Replays a run with the body that is registered then. */
  restart(id: RunId, reason: string): Promise<void> {
    return this.#options.engine.restart(id, reason);
  }

  async cancel(reference: string, reason: string): Promise<Run> {
    return this.#options.engine.cancel((await this.runs.find(reference)).id, reason);
  }

  async fork(reference: string, options: { id?: RunId | undefined; checkpoints?: number | undefined }): Promise<Run> {
    return this.#options.engine.fork((await this.runs.find(reference)).id, options);
  }

  /** Runs that will still notify this session of their end, as descriptions. */
  async stillRunning(session: SessionId): Promise<string[]> {
    const open = await this.#options.store.read.runs.unfinished();
    const mine = open.filter((run) => run.host === session && run.callback && run.status === "running");
    return mine.map((run) => `run ${run.id} of workflow ${run.workflow}`);
  }

  /** Resumes the runs that an earlier daemon left. Returns the runs that continue. */
  async launch(): Promise<Run[]> {
    try {
      const resumed = await this.#options.engine.launch();
      await this.#options.ends.recover();
      return resumed;
    } finally {
      this.#launched.resolve();
    }
  }

  /** Resolves when the runs that an earlier daemon left have been resumed, or when this daemon stops first. */
  get launched(): Promise<void> {
    return this.#launched.promise;
  }

  /** Resumes runs whose node is gone. */
  adoptFreed(): void {
    this.#options.engine.adoptFreed();
  }

  /** Releases all runs; the next launch resumes them. */
  stop(): Promise<void> {
    this.#launched.resolve();
    return this.#options.engine.stop();
  }

  #find(name: string): Registered {
    const found = this.#registered.get(name);
    if (found) return found;
    throw unknownName("workflow", name, [...this.#registered.keys()], "none is registered");
  }

  /** A run that may not continue ends as failed; it can be resumed once the user trusts it. */
  async #consent(workflow: { name: string; plugin: string | null }): Promise<Consent> {
    try {
      return await this.#options.consent(workflow);
    } catch (error) {
      if (!isAegisError(error) || error.code !== "forbidden") throw error;
      const hint = error.hint === undefined ? "" : `; ${error.hint}`;
      throw new WorkflowError(`${error.message}${hint}`);
    }
  }

  /** Recorded, so that a rename does not change what the body sees. */
  #hostHandle(context: RunContext, session: SessionId): Promise<string> {
    return context.step(
      { method: "host", args: null, label: "host" },
      { perform: async () => (await this.#options.store.read.sessions.get(session))?.handle ?? session },
    );
  }
}

function causeWithin({ id, chain, hops }: Run): RunRequest["cause"] {
  return { chain: chain ?? derivedId("msg", id), hops };
}

/** Hashes the body's own text; helpers that it calls are not included. */
function codeHash({ name, body }: RegisteredWorkflow): string {
  return createHash("sha256").update(`${name}\n${body.toString()}`).digest("hex").slice(0, 16);
}

type Values = Readonly<Record<string, unknown>>;

/** The project's settings over the author's defaults. Throws `invalid` for an unknown key or a value of another type. */
function settingsOf({ name, config }: Pick<Workflow, "name" | "config">, project: Values): Values {
  for (const [key, value] of Object.entries(project)) {
    const where = `workflows.${name}.${key}`;
    if (!Object.hasOwn(config, key)) {
      const keys = Object.keys(config);
      throw new AegisError("invalid", `${where} is not a setting of this workflow${didYouMean(key, keys)}`, {
        hint: keys.length === 0 ? "it has none" : `it has: ${keys.join(", ")}`,
      });
    }
    const expected = kindOf(config[key]);
    if (expected !== "nothing" && kindOf(value) !== expected) {
      throw new AegisError("invalid", `${where}: expected ${expected}, found ${kindOf(value)}`);
    }
  }
  return { ...config, ...project };
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a map";
  return { string: "text", number: "a number", boolean: "true or false" }[typeof value as string] ?? typeof value;
}
