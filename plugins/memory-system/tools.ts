/** What agents do with their memory. */
import { tool, z } from "aegis";
import { Memory, sources, types } from "./_entries.ts";
import { Influence } from "./_influence.ts";
import { search } from "./_recall.ts";

const timeout = 5;
const slug = z.string().min(1).describe("as memory_search gives it");

export const memory_add = tool(
  {
    description: "Remember one thing for later sessions. Fails when it is remembered already.",
    input: z.object({
      type: z.enum(types).describe("whom or what it is about"),
      name: z.string().describe("a few words"),
      description: z.string().describe("one line that says when it matters"),
      content: z.string().describe("the whole of it"),
      source: z.enum(sources).optional().describe("tool or peer when the words are not your user's or your own"),
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
    description: "Change what is remembered. Name and type stay.",
    input: z.object({ slug, description: z.string().optional(), content: z.string().optional() }),
    permission: "write",
    timeout,
  },
  async ({ slug, description, content }, context) => {
    if (description === undefined && content === undefined) throw new Error("give a new description or new content");
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
  { description: "Forget one thing.", input: z.object({ slug }), permission: "write", timeout },
  async ({ slug }, context) => {
    const removed = await new Memory(context.projectRoot).remove(slug);
    return { slug: removed.slug, removed: true };
  },
);

export const memory_search = tool(
  {
    description: "Find what is remembered about something.",
    input: z.object({ query: z.string().min(1), limit: z.int().min(1).max(100).default(10) }),
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
  { description: "Read one thing that is remembered, whole.", input: z.object({ slug }), readOnly: true, timeout },
  async ({ slug }, context) => {
    const { type, name, description, content, held } = await new Memory(context.projectRoot).get(slug);
    if (held) throw new Error(`"${slug}" is held for a person's review`);
    return { slug, name, type, description, content };
  },
);
