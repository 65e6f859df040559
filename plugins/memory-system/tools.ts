/** Memory tools for agents. */
import { tool, z } from "aegis";
import { Memory, sources, types } from "./_entries.ts";
import { Influence } from "./_influence.ts";
import { search } from "./_recall.ts";

const timeout = 5;
const slug = z.string().min(1).describe("a slug returned by memory_search");

export const memory_add = tool(
  {
    description: "Save one memory for later sessions. Fails if it exists already.",
    input: z.object({
      type: z.enum(types).describe("who or what it is about"),
      name: z.string().describe("a few words"),
      description: z.string().describe("one line that states when it matters"),
      content: z.string().describe("the full text"),
      source: z.enum(sources).optional().describe("tool or peer if the words are neither your user's nor your own"),
    }),
    permission: "write",
    timeout,
  },
  async ({ source, ...entry }, context) => {
    const memory = new Memory(context.projectRoot);
    const from = await new Influence(context.dataDir).sourceOf(context.session.id, source);
    const added = await memory.add({ ...entry, source: from });
    const path = `.aegis/memory/entries/${added.slug}.md`;
    if (!added.held) return { slug: added.slug, path };
    context.log("warn", `${added.slug} by ${context.session.handle} is held for review (source: ${added.source})`);
    return { slug: added.slug, path, held: `a person reviews it first, because its source is: ${added.source}` };
  },
);

export const memory_replace = tool(
  {
    description: "Change a memory. Name and type stay the same.",
    input: z.object({ slug, description: z.string().optional(), content: z.string().optional() }),
    permission: "write",
    timeout,
  },
  async ({ slug, description, content }, context) => {
    if (description === undefined && content === undefined)
      throw new Error("expected a new description or new content");
    const source = await new Influence(context.dataDir).sourceOf(context.session.id, undefined);
    const memory = new Memory(context.projectRoot);
    const held = source === "tool" || source === "peer";
    const changed = await memory.replace(slug, {
      ...(description === undefined ? {} : { description }),
      ...(content === undefined ? {} : { content }),
      ...(held ? { held, source } : {}),
    });
    return {
      slug: changed.slug,
      ...(held ? { held: `a person reviews it first, because its source is: ${source}` } : {}),
    };
  },
);

export const memory_remove = tool(
  { description: "Delete one memory.", input: z.object({ slug }), permission: "write", timeout },
  async ({ slug }, context) => {
    const removed = await new Memory(context.projectRoot).remove(slug);
    return { slug: removed.slug, removed: true };
  },
);

export const memory_search = tool(
  {
    description: "Search the memory.",
    input: z.object({ query: z.string().min(1), limit: z.int().min(1).max(100).default(10) }),
    permission: "read",
    readOnly: true,
    timeout,
  },
  async ({ query, limit }, context) => {
    const entries = await new Memory(context.projectRoot).active();
    return search(entries, query, limit).map(({ entry, score }) => ({
      slug: entry.slug,
      name: entry.name,
      description: entry.description,
      score,
      snippet: entry.content.slice(0, 200),
    }));
  },
);

export const memory_read = tool(
  {
    description: "Read the full text of one memory.",
    input: z.object({ slug }),
    permission: "read",
    readOnly: true,
    timeout,
  },
  async ({ slug }, context) => {
    const { type, name, description, content, held } = await new Memory(context.projectRoot).get(slug);
    if (held) throw new Error(`"${slug}" is held for a person's review`);
    return { slug, name, type, description, content };
  },
);
