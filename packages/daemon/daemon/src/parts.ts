/** Lists the parts of a daemon in the order in which they recover and start. They stop in the reverse order. */
import type { Event } from "@aegis/contract/event.ts";
import type { Logger } from "@aegis/lib/log.ts";
import type { Runtime } from "./build.ts";
import { adoptAll } from "./build-cluster.ts";
import { before, type Part } from "./lifecycle.ts";

export type PartsOptions = { runtime: Omit<Runtime, "lifecycle">; log: Logger };

export function partsOf({ runtime, log }: PartsOptions): readonly Part[] {
  const { asks, broadcasts, clients, groups, pool, queues, schedules, sessions, skillInstall } = runtime;
  const { subagents, toolCalls, turns, workflows } = runtime;
  let stopTidying = () => {};
  let unfollowClients = () => {};
  const { channels } = runtime.channels;
  return [
    runtime.cluster?.first ?? { name: "node", recover: () => adoptAll(runtime.store) },
    { name: "tool calls", settle: () => toolCalls.flush() },
    { name: "turns", stop: () => turns.abandon() },
    { name: "asks", start: () => asks.resume(), stop: () => asks.stop() },
    {
      name: "clients",
      recover() {
        unfollowClients = clients.follow();
        return clients.load();
      },
      stop: () => unfollowClients(),
    },
    { name: "skill installs", recover: () => skillInstall.recover() },
    {
      name: "subagents",
      async recover() {
        const ended = await subagents.recover();
        if (ended.interrupted > 0) log.warn("subagents were at work when Aegis stopped", ended);
      },
      stop: () => subagents.stop(),
      settle: (deadline) => before(subagents.settled(), deadline),
    },
    { name: "pool", recover: () => pool.recover(), stop: () => pool.stop() },
    {
      name: "sessions",
      async recover() {
        const recovered = await runtime.recoverTurns();
        if (recovered.turns > 0) log.warn("recovered from a stop in the middle of work", recovered);
      },
      start: () => sessions.wakeAll(),
      stop: (deadline) => before(sessions.stop(), deadline),
    },
    {
      name: "changes",
      recover: () => runtime.boundaries.recover(),
      start() {
        void runtime.boundaries.forgetOld();
        void runtime.claims.forgetOld();
      },
    },
    {
      name: "worktrees",
      start() {
        const tidy = (events: readonly Event[]) => {
          for (const { session } of events) {
            if (session === null) continue;
            runtime.claims.closed(session);
            void runtime.removal.tidy(session);
          }
        };
        stopTidying = runtime.store.onCommit(tidy, ["session.closed"]);
        void runtime.removal.recover();
        void runtime.landings.resume();
      },
      stop: () => stopTidying(),
    },
    { name: "checks", start: () => runtime.checks.start() },
    { name: "groups", recover: () => groups.resume() },
    { name: "broadcasts", recover: () => broadcasts.resume() },
    { name: "ends of subagents", recover: () => subagents.start() },
    {
      name: "queues",
      async recover() {
        const tasks = await queues.recover();
        if (tasks.interrupted > 0) log.warn("tasks were running when Aegis stopped", tasks);
      },
      start: () => queues.start(),
      stop: () => queues.stop(),
      settle: (deadline) => before(queues.settled(), deadline),
    },
    {
      name: "workflows",
      async start() {
        const resumed = await workflows.launch();
        if (resumed.length > 0) log.info("runs were resumed", { runs: resumed.map((run) => run.id) });
      },
      stop: () => workflows.stop(),
    },
    { name: "schedules", start: () => schedules.start(), stop: (deadline) => before(schedules.stop(), deadline) },
    { name: "channels", start: () => runtime.channels.start(), stop: (deadline) => channels.stop(deadline) },
    ...(runtime.cluster === null ? [] : [runtime.cluster.last]),
  ];
}
