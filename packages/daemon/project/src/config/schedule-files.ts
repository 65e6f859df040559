/**
 * Manages schedules in their own files. The daemon and plugin installers write them; a running daemon applies a new
 * file immediately. Aegis validates the complete configuration before it puts the file in place, so a refused entry
 * changes nothing.
 */

import { AegisError } from "@aegis/contract/errors.ts";
import type { ScheduleEntry } from "@aegis/contract/schedule.ts";
import { type Document, isMap } from "yaml";
import { isOverriddenLocally, type Project, removeEntry, scheduleFile, setValue } from "./changes.ts";
import { type EditedConfig, editConfig } from "./edit.ts";
import { setPath } from "./paths.ts";

export type ScheduleFiles = {
  /** Writes or replaces `.aegis/schedules/<name>.yaml`. Throws `invalid` with all problems. */
  writeAtomic(name: string, entry: ScheduleEntry, options?: WriteOptions): Promise<EditedConfig>;
  /** Removes the entry from the file that declares it. Throws `not_found` with the nearest name. */
  remove(name: string): Promise<EditedConfig>;
  /** Edits the file whose value takes effect; comments stay. */
  setEnabled(name: string, enabled: boolean): Promise<EditedConfig>;
};

type WriteOptions = {
  /** The author named in the comment at the top of the file. */
  by?: string;
  /** Throw `conflict` if the file exists. */
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

/** Quotes cron expressions: unquoted stars and colons look like YAML syntax to many readers. */
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
