/** Derives an agent's slug from the name that its author gave. */
import { createHash } from "node:crypto";
import { slugMaxLength } from "@aegis/contract/agent.ts";

/** Null if no character of the name is valid in a slug, as in a name of Chinese characters. */
export function agentSlug(name: string): string | null {
  const plain = name
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/c\+\+/g, "cpp")
    .replace(/([cf])#/g, "$1sharp")
    .replace(/[^a-z0-9_]+/g, "-")
    .replace(/[-_]*-[-_]*|_{2,}/g, "-")
    .replace(/^[-_]+/, "");
  const slug = (/^\d/.test(plain) ? `agent-${plain}` : plain).slice(0, slugMaxLength).replace(/[-_]+$/, "");
  return slug === "" ? null : slug;
}

/** A deterministic slug for a text without valid characters. */
export function madeUpSlug(text: string): string {
  return `agent-${createHash("sha256").update(text).digest("hex").slice(0, 8)}`;
}
