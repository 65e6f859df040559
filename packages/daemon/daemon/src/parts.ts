/** Lists the parts of a daemon in the order in which they recover and start. They stop in the reverse order. */
import type { Event } from "@aegis/contract/event.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import type { Logger } from "@aegis/lib/log.ts";
import { recoverTurnsIn } from "@aegis/sessions/recover.ts";
import type { Runtime } from "./build.ts";
import { before, type Part } from "./lifecycle.ts";

export type PartsOptions = { runtime: Omit<Runtime, "cluster" | "lifecycle">; clock: Clock; log: Logger };

/** In a cluster, the parts of the node itself come before and after these. */
export function partsOf({ runtime, clock, log }: PartsOptions): readonly Part[] {
  const { asks, broadcasts, clients, groups, pool, queues, schedules, sessions, skillInstall } = runtime;
  const { subagents, toolCalls, turns, workflows } = runtime;
  let stopTidying = () => {};
  let unfollowClients = () => {};
  const { channels } = runtime.channels;
  return [
    { name: "tool calls", recovery: null, settle: () => toolCalls.flush() },
    { name: "turns", recovery: null, stop: () => turns.abandon() },
    { name: "asks", recovery: { resume: () => asks.resume() }, stop: () => asks.stop() },
    {
      name: "clients",
      recovery: null,
      prepare() {
        unfollowClients = clients.follow();
        return clients.load();
      },
      stop: () => unfollowClients(),
    },
    { name: "skill installs", recovery: null, prepare: () => skillInstall.recover() },
    {
      name: "subagents",
      recovery: {
        async recoverIn(tx, node) {
          const settled = await subagents.recoverIn(tx, node);
          return () => {
            const { finished, interrupted } = settled;
            if (interrupted > 0) log.warn("subagents were at work when Aegis stopped", { finished, interrupted });
            subagents.adopt(settled);
          };
        },
        resume: () => subagents.resume(),
      },
      start: () => subagents.start(),
      stop: () => subagents.stop(),
      settle: (deadline) => before(subagents.settled(), deadline),
    },
    {
      name: "pool",
      recovery: {
        async recoverIn(tx, node) {
          await pool.recoverIn(tx, node);
          return () => {};
        },
        resume: () => pool.resume(),
      },
      stop: () => pool.stop(),
    },
    { name: "groups", recovery: { resume: () => groups.resume() } },
    { name: "broadcasts", recovery: { resume: () => broadcasts.resume() } },
    {
      name: "sessions",
      prepare: () => runtime.writes.recover(),
      recovery: {
        async recoverIn(tx, node) {
          const recovered = await recoverTurnsIn(tx, node, clock);
          return () => {
            if (recovered.turns > 0) log.warn("recovered from a stop in the middle of work", recovered);
          };
        },
        resume: () => sessions.wakeAll(),
      },
      stop: (deadline) => before(sessions.stop(), deadline),
    },
    {
      name: "changes",
      recovery: null,
      prepare: () => runtime.boundaries.recover(),
      start() {
        void runtime.boundaries.forgetOld();
        void runtime.claims.forgetOld();
      },
    },
    {
      name: "worktrees",
      recovery: null,
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
    { name: "checks", recovery: null, start: () => runtime.checks.start() },
    {
      name: "queues",
      recovery: {
        async recoverIn(tx, node) {
          const settled = await queues.recoverIn(tx, node);
          return () => {
            const { adopted, interrupted, restarted } = settled;
            if (interrupted > 0) log.warn("tasks were running when Aegis stopped", { adopted, interrupted, restarted });
            return queues.adopt(settled);
          };
        },
        resume: () => queues.settingsChanged(),
      },
      start: () => queues.start(),
      stop: () => queues.stop(),
      settle: (deadline) => before(queues.settled(), deadline),
    },
    {
      name: "workflows",
      recovery: { resume: () => workflows.adoptFreed() },
      async start() {
        const resumed = await workflows.launch();
        if (resumed.length > 0) log.info("runs were resumed", { runs: resumed.map((run) => run.id) });
      },
      stop: () => workflows.stop(),
    },
    {
      name: "schedules",
      recovery: { resume: () => schedules.resume() },
      start: () => schedules.start(),
      stop: (deadline) => before(schedules.stop(), deadline),
    },
    {
      // Every live node hears that the node of the channels is lost, and claims them.
      name: "channels",
      recovery: null,
      start: () => runtime.channels.start(),
      stop: (deadline) => channels.stop(deadline),
    },
  ];
}
