/** An engine of durable execution, as far as it is measured here. */

/** Told of each effect: what a workflow did to the world, which no engine can take back. */
export type Effect = (run: string, step: number) => void | Promise<void>;

export type Peer = {
  /** What it puts on disk and when, in words. */
  syncs: string;
  /** A run does that many steps, each with one effect. */
  run(id: string): Promise<void>;
  /** Takes a run to its end, whether or not it was begun before a crash. */
  finish(id: string): Promise<void>;
  /** Starts a run that waits for an answer; resolves when it waits. */
  park(id: string): Promise<void>;
  /** Answers it; resolves when it has ended. */
  answer(id: string): Promise<void>;
  close(): Promise<void>;
};

export type PeerOptions = {
  /** The peer's own folder. */
  dir: string;
  /** The address of a PostgreSQL database, for those that need one. */
  url: string;
  steps: number;
  /** Sync each commit, also where the engine does not by itself. */
  syncAll: boolean;
  effect: Effect;
};

export type OpenPeer = (options: PeerOptions) => Promise<Peer>;

export const stepsPerRun = 10;

export const peerNames = ["aegis", "dbos", "langgraph", "mastra"] as const;
export type PeerName = (typeof peerNames)[number];

/** Those that leave commits unsynced unless told otherwise. */
export const syncsLazily: ReadonlySet<PeerName> = new Set(["langgraph", "mastra"]);

/** How a subject is started. */
export type Setup = {
  peer: PeerName;
  dir: string;
  url: string;
  syncAll: boolean;
  /** How long each effect takes. */
  stepMs: number;
};

/** What the measuring process asks of a subject, and what it is told. */
export type Order =
  | { do: "speed"; ids: readonly string[]; ways: number }
  | { do: "crash"; unfinished: readonly string[] }
  | { do: "finish"; ids: readonly string[] }
  | { do: "park"; ids: readonly string[] }
  | { do: "answer"; ids: readonly string[] };

export type Report =
  | { told: "open"; syncs: string; openMs: number }
  | { told: "begun"; run: string }
  | { told: "ended"; run: string }
  | { told: "resumed"; ms: number }
  | { told: "done"; latencies: number[]; ms: number; rssMb: number }
  | { told: "failed"; error: string };
