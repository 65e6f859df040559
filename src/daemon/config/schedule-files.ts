/**
 * Schedules as files of their own, written by whoever has one to add: the daemon, an installer of a plugin. A running daemon
 * takes a new file up at once. The whole configuration is checked before the file is put in place; a refused entry leaves
 * everything as it was.
 */
import { type Document, isMap } from "yaml";
import { AegisError } from "../../contract/errors.ts";
import type { ScheduleEntry } from "../../contract/schedule.ts";
import { isOverriddenLocally, type Project, removeEntry, scheduleFile, setValue } from "./changes.ts";
import { type Edited, editConfig } from "./edit.ts";
import { setPath } from "./paths.ts";

export type ScheduleFiles = {
  /** Writes `.aegis/schedules/<name>.yaml`, also over one that is there. Throws `invalid` with every problem. */
  writeAtomic(name: string, entry: ScheduleEntry, options?: WriteOptions): Promise<Edited>;
  /** Takes the entry out of the file that declares it. Throws `not_found` with the nearest name. */
  remove(name: string): Promise<Edited>;
  /** In the file that decides; comments stay. */
  setEnabled(name: string, enabled: boolean): Promise<Edited>;
};

export type WriteOptions = {
  /** Who adds it, for the comment at the top of the file. */
  by?: string;
  /** Throws `conflict` when there is such a file. */
  fresh?: boolean;
};

export function scheduleFiles(project: Project): ScheduleFiles {
  return {
    writeAtomic: (name, entry, { by, fresh = false } = {}) =>
      editConfig({
        ...project,
        file: scheduleFile(name),
        change(document) {
          if (fresh && isMap(document.contents)) throw taken(name);
          setPath(document, [], entry);
          if (by !== undefined) document.commentBefore = ` added by ${by}`;
          quoteCron(document);
        },
      }),
    remove: (name) => removeEntry(project, "schedules", name),
    async setEnabled(name, enabled) {
      const local = await isOverriddenLocally(project.root, ["schedules", name]);
      return setValue(project, ["schedules", name, "enabled"], enabled, { local });
    },
  };
}

/** Stars and colons look like YAML of their own to many readers. */
function quoteCron(document: Document): void {
  for (const key of ["cron", "fire_at"]) {
    const value = document.get(key, true);
    if (value !== undefined && value !== null && typeof value === "object" && "value" in value)
      Object.assign(value, { type: "QUOTE_DOUBLE" });
  }
}

function taken(name: string): AegisError {
  return new AegisError("conflict", `the schedule "${name}" is already declared in ${scheduleFile(name)}`, {
    hint: "remove it first, or edit the file",
  });
}
