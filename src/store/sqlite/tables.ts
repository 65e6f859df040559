import type { Event } from "../../contract/event.ts";
import type { StoreTx } from "../store.ts";
import { SqliteAsks } from "./asks.ts";
import { SqliteBroadcasts } from "./broadcasts.ts";
import type { Sql } from "./connection.ts";
import { SqliteEvents } from "./events.ts";
import { SqliteFirings } from "./firings.ts";
import { SqliteGroups } from "./groups.ts";
import { SqliteMessages } from "./messages.ts";
import { SqlitePool } from "./pool.ts";
import { SqliteQueues } from "./queues.ts";
import { SqliteRuns } from "./runs.ts";
import { SqliteSchedules } from "./schedules.ts";
import { SqliteSeen } from "./seen.ts";
import { SqliteSessions } from "./sessions.ts";
import { SqliteSignals } from "./signals.ts";
import { SqliteSteps } from "./steps.ts";
import { SqliteSubagents } from "./subagents.ts";
import { SqliteTasks } from "./tasks.ts";
import { SqliteTurns } from "./turns.ts";

/** All tables over one connection or one unit. */
export function createTables(sql: Sql, appended: Event[]): StoreTx {
  return {
    sessions: new SqliteSessions(sql),
    messages: new SqliteMessages(sql),
    turns: new SqliteTurns(sql),
    events: new SqliteEvents(sql, appended),
    seen: new SqliteSeen(sql),
    asks: new SqliteAsks(sql),
    queues: new SqliteQueues(sql),
    tasks: new SqliteTasks(sql),
    groups: new SqliteGroups(sql),
    broadcasts: new SqliteBroadcasts(sql),
    runs: new SqliteRuns(sql),
    steps: new SqliteSteps(sql),
    signals: new SqliteSignals(sql),
    subagents: new SqliteSubagents(sql),
    pool: new SqlitePool(sql),
    schedules: new SqliteSchedules(sql),
    firings: new SqliteFirings(sql),
  };
}
