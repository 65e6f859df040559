/** Explains that a worktree has another version of a trusted file, and names the ways out. */
import { changesLine, type PartChange } from "@aegis/plugins/trust/parts.ts";
import type { Refusal, TrustItem } from "@aegis/plugins/trust/trust.ts";

/** The project's own version is trusted here, so what differs is what the worktree has. */
export function worktreeRefusal({ kind, name, what }: TrustItem, { reason, changes }: Refusal): string {
  const about = `${kind} ${name} (${what})`;
  if (reason === "untrusted") return `you have not agreed to ${about}, which only this worktree has`;
  if (changes.length === 0) return `this worktree has another version than the one that you trusted of ${about}`;
  const files = changes.map(({ part }) => part);
  const named = files.slice(0, 3).join(", ") + (files.length > 3 ? ` and ${files.length - 3} more` : "");
  return `this worktree has another version of ${named} than the one that you trusted, for ${about}; compared with that one: ${changesLine(changes)}`;
}

/** Each of them works by itself. */
export function waysOutOfWorktree(root: string, worktree: string, changes: readonly PartChange[]): string {
  const agree = `to agree to the version of the worktree: aegis trust --in ${quoted(worktree)}`;
  const files = changes.map(({ part }) => part).filter((part) => !part.startsWith("the setting "));
  if (files.length === 0) return agree;
  const which = files.length === 1 ? (files[0] ?? "") : "these files";
  return `${agree}; to give the worktree the version of the project: commit ${which} in the project, then: git -C ${quoted(worktree)} rebase "$(git -C ${quoted(root)} rev-parse HEAD)"`;
}

function quoted(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
