/** Parses the proposals of dreamers and the decisions of the consolidator from model output, and applies them. */
import { z } from "aegis";
import { type Entry, type Memory, slugOf, sources, types } from "./_entries.ts";

const entry = z.object({
  type: z.enum(types),
  name: z.string(),
  description: z.string(),
  content: z.string(),
  source: z.enum(sources).catch("dream").default("dream"),
});

/** Invalid entries are skipped; the others are kept. */
const proposals = z.object({
  session_handle: z.string().catch("").default(""),
  summary: z.string().catch("").default(""),
  proposed_entries: z.array(z.unknown()).transform((all) => all.flatMap((one) => entry.safeParse(one).data ?? [])),
  observations: z.array(z.string()).catch([]).default([]),
});
export type Proposals = z.infer<typeof proposals>;

const action = z.discriminatedUnion("action", [
  entry.extend({ action: z.literal("add") }),
  z.object({
    action: z.literal("replace"),
    slug: z.string(),
    description: z.string().optional(),
    content: z.string().optional(),
  }),
  z.object({ action: z.literal("remove"), slug: z.string() }),
]);
export type Action = z.infer<typeof action>;

/** Returns null if the text contains no such JSON. */
export function parseProposals(reply: string): Proposals | null {
  return proposals.safeParse(jsonIn(reply)).data ?? null;
}

/**
 * Returns the proposals that quote tools or peers, without duplicates. They go to a person's review unchanged, because
 * no model may reassign them to another source.
 */
export function fromOthers(proposals: readonly Proposals[]): Action[] {
  const others = proposals.flatMap((one) => one.proposed_entries.filter(isOthers));
  const bySlug = new Map(others.flatMap((one) => (slugOrNull(one) === null ? [] : [[slugOrNull(one), one]])));
  return [...bySlug.values()].map((one) => ({ action: "add", ...one }));
}

/** Returns the proposals without those that quote tools or peers. */
export function withoutOthers(proposals: readonly Proposals[]): Proposals[] {
  return proposals.map((one) => ({
    ...one,
    proposed_entries: one.proposed_entries.filter((entry) => !isOthers(entry)),
  }));
}

/** Returns the subject of an action, or null if it has no valid name. */
export function aboutOf(action: Action): string | null {
  return action.action === "add" ? slugOrNull(action) : action.slug;
}

/** Invalid changes are skipped; the others are kept. */
export function parseActions(reply: string): Action[] | null {
  const found = z.object({ actions: z.array(z.unknown()) }).safeParse(jsonIn(reply)).data;
  if (!found) return null;
  return found.actions.flatMap((one) => action.safeParse(one).data ?? []);
}

/** Idempotent, because it is repeated after a crash. */
export async function applyAction(memory: Memory, action: Action): Promise<{ ok: boolean; what: string }> {
  try {
    if (action.action === "remove") {
      await memory.remove(action.slug).catch(gone);
      return { ok: true, what: `remove ${action.slug}` };
    }
    if (action.action === "replace") {
      const { description, content, slug } = action;
      const change = {
        ...(description === undefined ? {} : { description }),
        ...(content === undefined ? {} : { content }),
      };
      await memory.replace(slug, change);
      return { ok: true, what: `replace ${slug}` };
    }
    const { action: _, ...wanted } = action;
    const slug = slugOf(wanted);
    const there = (await memory.list()).find((one) => one.slug === slug);
    if (there !== undefined && !isSame(there, wanted)) throw new Error(`"${slug}" is remembered already`);
    const added = there ?? (await memory.add(wanted));
    return { ok: true, what: `add ${slug}${added.held ? " (held for review)" : ""}` };
  } catch (error) {
    return { ok: false, what: `${action.action}: ${error instanceof Error ? error.message : String(error)}` };
  }
}

function isOthers({ source }: Pick<Entry, "source">): boolean {
  return source === "tool" || source === "peer";
}

function slugOrNull(entry: Pick<Entry, "type" | "name">): string | null {
  try {
    return slugOf(entry);
  } catch {
    return null;
  }
}

function isSame(one: Entry, other: Pick<Entry, "description" | "content">): boolean {
  return one.description === other.description && one.content === other.content.trim();
}

/** Ignores an entry that is already gone. */
function gone(error: unknown): void {
  if (!(error instanceof Error && error.message.startsWith("nothing is remembered"))) throw error;
}

/** Returns the outermost JSON object in a text that may contain other content. */
function jsonIn(text: string): unknown {
  const start = text.indexOf("{");
  const end = text.lastIndexOf("}");
  try {
    return JSON.parse(text.slice(start, end + 1));
  } catch {
    return null;
  }
}
