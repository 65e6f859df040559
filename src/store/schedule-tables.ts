/** The tables of schedules and their firings, as part of the store port. */
import type { FiringId } from "../contract/ids.ts";
import type { Firing, FiringStatus, ScheduleSettings } from "../contract/schedule.ts";

/** How far a schedule has come. What it does is in the project's files; `settings` is what they said last. */
export type ScheduleRow = {
  name: string;
  settings: ScheduleSettings;
  /** Every slot up to this moment is decided. */
  cursor: number;
  /** Firings that count for its lifecycle. */
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
  /** Its firings stay. */
  remove(name: string): Promise<void>;
}

export type FiringFilter = { schedule?: string | undefined; status?: FiringStatus | undefined; limit: number };

export interface FiringReads {
  get(id: FiringId): Promise<Firing | null>;
  /** What became of this slot; manual firings have none. */
  atSlot(schedule: string, slot: number): Promise<Firing | null>;
  /** Newest first. */
  list(filter: FiringFilter): Promise<Firing[]>;
  /** Those that are not over, oldest first; of all schedules when none is named. */
  unfinished(schedule?: string): Promise<Firing[]>;
  /** The newest that is over. */
  last(schedule: string): Promise<Firing | null>;
  /** Schedules that have firings. */
  schedules(): Promise<string[]>;
}

export interface FiringTable extends FiringReads {
  /** Throws `conflict` when the id, or the slot of the schedule, is on record. */
  insert(firing: Firing): Promise<void>;
  update(id: FiringId, change: Partial<Omit<Firing, "id" | "schedule" | "slot" | "manual" | "action">>): Promise<void>;
  /** Throws `conflict` when it is over. */
  end(id: FiringId, end: FiringEnd): Promise<void>;
}

export type FiringEnd = Pick<Firing, "result" | "error"> & { status: "ok" | "error" | "skipped"; at: number };
