/** Every migration in order. One that has shipped is never changed: a later one corrects it. */
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
];
