/** The parts of what a user trusts, and how two versions of them differ. */
import { createHash } from "node:crypto";
import { basename } from "node:path";
import { readRegular } from "@aegis/lib/files.ts";
import { plainLine } from "@aegis/lib/plain-text.ts";
import { unifiedDiff } from "@aegis/lib/unified-diff.ts";

/** `text` is null for content that is large, binary or secret. */
export type TrustPart = { hash: string; text: string | null };
/** By name: the path of a file, or the name of a setting. */
export type TrustParts = Readonly<Record<string, TrustPart>>;

export type PartChange = {
  part: string;
  how: "changed" | "new" | "gone";
  /** The lines of a diff that differ, with their signs; empty if the text is not known. */
  diff: readonly string[];
};

const longestText = 64_000;
const mostText = 1_000_000;
const secretFile = /^\.env|\.(?:pem|key|p12|pfx)$|^\.netrc$|^\.npmrc$/i;
const secretValue = /((?:key|token|secret|passw\w*|credential\w*|authorization|bearer)\w*["']?\s*[:=]?\s*["']?).{4,}/i;

export async function fileParts(files: Iterable<readonly [name: string, path: string]>): Promise<TrustParts> {
  const parts: Record<string, TrustPart> = {};
  let room = mostText;
  for (const [name, path] of files) {
    const bytes = await readRegular(path).catch(() => null);
    const part = bytes === null ? { hash: "unreadable", text: null } : bytesPart(basename(path), bytes, room);
    room -= part.text?.length ?? 0;
    parts[name] = part;
  }
  return parts;
}

/** A setting is recorded by its hash only, because it may contain a secret. */
export function settingPart(value: unknown): TrustPart {
  const text = JSON.stringify(value) ?? "undefined";
  return { hash: createHash("sha256").update(text).digest("hex"), text: null };
}

/** The keys of a map of settings. */
export function keyParts(values: object): TrustParts {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [`the setting ${key}`, settingPart(value)]));
}

export function bytesPart(name: string, bytes: Uint8Array, room = mostText): TrustPart {
  const hash = createHash("sha256").update(bytes).digest("hex");
  const isText = bytes.length <= Math.min(longestText, room) && !bytes.includes(0) && !secretFile.test(name);
  return { hash, text: isText ? Buffer.from(bytes).toString("utf8") : null };
}

export function changesBetween(before: TrustParts, now: TrustParts): PartChange[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(now)])].sort();
  return names.flatMap((part): PartChange[] => {
    const [old, fresh] = [before[part], now[part]];
    if (old?.hash === fresh?.hash) return [];
    if (old === undefined) return [{ part, how: "new", diff: [] }];
    if (fresh === undefined) return [{ part, how: "gone", diff: [] }];
    const isKnown = old.text !== null && fresh.text !== null;
    const diff = isKnown ? unifiedDiff(old.text, fresh.text).filter((line) => /^[-+]/.test(line)) : [];
    return [{ part, how: "changed", diff: diff.map(withoutSecret) }];
  });
}

function withoutSecret(line: string): string {
  return line.replace(secretValue, "$1…");
}

const partsAtMost = 5;
const linesAtMost = 4;
const longestLine = 100;

/** What changed, in one line: the parts by name, each with the first lines of its diff. */
export function changesLine(changes: readonly PartChange[]): string {
  const shown = changes.slice(0, partsAtMost).map(({ part, how, diff }) => {
    const lines = diff.slice(0, linesAtMost).map((line) => `\`${cut(plainLine(line))}\``);
    const more = diff.length - lines.length;
    const all = [...lines, ...(more > 0 ? [`and ${more} more lines`] : [])].join(" ");
    return `${plainLine(part)} ${how === "changed" ? "changed" : `is ${how}`}${all === "" ? "" : ` (${all})`}`;
  });
  const more = changes.length - shown.length;
  return [...shown, ...(more > 0 ? [`${more} more`] : [])].join(", ");
}

function cut(line: string): string {
  return line.length <= longestLine ? line : `${line.slice(0, longestLine)}…`;
}
