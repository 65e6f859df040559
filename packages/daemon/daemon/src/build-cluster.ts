/** Builds the parts that make this daemon a node of a cluster. Without a cluster there are none. */
import { createHash } from "node:crypto";
import { followOthers } from "@aegis/cluster/follow.ts";
import { Lease } from "@aegis/cluster/lease.ts";
import { Nodes } from "@aegis/cluster/nodes.ts";
import { TakeOver } from "@aegis/cluster/take-over.ts";
import type { Queues } from "@aegis/delegation/queues/queues.ts";
import type { DriverTable } from "@aegis/drivers/driver-table.ts";
import { canonicalJson } from "@aegis/lib/canonical-json.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { RemoteCalls } from "@aegis/nodes/calls.ts";
import type { LiveText } from "@aegis/nodes/live-text.ts";
import type { Commands } from "@aegis/nodes/requests.ts";
import type { ClusterSettings } from "@aegis/project/cluster.ts";
import type { Settings } from "@aegis/project/settings.ts";
import type { Schedules } from "@aegis/schedules/schedules.ts";
import type { Conversations } from "@aegis/sessions/conversations.ts";
import type { Inbox } from "@aegis/sessions/inbox/inbox.ts";
import type { Sessions } from "@aegis/sessions/sessions.ts";
import type { Turns } from "@aegis/sessions/turns.ts";
import type { Store } from "@aegis/store/store.ts";
import type { Part } from "./lifecycle.ts";
import type { Outages } from "./rejoin.ts";
import type { StopSignals } from "./stop-signals.ts";

/** The place of this daemon in its cluster. */
export type Membership = {
  settings: ClusterSettings;
  lease: Lease;
  /** Whether the daemon stops because the node lost its lease. A daemon that was asked to stop before does not rejoin. */
  isFenced: boolean;
  /** Whether clients were told where the node is. From then on it joins again after an outage during its start. */
  hasServed: boolean;
};

export type ClusterParts = {
  nodes: Nodes;
  remote: RemoteCalls;
  /** Stores the settings of this node for other nodes to compare. */
  describe(): Promise<void>;
  /** Prepares first and starts before sessions are woken. */
  first: Part;
  /** Starts last: takes over work of other nodes. */
  last: Part;
};

export type BuildClusterOptions = {
  store: Store;
  clock: Clock;
  log: Logger;
  drivers: DriverTable;
  member: Membership;
  inbox: Inbox;
  sessions: Sessions;
  turns: Turns;
  conversations: Conversations;
  queues: Queues;
  schedules: Schedules;
  /** The parts whose work is taken over, in the order of a start. */
  parts: readonly Part[];
  commandsOfNodes: Commands;
  liveText: LiveText | null;
  settings: () => Settings;
  url: () => string;
  /** The other node that runs the channels. */
  channelsNode: () => Promise<string | null>;
};

/** Renews the lease until the scope ends, and then lets other nodes take over. Null without a cluster. */
export function keepLease(
  { store, cluster, clock, log }: { store: Store; cluster: ClusterSettings | null; clock: Clock; log: Logger },
  stop: StopSignals,
  outages: Outages,
  scope: AsyncDisposableStack,
): Membership | null {
  const { membership } = store;
  if (cluster === null || membership === undefined) return null;
  const onLost = (reason: string) => {
    log.error(`node "${membership.node}" is fenced: ${reason}. It kills its processes and joins again`);
    member.isFenced = !stop.isRequested;
    stop.request("force", `fenced: ${reason}`);
  };
  const lease = new Lease({ membership, leaseMs: cluster.leaseMs, clock, log, onLost });
  const member: Membership = { settings: cluster, lease, isFenced: false, hasServed: false };
  lease.start();
  scope.defer(
    outages.follow((error) => {
      log.error("an outage ended work whose failure nothing handles", { error: error.stack });
      lease.lose(errorText(error));
    }),
  );
  scope.defer(async () => {
    lease.stop();
    if (lease.isLost) return;
    await membership
      .leave()
      .catch((error: unknown) =>
        log.warn("other nodes take over only after the lease: it could not be ended", { error: errorText(error) }),
      );
  });
  return member;
}

export function buildCluster(options: BuildClusterOptions): ClusterParts | null {
  const { store, clock, log, settings, url, commandsOfNodes, drivers } = options;
  const { inbox, sessions, turns, conversations, queues, schedules, parts, liveText, channelsNode } = options;
  const { membership } = store;
  if (membership === undefined) return null;
  const { node, incarnation } = membership;
  const { settings: clusterSettings, lease } = options.member;
  const { leaseMs, giveUpMs } = clusterSettings;
  const takeOver = new TakeOver({
    store,
    clock,
    log,
    resumesAnywhere: (harness) => drivers.find(harness)?.capabilities.resume === "anywhere",
    conversations,
    inbox,
    schedules,
    sessions,
    parts,
    lease,
    node,
    leaseMs,
    giveUpMs,
  });
  const nudgeQueue = (queue: string) => queues.nudge(queue);
  const describe = () =>
    store.transact((tx) => tx.nodes.describe(node, { url: url(), config_hash: settingsHash(settings()) }));
  let unfollow = () => {};
  return {
    nodes: new Nodes({ store, clock, node, takeOver }),
    remote: new RemoteCalls({ store, commands: commandsOfNodes, channelsNode }),
    describe,
    first: {
      name: "node",
      recovery: null,
      async prepare() {
        const adopted = await store.transact(async (tx) => {
          await tx.nodes.freeRuns(node);
          await tx.events.append({ type: "node.joined", session: null, data: { node, incarnation } }, clock.now());
          return tx.nodes.adoptSessions(node);
        });
        if (adopted > 0) log.info("took sessions that belonged to no node", { sessions: adopted });
      },
      async start() {
        await describe();
        unfollow = followOthers({ store, log, sessions, turns, conversations, nudgeQueue, node });
        commandsOfNodes.start(membership);
        await liveText?.start();
      },
      stop: () => unfollow(),
    },
    last: { name: "take-over", recovery: null, start: () => takeOver.start(), stop: () => takeOver.stop() },
  };
}

/** For a database that comes from a cluster: its sessions belong to the only process. */
export function onlyNode(store: Store): Part {
  return {
    name: "node",
    recovery: null,
    async prepare() {
      const nodes = [...(await store.read.nodes.sessions()).keys()];
      if (nodes.some((node) => node !== null)) await store.transact((tx) => tx.nodes.adoptSessions(null));
    },
  };
}

/** The settings that every node of a project must share. */
function settingsHash({ config }: Settings): string {
  const { cluster: _, server: __, ...shared } = config;
  return createHash("sha256").update(canonicalJson(shared)).digest("hex").slice(0, 16);
}
