/** Workflow steps that delegate work to queues, groups and people. */

import { isDeepStrictEqual } from "node:util";
import { placeBelow } from "@aegis/agents/rights/place.ts";
import { starterOfRun } from "@aegis/agents/rights/starter.ts";
import { checkOf, type NamedCheck } from "@aegis/contract/check.ts";
import type { GroupResult } from "@aegis/contract/group.ts";
import type { AskId, BroadcastId, RunId, SessionId, TaskId } from "@aegis/contract/ids.ts";
import { newestGroup } from "@aegis/delegation/groups/find.ts";
import type { RunContext } from "@aegis/engine/engine.ts";
import { readBrief } from "@aegis/plugin-api/brief.ts";
import { WorkflowError } from "@aegis/plugin-api/errors.ts";
import type { GroupWait, WorkflowContext, WorkOptions } from "@aegis/plugin-api/workflow-context.ts";
import { derivedId, wantedId } from "@aegis/sessions/inbox/derived-id.ts";
import type { StoreTx } from "@aegis/store/store.ts";
import { readCheck } from "./checked-reply.ts";
import type { StepDeps } from "./deps.ts";
import type { OwnSessions } from "./own-sessions.ts";
import { groupsOf, type SpawnedGroup } from "./run-sessions.ts";
import { expected, messagesOf, whileWanted } from "./session-steps.ts";
import { checkMayRun } from "./shell-steps.ts";

export type WorkSteps = Pick<
  WorkflowContext,
  "delegate" | "enqueue" | "askHuman" | "spawnGroup" | "broadcast" | "waitAll" | "waitAny"
>;

const defaultAskSeconds = 7 * 86_400;
/** Timers are limited to 32 bits. */
const longestAskSeconds = 24 * 86_400;

