/** The tables of schedules and their firings, part of the store port. */
import type { FiringId } from "@aegis/contract/ids.ts";
import type { Firing, FiringStatus, ScheduleSettings } from "@aegis/contract/schedule.ts";

/** The progress of a schedule. Its definition is in the project's files; `settings` is the last version read. */
export type ScheduleRow = {
  name: string;
  settings: ScheduleSettings;
  /** Every slot up to this time is decided. */
  cursor: number;
  /** The number of firings that count towards its lifecycle. */
  fires: number;
  since: number;
};

export interface ScheduleReads {
  get(name: string): Promise<ScheduleRow | null>;
  /** By name. */
  list(): Promise<ScheduleRow[]>;
}

export interface ScheduleTable extends ScheduleReads {
  /** Inserts or replaces. */
  put(row: ScheduleRow): Promise<void>;
  /** Keeps its firings. */
  remove(name: string): Promise<void>;
}

export type FiringFilter = { schedule?: string | undefined; status?: FiringStatus | undefined; limit: number };

export interface FiringReads {
  get(id: FiringId): Promise<Firing | null>;
  /** The firing of this slot. Manual firings have no slot. */
  atSlot(schedule: string, slot: number): Promise<Firing | null>;
  /** The firing that started this run, task or session. */
  ofEffect(effect: string): Promise<Firing | null>;
  /** Newest first. */
  list(filter: FiringFilter): Promise<Firing[]>;
  /** Unfinished firings, oldest first; of all schedules if none is named. */
  unfinished(schedule?: string): Promise<Firing[]>;
  /** Unfinished firings that the node looks after, oldest first. */
  unfinishedOf(node: string | null): Promise<Firing[]>;
  /** The newest ended firing. */
  last(schedule: string): Promise<Firing | null>;
  /** Schedules that have firings. */
  schedules(): Promise<string[]>;
}

export interface FiringTable extends FiringReads {
  /** Throws `conflict` if the id, or the slot of the schedule, already exists. */
  insert(firing: Firing): Promise<void>;
  update(id: FiringId, change: Partial<Omit<Firing, "id" | "schedule" | "slot" | "manual" | "action">>): Promise<void>;
  /** Throws `conflict` if the firing has already ended. */
  end(id: FiringId, end: FiringEnd): Promise<void>;
}

export type FiringEnd = Pick<Firing, "result" | "error"> & { status: "ok" | "error" | "skipped"; at: number };
