/** What an agent may use without asking, because a skill in use says so: for the turn it is used in, and no longer. */
import type { SessionId } from "../../contract/ids.ts";
import type { SkillSource } from "../../contract/skill.ts";
import { matchesEntry, parseToolEntry, type ToolEntry } from "../../contract/tool-names.ts";
import type { PermissionRequest } from "../../drivers/driver.ts";
import type { Skill } from "./skill.ts";

/** Folders that only the user fills. What comes with a project or a plugin counts only where a person names it. */
const trusted: ReadonlySet<SkillSource> = new Set<SkillSource>([
  ...(["user", "user-agents", "user-claude", "bundled", "configured"] as const),
]);

export class SkillGrants {
  readonly #entries = new Map<SessionId, ToolEntry[]>();

  /** Forgets what the turn before was allowed. */
  begin(session: SessionId): void {
    this.#entries.delete(session);
  }

  /** `named` when a person called the skill by its name. */
  add(session: SessionId, skill: Skill, named: boolean): void {
    if (skill.allowedTools.length === 0 || (!named && !trusted.has(skill.source))) return;
    const entries = skill.allowedTools.map(parseToolEntry);
    this.#entries.set(session, [...(this.#entries.get(session) ?? []), ...entries]);
  }

  allows(session: SessionId, request: Pick<PermissionRequest, "tool" | "input">): boolean {
    const { pattern, plugin, planeOnly } = parseToolEntry(request.tool);
    const tool = { name: pattern, kind: planeOnly ? ("plane" as const) : ("core" as const), plugin };
    return (this.#entries.get(session) ?? []).some(
      (entry) => matchesEntry(entry, tool) && (entry.limit === null || withinLimit(entry, request.input)),
    );
  }
}

/** Only commands are understood well enough to allow a part of them. */
function withinLimit({ pattern, limit }: ToolEntry, input: unknown): boolean {
  if (pattern !== "bash" || limit === null || typeof input !== "object" || input === null) return false;
  const command: unknown = "command" in input ? input.command : null;
  if (typeof command !== "string") return false;
  // What could start a second command, or write somewhere, is not what was allowed.
  if (/[;&|`$<>\\\n\r(){}]/.test(command)) return false;
  const start = /^(.*?)(?::\*| \*|\*)$/s.exec(limit)?.[1];
  if (start === undefined) return command.trim() === limit;
  if (start.trim() === "") return false;
  return command.trim() === start || command.trim().startsWith(`${start} `);
}
