/** Steps that give work away: to queues, to groups, to a person. */
import type { GroupResult } from "../../contract/group.ts";
import type { AskId, BroadcastId, SessionId, TaskId } from "../../contract/ids.ts";
import { RunCancelled, type RunContext } from "../../engine/engine.ts";
import type { Engine, GroupWait } from "../../plugin-api/engine.ts";
import { WorkflowError } from "../../plugin-api/errors.ts";
import type { StoreTx } from "../../store/store.ts";
import { newestGroup } from "../groups/find.ts";
import { derivedId } from "../inbox/derived-id.ts";
import type { WorkflowDeps } from "./deps.ts";
import { type Agents, groupOf } from "./own-groups.ts";
import type { OwnSessions } from "./own-sessions.ts";
import type { SpawnedGroup } from "./run-sessions.ts";
import { expected } from "./session-steps.ts";

export type WorkSteps = Pick<
  Engine,
  "delegate" | "enqueue" | "askHuman" | "spawnGroup" | "broadcast" | "waitAll" | "waitAny"
>;

const defaultAskSeconds = 7 * 86_400;
/** Timers count in 32 bits. */
const longestAskSeconds = 24 * 86_400;

export function workSteps(context: RunContext, deps: WorkflowDeps, own: OwnSessions): WorkSteps {
  const { queues, groups, broadcasts, asks, sessions, clock } = deps;
  const { run } = context;
  const cause = run.chain === null ? undefined : { chain: run.chain, hops: run.hops };
  const sender = { kind: "workflow" as const, name: run.workflow, run: run.id, status: null };

  const enqueueTask = (queue: string, payload: string, key: string) =>
    queues
      .enqueue({ id: derivedId("tsk", key), queue, payload, producer: null, callback: false, cause })
      .catch(expected);

  /** A person answers in a session; a run without a host has one of its own for that. */
  const placeToAsk = async (tx: StoreTx): Promise<{ session: SessionId; mine: boolean }> => {
    const host = run.host === null ? null : await tx.sessions.get(run.host);
    if (host && host.closed_at === null) return { session: host.id, mine: false };
    const id = derivedId("ses", `${run.id}/${run.retries}/questions`);
    const { row } = await sessions.createIn(tx, { id, title: `workflow ${run.workflow}` });
    return { session: row.id, mine: true };
  };

  const startMembers = async (tx: StoreTx, group: string, agents: Agents, key: string) => {
    const input = "preset" in agents ? { preset: agents.preset } : { agents };
    const { made } = await groups.spawnIn(tx, { group, ...input, startedFor: run.host, key }).catch(expected);
    return made.map(({ handle, id }) => ({ handle, session: id }));
  };

  const wait = (mode: "all" | "any", group: string, options: GroupWait = {}): Promise<GroupResult> =>
    context.step(
      {
        method: mode === "all" ? "waitAll" : "waitAny",
        args: { group, ...options },
        label: `wait for ${mode} of ${group}`,
      },
      {
        async begin(tx) {
          const { timeout } = broadcasts.terms(await newestGroup(tx, group).catch(expected));
          return { value: { until: clock.now() + (options.timeout ?? timeout) * 1000 } };
        },
        perform({ begun, signal }) {
          const timeout = Math.max(0, (begun as { until: number }).until - clock.now()) / 1000;
          return broadcasts.wait({ group, mode, timeout, reducer: options.reducer }, signal).catch(expected);
        },
      },
    );

  return {
    enqueue: (queue, payload) =>
      context.step(
        { method: "enqueue", args: { queue, payload }, label: `enqueue in ${queue}` },
        { perform: async ({ key }) => (await enqueueTask(queue, payload, key)).task.id },
      ),

    delegate: (queue, payload) =>
      context.step(
        { method: "delegate", args: { queue, payload }, label: `delegate to ${queue}` },
        {
          begin: async (_tx, key) => ({ value: { task: derivedId("tsk", key) } }),
          async perform({ key, begun, signal }) {
            const { task: id } = begun as { task: TaskId };
            await enqueueTask(queue, payload, key);
            const onAbort = () => {
              if (signal.reason instanceof RunCancelled) void queues.cancel(id).catch(() => {});
            };
            signal.addEventListener("abort", onAbort, { once: true });
            try {
              const task = await queues.wait(id, { signal });
              if (task?.status === "completed") return task.result ?? "";
              throw new WorkflowError(
                `task ${id} ${task?.status ?? "was lost"}: ${task?.error ?? "no reason was given"}`,
                {
                  details: { task: id, result: task?.result ?? null },
                },
              );
            } finally {
              signal.removeEventListener("abort", onAbort);
            }
          },
        },
      ),

    askHuman(question, options = {}) {
      const seconds = Math.min(options.timeout ?? defaultAskSeconds, longestAskSeconds);
      return context.step(
        {
          method: "askHuman",
          args: { question, options: [...(options.options ?? [])], seconds },
          label: `ask: ${question}`,
        },
        {
          async begin(tx, key) {
            const { session, mine } = await placeToAsk(tx);
            const id = derivedId("ask", key);
            await asks.openIn(tx, id, {
              session,
              kind: "question",
              question,
              tool: null,
              detail: { workflow: run.workflow, run: run.id },
              options: [...(options.options ?? [])],
              timeoutMs: seconds * 1000,
            });
            return { value: { ask: id }, ...(mine ? { session } : {}) };
          },
          async perform({ begun, signal }) {
            const { ask } = begun as { ask: AskId };
            const onAbort = () => {
              if (signal.reason instanceof RunCancelled) asks.withdraw(ask);
            };
            signal.addEventListener("abort", onAbort, { once: true });
            try {
              const { status, answer } = await asks.settlement(ask, signal);
              if (status === "answered" && answer) return answer.choice ?? answer.text;
              const why = status === "expired" ? `nobody answered within ${seconds} s` : "the question was withdrawn";
              throw new WorkflowError(`${why}: ${question}`);
            } finally {
              signal.removeEventListener("abort", onAbort);
            }
          },
        },
      );
    },

    async spawnGroup(name, given) {
      const agents: Agents = "preset" in given ? { preset: given.preset } : [...given];
      const { members } = await context.step<SpawnedGroup>(
        { method: "spawnGroup", args: { name, agents }, label: `spawn group ${name}` },
        {
          // With the beginning, so that there is no member which the run does not know to be its own.
          async begin(tx, key) {
            const before = await groupOf(tx, { run: run.id, own }, name, agents);
            const members = before?.members ?? (await startMembers(tx, name, agents, key));
            const value: SpawnedGroup = { group: name, agents, members };
            const [first] = members;
            return { value, ...(first === undefined ? {} : { session: first.session }) };
          },
          perform: async ({ begun }) => begun as SpawnedGroup,
        },
      );
      for (const { handle, session } of members) own.add(handle, session);
      return members.map(({ handle }) => handle);
    },

    broadcast(group, brief) {
      const { objective, outputFormat, toolGuidance, boundaries } =
        typeof brief === "string" ? { objective: brief } : brief;
      return context.step<BroadcastId>(
        { method: "broadcast", args: { group, brief }, label: `broadcast to ${group}` },
        {
          async perform({ key }) {
            const sent = await broadcasts
              .send({
                id: derivedId("brd", key),
                group,
                sender,
                cause,
                objective,
                output_format: outputFormat ?? "free text",
                tool_guidance: toolGuidance ?? "none",
                boundaries: boundaries ?? "none",
              })
              .catch(expected);
            return sent.id;
          },
        },
      );
    },

    waitAll: (group, options) => wait("all", group, options),
    waitAny: (group, options) => wait("any", group, options),
  };
}
