/** All migrations in order. Never change a released migration; correct it with a later one. */
import type { Migration } from "../migrate.ts";
import { initial } from "./0001-initial.ts";
import { asks } from "./0002-asks.ts";
import { queues } from "./0003-queues.ts";
import { groups } from "./0004-groups.ts";
import { runs } from "./0005-runs.ts";
import { subagents } from "./0006-subagents.ts";
import { conversations } from "./0007-conversations.ts";
import { schedules } from "./0008-schedules.ts";
import { received } from "./0009-received.ts";
import { leanIndexes } from "./0010-lean-indexes.ts";
import { starters } from "./0011-starters.ts";
import { wholeAsks } from "./0012-whole-asks.ts";
import { identity } from "./0013-identity.ts";
import { handOvers } from "./0014-hand-overs.ts";
import { messagesAsSent } from "./0015-messages-as-sent.ts";
import { workingCopies } from "./0016-working-copies.ts";
import { landings } from "./0017-landings.ts";
import { clients } from "./0018-clients.ts";
import { channels } from "./0019-channels.ts";
import { channelPlaces } from "./0020-channel-places.ts";
import { fileWrites } from "./0021-file-writes.ts";
import { receipts } from "./0022-receipts.ts";
import { nodes } from "./0023-nodes.ts";
import { placement } from "./0024-placement.ts";
import { boundaryNodes } from "./0025-boundary-nodes.ts";
import { openWork } from "./0026-open-work.ts";
import { landingMessage } from "./0027-landing-message.ts";

export const migrations: readonly Migration[] = [
  initial,
  asks,
  queues,
  groups,
  runs,
  subagents,
  conversations,
  schedules,
  received,
  leanIndexes,
  starters,
  wholeAsks,
  identity,
  handOvers,
  messagesAsSent,
  workingCopies,
  landings,
  clients,
  channels,
  channelPlaces,
  fileWrites,
  receipts,
  nodes,
  placement,
  boundaryNodes,
  openWork,
  landingMessage,
];
