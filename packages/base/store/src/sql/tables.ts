import type { StoreTx } from "../store.ts";
import { SqlAsks } from "./asks.ts";
import { SqlBlobs } from "./blobs.ts";
import { SqlBoundaries } from "./boundaries.ts";
import { SqlBroadcasts } from "./broadcasts.ts";
import { SqlChannels } from "./channels.ts";
import { SqlClients } from "./clients.ts";
import { SqlEvents } from "./events.ts";
import { SqlFileWrites } from "./file-writes.ts";
import { SqlFirings } from "./firings.ts";
import { SqlGroups } from "./groups.ts";
import { SqlLandings } from "./landings.ts";
import { SqlMessages } from "./messages.ts";
import { SqlNodes } from "./nodes.ts";
import { SqlPool } from "./pool.ts";
import { SqlQueues } from "./queues.ts";
import { SqlReceipts } from "./receipts.ts";
import { SqlRuns } from "./runs.ts";
import { SqlSchedules } from "./schedules.ts";
import { SqlSeen } from "./seen.ts";
import { SqlSessions } from "./sessions.ts";
import { SqlSignals } from "./signals.ts";
import type { Append, Sql } from "./sql.ts";
import { SqlSteps } from "./steps.ts";
import { SqlSubagents } from "./subagents.ts";
import { SqlTasks } from "./tasks.ts";
import { SqlTurns } from "./turns.ts";
import { SqlWorktrees } from "./worktrees.ts";

/** All tables over one connection or one unit. `scrub` is called when earlier versions of a row must not be kept. */
export function createTables(sql: Sql, append: Append, scrub: () => void = () => {}): StoreTx {
  return new Tables(sql, append, scrub);
}

/** Each table is made when it is first asked for: most units use two or three. */
class Tables implements StoreTx {
  readonly #sql: Sql;
  readonly #append: Append;
  readonly #scrub: () => void;
  #sessions: SqlSessions | undefined;
  #messages: SqlMessages | undefined;
  #turns: SqlTurns | undefined;
  #events: SqlEvents | undefined;
  #seen: SqlSeen | undefined;
  #asks: SqlAsks | undefined;
  #queues: SqlQueues | undefined;
  #tasks: SqlTasks | undefined;
  #groups: SqlGroups | undefined;
  #broadcasts: SqlBroadcasts | undefined;
  #runs: SqlRuns | undefined;
  #steps: SqlSteps | undefined;
  #signals: SqlSignals | undefined;
  #subagents: SqlSubagents | undefined;
  #pool: SqlPool | undefined;
  #schedules: SqlSchedules | undefined;
  #firings: SqlFirings | undefined;
  #boundaries: SqlBoundaries | undefined;
  #worktrees: SqlWorktrees | undefined;
  #clients: SqlClients | undefined;
  #landings: SqlLandings | undefined;
  #receipts: SqlReceipts | undefined;
  #channels: SqlChannels | undefined;
  #fileWrites: SqlFileWrites | undefined;
  #nodes: SqlNodes | undefined;
  #blobs: SqlBlobs | undefined;

  constructor(sql: Sql, append: Append, scrub: () => void) {
    this.#sql = sql;
    this.#append = append;
    this.#scrub = scrub;
  }

  get sessions(): SqlSessions {
    this.#sessions ??= new SqlSessions(this.#sql);
    return this.#sessions;
  }

  get messages(): SqlMessages {
    this.#messages ??= new SqlMessages(this.#sql, this.#scrub);
    return this.#messages;
  }

  get turns(): SqlTurns {
    this.#turns ??= new SqlTurns(this.#sql);
    return this.#turns;
  }

  get events(): SqlEvents {
    this.#events ??= new SqlEvents(this.#sql, this.#append);
    return this.#events;
  }

  get seen(): SqlSeen {
    this.#seen ??= new SqlSeen(this.#sql);
    return this.#seen;
  }

  get asks(): SqlAsks {
    this.#asks ??= new SqlAsks(this.#sql, this.#scrub);
    return this.#asks;
  }

  get queues(): SqlQueues {
    this.#queues ??= new SqlQueues(this.#sql);
    return this.#queues;
  }

  get tasks(): SqlTasks {
    this.#tasks ??= new SqlTasks(this.#sql, this.#scrub);
    return this.#tasks;
  }

  get groups(): SqlGroups {
    this.#groups ??= new SqlGroups(this.#sql);
    return this.#groups;
  }

  get broadcasts(): SqlBroadcasts {
    this.#broadcasts ??= new SqlBroadcasts(this.#sql);
    return this.#broadcasts;
  }

  get runs(): SqlRuns {
    this.#runs ??= new SqlRuns(this.#sql);
    return this.#runs;
  }

  get steps(): SqlSteps {
    this.#steps ??= new SqlSteps(this.#sql);
    return this.#steps;
  }

  get signals(): SqlSignals {
    this.#signals ??= new SqlSignals(this.#sql);
    return this.#signals;
  }

  get subagents(): SqlSubagents {
    this.#subagents ??= new SqlSubagents(this.#sql);
    return this.#subagents;
  }

  get pool(): SqlPool {
    this.#pool ??= new SqlPool(this.#sql);
    return this.#pool;
  }

  get schedules(): SqlSchedules {
    this.#schedules ??= new SqlSchedules(this.#sql);
    return this.#schedules;
  }

  get firings(): SqlFirings {
    this.#firings ??= new SqlFirings(this.#sql);
    return this.#firings;
  }

  get boundaries(): SqlBoundaries {
    this.#boundaries ??= new SqlBoundaries(this.#sql);
    return this.#boundaries;
  }

  get worktrees(): SqlWorktrees {
    this.#worktrees ??= new SqlWorktrees(this.#sql);
    return this.#worktrees;
  }

  get clients(): SqlClients {
    this.#clients ??= new SqlClients(this.#sql);
    return this.#clients;
  }

  get landings(): SqlLandings {
    this.#landings ??= new SqlLandings(this.#sql);
    return this.#landings;
  }

  get receipts(): SqlReceipts {
    this.#receipts ??= new SqlReceipts(this.#sql);
    return this.#receipts;
  }

  get channels(): SqlChannels {
    this.#channels ??= new SqlChannels(this.#sql, this.#scrub);
    return this.#channels;
  }

  get fileWrites(): SqlFileWrites {
    this.#fileWrites ??= new SqlFileWrites(this.#sql);
    return this.#fileWrites;
  }

  get nodes(): SqlNodes {
    this.#nodes ??= new SqlNodes(this.#sql);
    return this.#nodes;
  }

  get blobs(): SqlBlobs {
    this.#blobs ??= new SqlBlobs(this.#sql);
    return this.#blobs;
  }
}
