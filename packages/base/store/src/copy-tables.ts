/** The tables of working copies, part of the store port. */
import type { LandingId, SessionId, TurnId } from "@aegis/contract/ids.ts";
import type { Landing, LandingState } from "@aegis/contract/landing.ts";
import type { Worktree } from "@aegis/contract/worktree.ts";

/** The state of a working tree when a turn began or ended. */
export type BoundaryRow = {
  /** Orders the boundaries of all folders. */
  position: number;
  /** The root of the working tree, on its node. */
  folder: string;
  /** The node that wrote it. Null for an embedded database and for rows of older versions. */
  node: string | null;
  session: SessionId;
  turn: TurnId;
  edge: "open" | "close";
  /** Null if no snapshot could be made; `problem` says why. */
  tree: string | null;
  head: string | null;
  problem: string | null;
  detail: BoundaryDetail;
  at: number;
};

/** The store adds the position and the node. */
export type NewBoundary = Omit<BoundaryRow, "position" | "node">;

export type BoundaryDetail = {
  skipped: { path: string; size: number }[];
  dirty_submodules: string[];
  filters_off: readonly string[];
};

/** Folders of other nodes are other folders, also under the same path: except for `ofTurn`, reads see those of this node. */
export interface BoundaryReads {
  ofTurn(turn: TurnId, edge: BoundaryRow["edge"]): Promise<BoundaryRow | null>;
  /** In order. */
  ofSession(session: SessionId): Promise<BoundaryRow[]>;
  /** All boundaries of a folder from one position to another, in order. */
  between(folder: string, from: number, to: number): Promise<BoundaryRow[]>;
  /** Turns of the folder that were open at the position: begun before it and not ended before it. */
  openAt(folder: string, position: number): Promise<BoundaryRow[]>;
  /** Turns that began and have no recorded end. */
  unclosed(): Promise<BoundaryRow[]>;
  /** Boundaries before this time that still have a tree, oldest first. */
  before(at: number, limit: number): Promise<BoundaryRow[]>;
}

export interface BoundaryTable extends BoundaryReads {
  /** Ignored if the turn already has this boundary. */
  insert(row: NewBoundary): Promise<void>;
  /** Records that the tree is no longer kept. */
  forget(position: number, problem: string): Promise<void>;
}

export interface WorktreeReads {
  get(session: SessionId): Promise<Worktree | null>;
  /** Oldest first; without removed ones unless `all`. */
  list(filter?: { all?: boolean }): Promise<Worktree[]>;
}

export interface WorktreeTable extends WorktreeReads {
  /** In the state `new`. */
  insert(row: Pick<Worktree, "session" | "base_ref" | "created_at">): Promise<void>;
  /** Throws `conflict` if another worktree has the folder or the port. */
  update(session: SessionId, change: Partial<Omit<Worktree, "session" | "base_ref" | "created_at">>): Promise<void>;
}

export interface LandingReads {
  get(id: LandingId): Promise<Landing | null>;
  /** How many landings are in each state. */
  counts(): Promise<ReadonlyMap<LandingState, number>>;
  /** Newest first. */
  list(limit: number): Promise<Landing[]>;
  /** Those that have not ended, oldest first. */
  open(): Promise<Landing[]>;
}

export interface LandingTable extends LandingReads {
  insert(row: Landing): Promise<void>;
  /** Replaces the row. */
  update(row: Landing): Promise<void>;
}

/** The last write of a file on this node that passed through a gate. The path is relative to the project. */
export type FileWriteRow = {
  path: string;
  session: SessionId;
  /** The content that the write left, or null if its end is not known. */
  hash: string | null;
  at: number;
};

export interface FileWriteReads {
  get(path: string): Promise<FileWriteRow | null>;
}

export interface FileWriteTable extends FileWriteReads {
  /** Replaces the row of the file. */
  put(row: FileWriteRow): Promise<void>;
  remove(path: string): Promise<void>;
  /** Returns the number of removed rows. */
  removeBefore(at: number): Promise<number>;
}