export function workSteps(context: RunContext, deps: StepDeps, own: OwnSessions): WorkSteps {
  const { store, agents, queues, groups, broadcasts, asks, sessions, clock } = deps;
  const { run } = context;
  const { cause, sender } = messagesOf(run);

  /** The run's right to have the command run is checked now, consent at each run of the check. */
  const namedCheck = async (given: WorkOptions["check"], signal: AbortSignal): Promise<NamedCheck | undefined> => {
    if (given === undefined) return undefined;
    const check = checkOf(readCheck(given));
    await checkMayRun(context, deps, check.command, signal);
    await deps.consent().catch(expected);
    return { ...check, by: { workflow: run.workflow, plugin: deps.plugin } };
  };

  const enqueueTask = async (
    { queue, payload, check: given }: { queue: string; payload: string } & WorkOptions,
    { id, waits, signal }: { id: TaskId; waits: boolean; signal: AbortSignal },
  ) => {
    // A repeated step finds its task and does not ask again.
    const known = (await store.read.tasks.get(id)) !== null;
    const check = known ? ((await store.read.receipts.check(id)) ?? undefined) : await namedCheck(given, signal);
    const starter = await starterOfRun(store.read, run, agents);
    const from = { producer: null, starter, waits, callback: false, cause, check };
    return queues.enqueue({ id, queue, payload, ...from }).catch(expected);
  };

  const askOf = (tx: StoreTx, key: string): Promise<AskId> =>
    wantedId("ask", key, async (id) => (await tx.asks.get(id))?.status !== "withdrawn");

  /** Asks belong to a session; a run without a host gets a session of its own for them. */
  const placeToAsk = async (tx: StoreTx): Promise<{ session: SessionId; mine: boolean }> => {
    const host = run.host === null ? null : await tx.sessions.get(run.host);
    if (host && host.closed_at === null) return { session: host.id, mine: false };
    const id = derivedId("ses", `${run.id}/${run.retries}/questions`);
    // It only holds asks and does no work, so it needs no slot in the starter's tree.
    const starter = await starterOfRun(tx, run, agents);
    const place = starter === null ? undefined : placeBelow(starter, agents.get(), deps.subagentSettings());
    const { row } = await sessions.createIn(tx, { id, title: `workflow ${run.workflow}`, place });
    return { session: row.id, mine: true };
  };

  const startMembers = async (tx: StoreTx, group: string, members: Agents, key: string) => {
    const input = "preset" in members ? { preset: members.preset } : { agents: members };
    const starter = await starterOfRun(tx, run, agents);
    const { made } = await groups.spawnIn(tx, { group, ...input, starter, key }).catch(expected);
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
    enqueue: (queue, payload, options = {}) =>
      context.step(
        { method: "enqueue", args: { queue, payload, ...options }, label: `enqueue in ${queue}` },
        {
          perform: async ({ key, signal }) =>
            (await enqueueTask({ queue, payload, ...options }, { id: derivedId("tsk", key), waits: false, signal }))
              .task.id,
        },
      ),

    delegate: (queue, payload, options = {}) =>
      context.step(
        { method: "delegate", args: { queue, payload, ...options }, label: `delegate to ${queue}` },
        {
          async begin(tx, key) {
            const wanted = async (id: TaskId) => (await tx.tasks.get(id))?.status !== "cancelled";
            return { value: { task: await wantedId("tsk", key, wanted) } };
          },
          async perform({ begun, signal }) {
            const { task: id } = begun as { task: TaskId };
            await enqueueTask({ queue, payload, ...options }, { id, waits: true, signal });
            const withdraw = () => void queues.cancel(id).catch(() => {});
            const task = await whileWanted(signal, withdraw, () => queues.wait(id, { signal }));
            if (task?.status === "completed") return task.result ?? "";
            throw new WorkflowError(
              `task ${id} ${task?.status ?? "was lost"}: ${task?.error ?? "no reason was given"}`,
              { details: { task: id, result: task?.result ?? null } },
            );
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
            const id = await askOf(tx, key);
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
            const withdraw = () => asks.withdraw(ask, "the run was cancelled");
            const { status, answer } = await whileWanted(signal, withdraw, () => asks.settlement(ask, signal));
            if (status === "answered" && answer) return answer.choice ?? answer.text;
            const why = status === "expired" ? `no person answered within ${seconds} s` : "the question was withdrawn";
            throw new WorkflowError(`${why}: ${question}`);
          },
          async end(tx, _result, key) {
            await tx.asks.markUsed(await askOf(tx, key));
          },
        },
      );
    },

    async spawnGroup(name, given) {
      const wanted: Agents = "preset" in given ? { preset: given.preset } : [...given];
      const { members } = await context.step<SpawnedGroup>(
        { method: "spawnGroup", args: { name, agents: wanted }, label: `spawn group ${name}` },
        {
          // In one transaction with the start of the step, so that the run knows all its members.
          async begin(tx, key) {
            const before = await groupOf(tx, { run: run.id, own }, name, wanted);
            const members = before?.members ?? (await startMembers(tx, name, wanted, key));
            const value: SpawnedGroup = { group: name, agents: wanted, members };
            const [first] = members;
            return { value, ...(first === undefined ? {} : { session: first.session }) };
          },
          perform: async ({ begun }) => begun as SpawnedGroup,
        },
      );
      for (const { handle, session } of members) own.add(handle, session);
      return members.map(({ handle }) => handle);
    },

    async broadcast(group, brief) {
      const { objective, output_format, tool_guidance, boundaries } = readBrief(brief);
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
                output_format: output_format ?? "free text",
                tool_guidance: tool_guidance ?? "none",
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

type Agents = string[] | { preset: string };

/**
 * Returns the group that the run had before it went back to a checkpoint, with exactly the same members. Returns null
 * if there is none and members must be started. Throws `WorkflowError` if the name belongs to another run: two runs of
 * one workflow use the same names, and one must not reach the members of the other.
 */
async function groupOf(
  tx: StoreTx,
  { run, own }: { run: RunId; own: OwnSessions },
  name: string,
  agents: Agents,
): Promise<SpawnedGroup | null> {
  const live = await tx.groups.byName(name);
  if (live === null) return null;
  const open = new Set<string>();
  for (const id of await tx.groups.members(live.id)) if ((await tx.sessions.get(id))?.closed_at === null) open.add(id);
  const mine = (await groupsOf(tx, run)).filter((one) => one.group === name);
  const known = new Set<string>(mine.flatMap((one) => one.members.map(({ session }) => session)));
  if ([...open].some((id) => !known.has(id))) {
    throw new WorkflowError(
      `a group "${name}" exists already and is not this run's: choose a name of its own, such as one with context.workflowId`,
    );
  }
  const before = mine.find(
    (one) =>
      isDeepStrictEqual(one.agents, agents) &&
      one.members.every(({ session }) => open.has(session) && !own.has(session)),
  );
  return before ?? null;
}
