/** Tool calls that need no approval because a skill in use allows them, for the current turn only. */
import type { SessionId } from "@aegis/contract/ids.ts";
import type { SkillSource } from "@aegis/contract/skill.ts";
import { matchesEntry, parseToolEntry, type ToolEntry } from "@aegis/contract/tool-names.ts";
import type { PermissionRequest } from "@aegis/drivers/driver.ts";
import type { SkillOutline } from "./skill.ts";

/** Folders that only the user fills. Skills of a project or plugin count only if a person names them. */
const trusted: ReadonlySet<SkillSource> = new Set<SkillSource>([
  ...(["user", "user-agents", "user-claude", "bundled", "configured"] as const),
]);

export class SkillGrants {
  readonly #entries = new Map<SessionId, ToolEntry[]>();
  readonly sessions: ReadonlyMap<SessionId, unknown> = this.#entries;

  /** Drops the grants of the previous turn. */
  begin(session: SessionId): void {
    this.#entries.delete(session);
  }

  /** `named` is true if a person called the skill by name. */
  add(session: SessionId, skill: SkillOutline, named: boolean): void {
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

/** Patterns are supported only for commands. */
function withinLimit({ pattern, limit }: ToolEntry, input: unknown): boolean {
  if (pattern !== "bash" || limit === null || typeof input !== "object" || input === null) return false;
  const command: unknown = "command" in input ? input.command : null;
  if (typeof command !== "string") return false;
  // Characters that could start a second command or redirect output are not covered by the grant.
  if (/[;&|`$<>\\\n\r(){}]/.test(command)) return false;
  const start = /^(.*?)(?::\*| \*|\*)$/s.exec(limit)?.[1];
  if (start === undefined) return command.trim() === limit;
  if (start.trim() === "") return false;
  return command.trim() === start || command.trim().startsWith(`${start} `);
}
