/** The tables of a cluster's nodes and of requests between them, part of the store port. Empty in an embedded store. */

/** A node as stored. */
export type NodeRow = {
  /** Unique in the cluster. */
  name: string;
  /** Raised each time that the node joins. */
  incarnation: number;
  /** Identifies the state folder of the node. */
  holder: string;
  /** False once another node has taken over its work. A node that is not alive cannot write. */
  alive: boolean;
  /** It takes no new work. */
  draining: boolean;
  /** How long its lease still holds, in milliseconds of the database's clock. Negative once it has ended. */
  lease_ms: number;
  /** Times of the database's clock. `now` is the time of the read. */
  now: number;
  joined_at: number;
  lost_at: number | null;
  url: string | null;
  version: string;
  config_hash: string | null;
  labels: readonly string[];
  /** Null means no limit. */
  sessions_max: number | null;
};

/** A request to the process of another node. */
export type CommandRow = {
  /** An idempotency key. */
  name: string;
  node: string;
  what: string;
  args: unknown;
  /** By the database's clock: the node ignores the command afterwards. */
  expires_ms: number;
  /** Null until the node has carried it out. */
  result: unknown;
};

export interface NodeReads {
  get(name: string): Promise<NodeRow | null>;
  /** By name. */
  list(): Promise<NodeRow[]>;
  /** Open sessions of each node that has any; null for sessions without a node. */
  sessions(): Promise<Map<string | null, number>>;
  command(name: string): Promise<CommandRow | null>;
  /** Commands for the node that have no result and have not expired, oldest first. */
  commandsFor(node: string): Promise<CommandRow[]>;
}

export interface NodeTable extends NodeReads {
  /** Ends the membership of a node whose lease has ended. Returns false if the lease holds or the node joined again. */
  declareLost(name: string, incarnation: number): Promise<boolean>;
  describe(name: string, change: Partial<Pick<NodeRow, "url" | "config_hash" | "draining">>): Promise<void>;
  remove(name: string): Promise<void>;
  /** Gives the unfinished tasks and firings of one node to another. */
  moveWork(from: string | null, to: string | null): Promise<void>;
  /** Gives the open sessions of nodes that do not exist to this node; with null, those of all. Returns how many. */
  adoptSessions(to: string | null): Promise<number>;
  /** Frees the unfinished runs of a node. */
  freeRuns(node: string): Promise<void>;
  addCommand(command: Omit<CommandRow, "result">): Promise<void>;
  finishCommand(name: string, result: unknown): Promise<void>;
  removeCommand(name: string): Promise<void>;
  /** Sends a text to every node, including this one, when the transaction commits. May be lost. */
  tell(hint: string): Promise<void>;
}

/** The lease of this process in the database. After it is lost, the store refuses every write. */
export interface StoreMembership {
  readonly node: string;
  readonly incarnation: number;
  /** The time of the database's clock, which all nodes share. Sends no statement: it is as exact as the last renewal was quick. */
  now(): number;
  /** Renews the lease. Resolves with false if another node has taken over. Rejects if the database cannot be reached. */
  renew(): Promise<boolean>;
  /** Ends the lease now, so that other nodes take over without waiting. */
  leave(): Promise<void>;
  /** Refuses every write from now on. */
  fence(): void;
  /** Calls the listener when a write was refused because another node has taken over. Returns its undo. */
  onFenced(listener: () => void): () => void;
  /** Sends texts to every node, including this one, outside a transaction. They may be lost. */
  say(texts: readonly string[]): Promise<void>;
  /** Calls the listener with each text that a node sent (`say` and `tx.nodes.tell`). Texts may be lost. Returns its undo. */
  onHint(listener: (hint: string) => void): () => void;
}
